/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_ep_context.h - models whose parts are compiled: nodes EPContext that a library made stand for them. */
#ifndef OX_ORT_EP_CONTEXT_H
#define OX_ORT_EP_CONTEXT_H

#include "ort/plugin/ort_ep_instance.h"

/* Keeps |node|, which stands for the nodes of |part|, for the model to be written. Takes |node| over. */
OX_NODISCARD OrtStatus *ort_ep_context_keep(ox_ep *ep, const OrtGraph *part, OrtNode *node);

#endif

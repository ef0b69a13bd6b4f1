/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_ep_weightless.h - compiled models that leave weights out, for those that are in other files (mode 1)
 * or for all (mode 2). */
#ifndef OX_ORT_EP_WEIGHTLESS_H
#define OX_ORT_EP_WEIGHTLESS_H

#include "ort/plugin/ort_ep_instance.h"

/* The entry with the mode has one of its values, or is not there. */
OX_NODISCARD OrtStatus *ort_weightless_check(const OrtKeyValuePairs *config);
/* Before a provider is made: the devices of |r| say that they have the mode that eps->options ask for. Sets the entry
 * that older libraries know. Error: EP_FAIL. */
OX_NODISCARD OrtStatus *ort_weightless_prepare(struct ort_session_eps *eps, const ort_provider_request *r);
/* Before a provider's first Compile: it says the same. */
OX_NODISCARD OrtStatus *ort_weightless_ask(ox_ep *e);

#endif

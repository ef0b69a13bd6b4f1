/* SPDX-License-Identifier: Apache-2.0
 * ort/model/ort_attr_view.h - an attribute of the engine's (onyx/ep.h) as an OrtOpAttr. */
#ifndef OX_ORT_ATTR_VIEW_H
#define OX_ORT_ATTR_VIEW_H

#include "onyx/ep.h"
#include "ort/model/ort_graph.h"

/* A copy of |view|, but for the data of a tensor, which is lent. The body of a GRAPH is not set. */
OX_NODISCARD OrtStatus *ort_op_attr_from_view(const char *name, const ox_attr_view *view, OrtOpAttr **out);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * onnx/inline.h - replaces calls of model-local functions by the nodes of the functions. */
#ifndef OX_ONNX_INLINE_H
#define OX_ONNX_INLINE_H

#include "graph/graph.h"

/* Expands every call of a model-local function, also in bodies and in other functions, and forgets the functions. A
 * node whose operator means something else at the function's operator set than at the model's keeps its version
 * (ox_node.version). Errors: INVALID_MODEL (recursion, too many inputs); LIMIT, naming the function whose expansion
 * exceeds the limit of nodes or values. */
OX_NODISCARD ox_status *ox_model_inline(ox_model *m);

#endif

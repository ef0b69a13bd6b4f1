/* SPDX-License-Identifier: Apache-2.0
 * opt/gradient.h - ai.onnx.preview.training.Gradient as plain nodes. */
#ifndef OX_OPT_GRADIENT_H
#define OX_OPT_GRADIENT_H

#include "graph/graph.h"

/* Replaces every Gradient node of |g| by the reverse-mode derivative (Griewank, Walther 2008, chapter 3) of the graph
 * between its |xs| and |y|, evaluated at its inputs. Shapes must have been inferred. Errors: NOT_IMPLEMENTED naming an
 * operator without a rule or a value of unknown shape; INVALID_MODEL if xs or y name nothing. */
OX_NODISCARD ox_status *ox_gradient_expand(ox_graph *g);

#endif

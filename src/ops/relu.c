/* SPDX-License-Identifier: Apache-2.0
 * ops/relu.c - placeholder until the unary family lands. */
#include "graph/op_def.h"
static const ox_op_def defs[] = {{.name = "Relu", .since = 1, .min_in = 1, .max_in = 1, .infer = ox_infer_same_as_input}};
const ox_op_set ox_ops_relu = {defs, 1};

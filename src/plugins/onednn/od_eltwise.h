/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_eltwise.h - element-wise functions of one operand, as the library's eltwise algorithms. */
#ifndef OD_ELTWISE_H
#define OD_ELTWISE_H

#include "od_build.h"

typedef struct od_function {
  dnnl_alg_kind_t alg;
  float alpha, beta;
} od_function;

/* A composition: f[0] is applied first. */
typedef struct od_functions {
  uint32_t n;
  od_function f[2];
  size_t input; /* the input of the node that they apply to */
} od_functions;

/* Reads |n| as such a function; arithmetic with one constant number counts. NULL, or why it is none. */
const char *od_functions_read(const od_node *n, od_functions *out);
const char *od_refuse_type(const od_node *n, size_t input); /* neither float32 nor, where the CPU has it, bfloat16 */
/* Computes |f| of |mem| into |to|, which may be the same. */
ox_status *od_emit_function(od_builder *b, const od_function *f, uint32_t mem, uint32_t to);

/* For the table of operators: a node that od_functions_read understands, as steps of its own. */
const char *od_functions_refuse(const od_node *n);
ox_status *od_functions_build(od_builder *b, const od_node *n);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_gelu.h - GELU written as five nodes, x (1 + erf(x / sqrt 2)) / 2, or as eight, by tanh. */
#ifndef OD_GELU_H
#define OD_GELU_H

#include "od_eltwise.h"

enum { OD_GELU_NODES = 8 };

/* The last of |node| makes |out|. */
typedef struct od_gelu {
  od_function f;
  uint32_t x, out, uses; /* of x, inside */
  uint32_t n;
  size_t node[OD_GELU_NODES];
} od_gelu;

/* The GELU of |x|, float32 of |rank|, among the nodes from |from| on. What is inside it has no other reader. */
bool od_gelu_find(const od_builder *b, uint32_t x, int rank, size_t from, od_gelu *out);
/* |n|, which is being built, is the first of its nodes. */
bool od_gelu_begins(const od_builder *b, const od_node *n, od_gelu *out);
ox_status *od_gelu_build(od_builder *b, const od_gelu *g);

#endif

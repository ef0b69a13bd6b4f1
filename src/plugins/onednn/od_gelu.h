/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_gelu.h - GELU spelled out in nodes: five for x (1 + erf(x / sqrt 2)) / 2, eight with tanh. */
#ifndef OD_GELU_H
#define OD_GELU_H

#include "od_eltwise.h"

enum { OD_GELU_NODES = 8 };

typedef struct od_gelu {
  od_function f;
  uint32_t x, out, uses; /* input, output of the last node, and uses of |x| inside the pattern */
  uint32_t n;
  size_t node[OD_GELU_NODES];
} od_gelu;

/* Finds the GELU of |x|, float32 of |rank|, among the nodes from |from| on. Its intermediates must have no other
 * reader. */
bool od_gelu_find(const od_builder *b, uint32_t x, int rank, size_t from, od_gelu *out);
/* The same where |n|, which is being built, is the first of its nodes. */
bool od_gelu_begins(const od_builder *b, const od_node *n, od_gelu *out);
ox_status *od_gelu_build(od_builder *b, const od_gelu *g);

#endif

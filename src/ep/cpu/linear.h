/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu/linear.h - MatMul and Gemm as ai.onyx.Linear. */
#ifndef OX_EP_CPU_LINEAR_H
#define OX_EP_CPU_LINEAR_H

#include "onyx/rewrite.h"

/* Whether a MatMul or Gemm, or what is one already, means the same as a Linear: Gemm's C is unidirectionally broadcast,
 * as a bias is. */
static inline int ox_linear_can(const ox_rewrite *g, ox_id node) {
  return !ox_is(g, node, "Gemm") || (ox_attr_f(g, node, "beta", 1) == 1 && ox_attr_i(g, node, "broadcast", 1) == 1);
}

/* Alpha, transA and transB mean the same everywhere; only Gemm's beta must go. */
OX_NODISCARD static inline ox_status *ox_linear_become(const ox_rewrite *g, ox_id node) {
  ox_status *st = ox_drop_attr(g, node, "beta");
  if (!st) st = ox_drop_attr(g, node, "broadcast");
  return st ? st : ox_become(g, node, "ai.onyx", "Linear");
}

#endif

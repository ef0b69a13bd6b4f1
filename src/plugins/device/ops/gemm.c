/* SPDX-License-Identifier: Apache-2.0
 * device/ops/gemm.c - Gemm, and com.microsoft's with an activation. */
#include <string.h>

#include "plugins/device/emit.h"
#include "plugins/device/tail.h"

static const char *takes(const dev_node *n) {
  dev_tail t = dev_tail_none(UINT32_MAX);
  return dev_tail_activation(n, &t) ? dev_takes_real(n, 2, 2)
                                    : REASON("an activation that its kernels apply", "{activation}");
}

/* The epilogue of alpha A B + beta C. */
static void add_bias(dev_plan *p, const dev_node *n, const gemm_params *g, dev_tail *out) {
  float alpha = dev_attr_float(n, "alpha", 1), beta = dev_attr_float(n, "beta", 1);
  bool has_c = dev_in_count(n) > 2 && dev_in(n, 2) != UINT32_MAX && beta != 0;
  bool scaled = has_c && beta != 1;
  if (scaled) alpha /= beta; /* computed as (alpha / beta A B + C) beta */
  if (alpha != 1) dev_tail_constant(out, TAIL_MUL, alpha);
  if (has_c) {
    const ox_shape *c = dev_shape(p, dev_in(n, 2));
    int64_t columns = c->rank > 0 ? c->dim[c->rank - 1] : 1, rows = c->rank > 1 ? c->dim[c->rank - 2] : 1;
    dev_tail_operand(out, TAIL_ADD, dev_value(p, dev_in(n, 2)), columns == 1 ? g->n : 1, rows * columns);
  }
  if (scaled) dev_tail_constant(out, TAIL_MUL, beta);
}

static ox_status *emit(dev_plan *p, const dev_node *n) {
  const ox_shape *a = dev_shape(p, dev_in(n, 0)), *b = dev_shape(p, dev_in(n, 1));
  bool trans_a = dev_attr_int(n, "transA", 0) != 0, trans_b = dev_attr_int(n, "transB", 0) != 0;
  dev_product x;
  dev_tail first = dev_tail_none(UINT32_MAX), then;
  memset(&x, 0, sizeof x);
  DEV_TRY(dev_take_tail(p, n, &then));
  gemm_params *g = &x.g;
  g->m = (int)a->dim[trans_a], g->k = (int)a->dim[!trans_a], g->n = (int)b->dim[!trans_b];
  g->a_row = trans_a ? 1 : g->k, g->a_col = trans_a ? g->m : 1;
  g->b_row = trans_b ? 1 : g->n, g->b_col = trans_b ? g->k : 1;
  for (int i = 0; i < GEMM_BATCHES; i++) g->batch[i] = 1;
  add_bias(p, n, g, &first);
  if (!dev_tail_activation(n, &first)) return dev_refuse(p, "an activation that is not known");
  x.dtype = dev_dtype(p, dev_in(n, 0));
  x.a = dev_value(p, dev_in(n, 0)), x.b = dev_value(p, dev_in(n, 1)), x.c = dev_value(p, then.out);
  x.first = &first, x.then = &then;
  return dev_emit_product(p, &x);
}

static const char *const names[] = {"Gemm", "com.microsoft:FusedGemm", NULL};
DEV_OP(gemm) = {"", names, takes, emit};

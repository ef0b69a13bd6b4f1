/* SPDX-License-Identifier: Apache-2.0
 * device/ops/matmul.c - MatMul, and com.microsoft's with transposes, a scale, a bias or an activation. */
#include <string.h>

#include "plugins/device/emit.h"
#include "plugins/device/tail.h"

static bool is_op(const dev_node *n, const char *name) { return strcmp(dev_node_op(n), name) == 0; }

static const char *takes(const dev_node *n) {
  dev_tail t = dev_tail_none(UINT32_MAX);
  const char *why = dev_takes_real(n, 1, GEMM_BATCHES + 2);
  if (why) return why;
  int rank = dev_in_rank(n, 1);
  if (rank < 1 || rank > GEMM_BATCHES + 2) return REASON("matrices in at most 6 axes", "{0}, {1}");
  if (dev_attr_int(n, "transBatchA", 0) || dev_attr_int(n, "transBatchB", 0))
    return REASON("rows behind batches", "{transBatchA=0}, {transBatchB=0}");
  if (!dev_tail_activation(n, &t)) return REASON("an activation that its kernels apply", "{activation}");
  bool bias = is_op(n, "GemmFastGelu") && dev_in_count(n) > 2 && dev_in(n, 2) != UINT32_MAX;
  return bias && dev_in_rank(n, 2) != 1 ? REASON("a bias of one axis", "{2}") : NULL;
}

void dev_batch_axes(const ox_shape *a, const ox_shape *b, gemm_params *g) {
  int at = GEMM_BATCHES - 1;
  int64_t a_step = (int64_t)g->m * g->k, b_step = (int64_t)g->k * g->n;
  for (int i = 0; i < GEMM_BATCHES; i++) g->batch[i] = 1, g->a_batch[i] = g->b_batch[i] = 0;
  for (int i = 3; i <= a->rank || i <= b->rank; i++) {
    int64_t da = i <= a->rank ? a->dim[a->rank - i] : 1, db = i <= b->rank ? b->dim[b->rank - i] : 1;
    int64_t size = da == 1 ? db : da;
    if (size == 1) continue;
    int64_t sa = da == 1 ? 0 : a_step, sb = db == 1 ? 0 : b_step;
    a_step *= da, b_step *= db;
    if (g->batch[at] != 1) {
      if (sa == (int64_t)g->a_batch[at] * g->batch[at] && sb == (int64_t)g->b_batch[at] * g->batch[at]) {
        g->batch[at] *= (int)size;
        continue;
      }
      at--;
    }
    g->batch[at] = (int)size, g->a_batch[at] = (int)sa, g->b_batch[at] = (int)sb;
  }
}

/* The epilogue of the fused operators, for a product of |columns|. */
static ox_status *add_terms(dev_plan *p, const dev_node *n, int64_t columns, dev_tail *t) {
  float alpha = dev_attr_float(n, "alpha", 1);
  if (alpha != 1) dev_tail_constant(t, TAIL_MUL, alpha);
  if (!is_op(n, "GemmFastGelu"))
    return dev_tail_activation(n, t) ? NULL : dev_refuse(p, "an activation that is not known");
  if (dev_in_count(n) > 2 && dev_in(n, 2) != UINT32_MAX) {
    if (dev_count(p, dev_in(n, 2)) != columns) return dev_refuse(p, "a bias that does not fit");
    dev_tail_operand(t, TAIL_ADD, dev_value(p, dev_in(n, 2)), 1, columns);
  }
  dev_tail_constant(t, TAIL_GELU_TANH, 0);
  return NULL;
}

static ox_status *emit(dev_plan *p, const dev_node *n) {
  ox_shape a = *dev_shape(p, dev_in(n, 0)), b = *dev_shape(p, dev_in(n, 1));
  bool trans_a = a.rank > 1 && dev_attr_int(n, "transA", 0), trans_b = b.rank > 1 && dev_attr_int(n, "transB", 0);
  dev_product x;
  dev_tail first = dev_tail_none(UINT32_MAX), then;
  memset(&x, 0, sizeof x);
  DEV_TRY(dev_take_tail(p, n, &then));
  if (a.rank == 1) a.rank = 2, a.dim[1] = a.dim[0], a.dim[0] = 1;
  if (b.rank == 1) b.rank = 2, b.dim[1] = 1;
  gemm_params *g = &x.g;
  g->k = (int)a.dim[a.rank - 1 - trans_a], g->n = (int)b.dim[b.rank - 1 - trans_b];
  if (dev_span(&b, 0, b.rank - 2) == 1 && !trans_a) { /* merge A's batches into rows */
    int64_t rows = dev_span(&a, 0, a.rank - 1);
    a.rank = 2, a.dim[0] = rows, a.dim[1] = g->k;
  }
  g->m = (int)a.dim[a.rank - 2 + trans_a];
  g->a_row = trans_a ? 1 : g->k, g->a_col = trans_a ? g->m : 1;
  g->b_row = trans_b ? 1 : g->n, g->b_col = trans_b ? g->k : 1;
  dev_batch_axes(&a, &b, g);
  DEV_TRY(add_terms(p, n, g->n, &first));
  x.dtype = dev_dtype(p, dev_in(n, 0));
  x.a = dev_value(p, dev_in(n, 0)), x.b = dev_value(p, dev_in(n, 1)), x.c = dev_value(p, then.out);
  x.first = &first, x.then = &then;
  return dev_emit_product(p, &x);
}

static const char *const names[] = {"MatMul",
                                    "com.microsoft:FusedMatMul",
                                    "com.microsoft:TransposeMatMul",
                                    "com.microsoft:FusedMatMulActivation",
                                    "com.microsoft:GemmFastGelu",
                                    NULL};
DEV_OP(matmul) = {"", names, takes, emit};

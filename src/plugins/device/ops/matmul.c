/* SPDX-License-Identifier: Apache-2.0
 * device/ops/matmul.c - MatMul. */
#include <string.h>

#include "plugins/device/emit.h"

static const char *takes(const dev_node *n) {
  const char *why = dev_takes_real(n, 1, GEMM_BATCHES + 2);
  if (why) return why;
  int rank = dev_in_rank(n, 1);
  return rank < 1 || rank > GEMM_BATCHES + 2 ? "of a rank that the kernels do not have" : NULL;
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

static ox_status *emit(dev_plan *p, const dev_node *n) {
  ox_shape a = *dev_shape(p, dev_in(n, 0)), b = *dev_shape(p, dev_in(n, 1));
  dev_product x;
  dev_tail then;
  memset(&x, 0, sizeof x);
  DEV_TRY(dev_take_tail(p, n, &then));
  if (a.rank == 1) a.rank = 2, a.dim[1] = a.dim[0], a.dim[0] = 1;
  if (b.rank == 1) b.rank = 2, b.dim[1] = 1;
  gemm_params *g = &x.g;
  g->k = (int)a.dim[a.rank - 1], g->n = (int)b.dim[b.rank - 1];
  if (dev_span(&b, 0, b.rank - 2) == 1) { /* all of A's batches are rows of one product */
    int64_t rows = dev_span(&a, 0, a.rank - 1);
    a.rank = 2, a.dim[0] = rows, a.dim[1] = g->k;
  }
  g->m = (int)a.dim[a.rank - 2];
  g->a_row = g->k, g->a_col = 1, g->b_row = g->n, g->b_col = 1;
  dev_batch_axes(&a, &b, g);
  x.dtype = dev_dtype(p, dev_in(n, 0));
  x.a = dev_value(p, dev_in(n, 0)), x.b = dev_value(p, dev_in(n, 1)), x.c = dev_value(p, then.out);
  x.then = &then;
  return dev_emit_product(p, &x);
}

static const char *const names[] = {"MatMul", NULL};
DEV_OP(matmul) = {"", names, takes, emit};

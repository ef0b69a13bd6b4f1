/* SPDX-License-Identifier: Apache-2.0
 * ops/det.c - Det and com.microsoft.Inverse of batches of square matrices: elimination with partial pivoting in double
 * precision, a matrix per tile. */
#include <math.h>
#include <string.h>

#include "base/cksize.h"
#include "graph/op_def.h"
#include "kern/quant/convert.h"

static ox_status *check_square(const ox_infer_ctx *c) {
  const ox_shape *s = &c->in[0]->shape;
  if (s->rank < 0) return NULL;
  if (s->rank < 2) return ox_fail(OX_INVALID_MODEL, "%s: wanted matrices, got rank %d", c->op, s->rank);
  int64_t rows = s->dim[s->rank - 2], cols = s->dim[s->rank - 1];
  if (rows >= 0 && cols >= 0 && rows != cols)
    return ox_fail(OX_SHAPE_MISMATCH, "%s: %lld x %lld is not square", c->op, (long long)rows, (long long)cols);
  return NULL;
}

static ox_status *infer_det(ox_infer_ctx *c) {
  ox_shape out = c->in[0]->shape;
  OX_TRY(check_square(c));
  if (out.rank >= 0) out.rank -= 2;
  ox_infer_out(c, 0, c->in[0]->dtype, &out);
  return NULL;
}

static ox_status *infer_inverse(ox_infer_ctx *c) {
  OX_TRY(check_square(c));
  return ox_infer_same_as_input(c);
}

typedef struct det_prep {
  size_t n;
} det_prep;

/* |row_bytes|: beside the matrix, for each of its rows. */
static ox_status *prepare(ox_kernel_ctx *c, size_t row_bytes) {
  const ox_shape *s = &c->in[0]->shape;
  det_prep *p = ox_ctx_alloc(c, sizeof *p);
  size_t bytes;
  if (!p) return ox_oom();
  c->prep = p, p->n = (size_t)s->dim[s->rank - 1];
  if (!ox_mul_ok(p->n, sizeof(double), &bytes) || !ox_add_ok(bytes, row_bytes, &bytes) ||
      !ox_mul_ok(p->n, bytes, &bytes))
    return ox_oom();
  return ox_ctx_plan(c, ox_shape_span(s, 0, s->rank - 2), bytes);
}
static ox_status *prepare_det(ox_kernel_ctx *c) { return prepare(c, 0); }
static ox_status *prepare_inverse(ox_kernel_ctx *c) { return prepare(c, sizeof(size_t)); }

static void swap_rows(double *a, double *b, size_t n) {
  for (size_t j = 0; j < n; j++) {
    double x = a[j];
    a[j] = b[j], b[j] = x;
  }
}

/* y -= f x. Fours, which compilers turn into vectors. */
static void subtract(double *restrict y, const double *restrict x, double f, size_t n) {
  size_t j = 0;
  for (; j + 4 <= n; j += 4) {
    double v[4] = {y[j] - f * x[j], y[j + 1] - f * x[j + 1], y[j + 2] - f * x[j + 2], y[j + 3] - f * x[j + 3]};
    memcpy(y + j, v, sizeof v);
  }
  for (; j < n; j++) y[j] -= f * x[j];
}

/* Row of the largest element of column |k| at or below the diagonal. */
static size_t pivot_of(const double *a, size_t n, size_t k) {
  size_t best = k;
  for (size_t i = k + 1; i < n; i++)
    if (fabs(a[i * n + k]) > fabs(a[best * n + k])) best = i;
  return best;
}

static double determinant(const ox_kernel_ctx *c, double *a, size_t n) {
  double det = 1;
  for (size_t k = 0; k < n && !ox_ctx_stopped(c); k++) {
    size_t p = pivot_of(a, n, k);
    if (p != k) swap_rows(a + p * n, a + k * n, n), det = -det;
    double d = a[k * n + k];
    det *= d;
    if (d == 0) return det;
    for (size_t i = k + 1; i < n && !ox_ctx_stopped_each(c, (int64_t)i, 16); i++) {
      double f = a[i * n + k] / d;
      subtract(a + i * n + k + 1, a + k * n + k + 1, f, n - k - 1);
    }
  }
  return det;
}

/* Gauss-Jordan in place: the columns of the inverse take those of |a| that are done. |pivots| are the rows exchanged,
 * which the columns undo at the end. A singular matrix gives infinities and NaN. */
static void invert(const ox_kernel_ctx *c, double *a, size_t *pivots, size_t n) {
  for (size_t k = 0; k < n && !ox_ctx_stopped(c); k++) {
    double *row = a + k * n, d;
    size_t p = pivots[k] = pivot_of(a, n, k);
    if (p != k) swap_rows(a + p * n, row, n);
    d = 1 / row[k], row[k] = 1;
    for (size_t j = 0; j < n; j++) row[j] *= d;
    for (size_t i = 0; i < n && !ox_ctx_stopped_each(c, (int64_t)i, 16); i++) {
      double f = a[i * n + k];
      if (i == k) continue;
      a[i * n + k] = 0;
      subtract(a + i * n, row, f, n);
    }
  }
  if (ox_ctx_stopped(c)) return;
  for (size_t k = n; k-- > 0;)
    for (size_t i = 0; i < n && pivots[k] != k; i++) {
      double v = a[i * n + k];
      a[i * n + k] = a[i * n + pivots[k]], a[i * n + pivots[k]] = v;
    }
}

static ox_status *run_det(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  size_t n = ((const det_prep *)c->prep)->n;
  const ox_convert *conv = ox_convert_select(c->isa);
  (void)stage;
  for (int64_t i = tiles.begin; i < tiles.end; i++) {
    conv->load_f64[c->in[0]->dtype](c->in[0]->data, (size_t)i * n * n, n * n, scratch);
    double det = determinant(c, scratch, n);
    conv->store_f64[c->out[0]->dtype](&det, c->out[0]->data, (size_t)i, 1, &(ox_narrow_how){.saturate = false});
  }
  return NULL;
}

static ox_status *run_inverse(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  size_t n = ((const det_prep *)c->prep)->n;
  const ox_convert *conv = ox_convert_select(c->isa);
  double *a = scratch;
  (void)stage;
  for (int64_t i = tiles.begin; i < tiles.end; i++) {
    conv->load_f64[c->in[0]->dtype](c->in[0]->data, (size_t)i * n * n, n * n, a);
    invert(c, a, (size_t *)(a + n * n), n);
    conv->store_f64[c->out[0]->dtype](a, c->out[0]->data, (size_t)i * n * n, n * n,
                                      &(ox_narrow_how){.saturate = false});
  }
  return NULL;
}

#define ONE_INPUT .since = 1, .types = {OX_T_FLOAT}, .min_in = 1, .max_in = 1
static const ox_op ops[] = {
    {OX_SCHEMA(.name = "Det", ONE_INPUT, .infer = infer_det), OX_KERNEL(.prepare = prepare_det, .run = run_det)},
    {OX_SCHEMA(.name = "Inverse", .domain = "com.microsoft", ONE_INPUT, .infer = infer_inverse),
     OX_KERNEL(.prepare = prepare_inverse, .run = run_inverse)},
};
const ox_op_set ox_ops_det = {ops, OX_COUNT(ops)};

/* SPDX-License-Identifier: Apache-2.0
 * ops/matmul/product_plain.c - see product_plain.h. Sums are doubles, which represent all 32-bit integers. */
#include "ops/matmul/product_plain.h"

#include <math.h>
#include <string.h>

#include "kern/quant/convert.h"

enum { COLS = 256 };

/* A row of the result: the offsets of it, of A's row, of B's matrix, and of the parameters of A and B. */
typedef struct row {
  size_t out, a, b, a_zero, a_scale, b_zero, b_scale;
} row;

static const ox_tensor *input(const ox_kernel_ctx *c, int i) {
  return i >= 0 && (uint32_t)i < c->n_in ? c->in[i] : NULL;
}

/* Elements [at, at + n) of parameter |t|; if it has a single element, n copies of that. */
static void params(const ox_kernel_ctx *c, const ox_tensor *t, size_t at, size_t n, double absent, double *to) {
  bool one = t && ox_shape_count(&t->shape) == 1;
  if (t) ox_convert_select(c->isa)->load_f64[t->dtype](t->data, one ? 0 : at, one ? 1 : n, to);
  for (size_t i = t ? 1 : 0; i < n && (one || !t); i++) to[i] = t ? to[0] : absent;
}

static double param(const ox_kernel_ctx *c, const ox_tensor *t, size_t at, double absent) {
  double x;
  params(c, t, at, 1, absent, &x);
  return x;
}

static uint32_t short_at(const ox_tensor *t, size_t i) {
  return t->dtype == OX_I16 ? (uint32_t)((const int16_t *)t->data)[i] : ((const uint16_t *)t->data)[i];
}

/* Columns [j0, j0 + n) of 16-bit integers: exact, wrapping. */
static void sum_16(const ox_kernel_ctx *c, const ox_product_i8 *q, const row *r, size_t j0, size_t n) {
  const ox_tensor *a = c->in[q->in.a], *b = c->in[q->in.b];
  for (size_t j = j0; j < j0 + n && !ox_ctx_stopped(c); j++) {
    uint32_t sum = 0;
    for (size_t k = 0; k < q->p.k; k++) sum += short_at(a, r->a + k) * short_at(b, r->b + k * q->p.n + j);
    memcpy((int32_t *)c->out[0]->data + r->out + j, &sum, 4);
  }
}

static void sum_columns(const ox_kernel_ctx *c, const ox_product_i8 *q, const row *r, size_t j0, size_t n,
                        double *sums) {
  const ox_tensor *a = c->in[q->in.a], *b = c->in[q->in.b];
  const ox_convert *cv = ox_convert_select(c->isa);
  double x, w[COLS], b_zero[COLS], a_zero = param(c, input(c, q->in.a_zero), r->a_zero, 0);
  params(c, input(c, q->in.b_zero), r->b_zero + j0, n, 0, b_zero);
  for (size_t j = 0; j < n; j++) sums[j] = 0;
  for (size_t k = 0; k < q->p.k && !ox_ctx_stopped_each(c, (int64_t)k, 256); k++) {
    cv->load_f64[a->dtype](a->data, r->a + k, 1, &x);
    cv->load_f64[b->dtype](b->data, r->b + k * q->p.n + j0, n, w);
    for (size_t j = 0; j < n; j++) sums[j] += (x - a_zero) * (w[j] - b_zero[j]);
  }
}

/* Stores |sums| in the result's type, saturating; for integers, they are rounded before the zero point is added. */
static void quantize(const ox_kernel_ctx *c, const ox_product_i8 *q, const row *r, size_t j0, size_t n, double *sums) {
  static const ox_narrow_how how = {.saturate = true};
  ox_tensor *y = c->out[0];
  double b_scale[COLS], bias[COLS], a_scale = param(c, input(c, q->in.a_scale), r->a_scale, 1);
  double y_scale = param(c, input(c, q->in.y_scale), 0, 1), zero = param(c, input(c, q->in.y_zero), 0, 0);
  params(c, input(c, q->in.b_scale), r->b_scale + j0, n, 1, b_scale);
  params(c, input(c, q->in.bias), j0, n, 0, bias);
  bool is_int = OX_BIT(y->dtype) & OX_T_INT;
  double least = y->dtype == OX_I8 ? -128 : 0, most = least + 255;
  for (size_t j = 0; j < n; j++) {
    double x = sums[j] * (a_scale * b_scale[j] / y_scale);
    sums[j] = is_int ? fmin(fmax(rint(x) + zero, least), most) : x + bias[j] + zero;
  }
  ox_convert_select(c->isa)->store_f64[y->dtype](sums, y->data, r->out + j0, n, &how);
}

ox_status *ox_product_plain_plan(ox_kernel_ctx *c, ox_product_i8 *q, const bool trans[4]) {
  OX_TRY(ox_product_i8_sizes(c, q, trans));
  q->p.plain = true;
  return ox_ctx_plan(c, q->empty ? 0 : (int64_t)q->p.m * q->n_batch, 0);
}

void ox_product_plain_run(const ox_kernel_ctx *c, const ox_product_i8 *q, ox_range tiles) {
  const ox_product *p = &q->p;
  double sums[COLS];
  for (int64_t i = tiles.begin; i < tiles.end; i++) {
    int64_t batch = i / (int64_t)p->m, at = i % (int64_t)p->m;
    int64_t am = ox_product_matrix(p, batch, p->a_batch), bm = ox_product_matrix(p, batch, p->b_batch);
    row r = {.out = (size_t)i * p->n,
             .a = (size_t)(ox_product_offset(p, batch, p->a_batch) + at * p->a_rs),
             .b = (size_t)ox_product_offset(p, batch, p->b_batch),
             .a_zero = ox_product_i8_share(input(c, q->in.a_zero), p->m, am) + (size_t)at,
             .a_scale = ox_product_i8_share(input(c, q->in.a_scale), p->m, am) + (size_t)at,
             .b_zero = ox_product_i8_share(input(c, q->in.b_zero), p->n, bm),
             .b_scale = ox_product_i8_share(input(c, q->in.b_scale), p->n, bm)};
    for (size_t j = 0; j < p->n; j += COLS) {
      size_t n = OX_MIN((size_t)COLS, p->n - j);
      if (q->out_type == OX_I32 || q->out_type == OX_U32) {
        sum_16(c, q, &r, j, n);
        continue;
      }
      sum_columns(c, q, &r, j, n, sums);
      quantize(c, q, &r, j, n, sums);
    }
  }
}

/* SPDX-License-Identifier: Apache-2.0
 * ops/sparse_matmul.c - com.microsoft.SparseToDenseMatMul: a sparse matrix times a dense one. Sparse initializers and
 * constants have become dense by the time an operator sees them, so what makes it sparse are its zeros: they cost
 * nothing. Floats are summed in double, integers wrap around. */
#include "kern/quant/convert.h"
#include "ops/shared/check.h"

enum { A, B };
typedef struct sparse_attrs {
  int64_t transA, transB;
  float alpha;
} sparse_attrs;
static const ox_attr_def table[] = {OX_ATTR_INT(sparse_attrs, transA, 0), OX_ATTR_INT(sparse_attrs, transB, 0),
                                    OX_ATTR_FLOAT(sparse_attrs, alpha, 1)};

static ox_status *infer(ox_infer_ctx *c) {
  const sparse_attrs *a = c->attrs;
  bool ta = a->transA != 0, tb = a->transB != 0;
  OX_TRY(ox_infer_shape_is(c, A, 2, (int64_t[]){-1, -1}));
  OX_TRY(ox_infer_shape_is(c, B, 2, (int64_t[]){-1, -1}));
  int64_t inner = ox_infer_dim(c, A, !ta), other = ox_infer_dim(c, B, tb);
  if (inner >= 0 && other >= 0 && inner != other)
    return ox_fail(OX_SHAPE_MISMATCH, "SparseToDenseMatMul: A has %lld columns, B %lld rows", (long long)inner,
                   (long long)other);
  ox_shape y = ox_shape_of(2, (int64_t[]){ox_infer_dim(c, A, ta), ox_infer_dim(c, B, !tb)});
  ox_infer_out(c, 0, c->in[A]->dtype, &y);
  return NULL;
}

/* A tile is a row; its sums are eight bytes each. */
static ox_status *prepare(ox_kernel_ctx *c) {
  const ox_shape *y = &c->out[0]->shape;
  if ((size_t)y->dim[1] > SIZE_MAX / 64)
    return ox_fail(OX_LIMIT, "SparseToDenseMatMul: rows of %lld", (long long)y->dim[1]);
  return ox_ctx_plan(c, y->dim[1] ? y->dim[0] : 0, 2 * (size_t)y->dim[1] * sizeof(double));
}

/* Elements of A's row |row| and of B's row |k|, as they lie. */
typedef struct steps {
  int64_t inner, columns, a_row, a_step, b_row, b_step;
} steps;

static steps steps_of(const ox_kernel_ctx *c) {
  const sparse_attrs *at = c->attrs;
  const int64_t *a = c->in[A]->shape.dim, *b = c->in[B]->shape.dim;
  steps s = {a[!at->transA], c->out[0]->shape.dim[1], a[1], 1, b[1], 1};
  if (at->transA) s.a_row = 1, s.a_step = a[1];
  if (at->transB) s.b_row = 1, s.b_step = b[1];
  return s;
}

static void row_f64(const ox_kernel_ctx *c, const steps *s, int64_t row, double *sum, double *spare) {
  const ox_convert *cv = ox_convert_select(c->isa);
  uint32_t t = c->in[A]->dtype;
  for (int64_t i = 0; i < s->columns; i++) sum[i] = 0;
  for (int64_t k = 0; k < s->inner; k++) {
    double a;
    cv->load_f64[t](c->in[A]->data, (size_t)(row * s->a_row + k * s->a_step), 1, &a);
    if (a == 0) continue;
    if (s->b_step == 1) cv->load_f64[t](c->in[B]->data, (size_t)(k * s->b_row), (size_t)s->columns, spare);
    for (int64_t i = 0; i < s->columns && s->b_step != 1; i++)
      cv->load_f64[t](c->in[B]->data, (size_t)(k * s->b_row + i * s->b_step), 1, &spare[i]);
    for (int64_t i = 0; i < s->columns; i++) sum[i] += a * spare[i];
  }
  for (int64_t i = 0; i < s->columns; i++) sum[i] *= (double)((const sparse_attrs *)c->attrs)->alpha;
  cv->store_f64[t](sum, c->out[0]->data, (size_t)(row * s->columns), (size_t)s->columns, NULL);
}

static void row_i64(const ox_kernel_ctx *c, const steps *s, int64_t row, int64_t *sum, int64_t *spare) {
  const ox_convert *cv = ox_convert_select(c->isa);
  uint32_t t = c->in[A]->dtype;
  int64_t alpha = (int64_t)((const sparse_attrs *)c->attrs)->alpha;
  for (int64_t i = 0; i < s->columns; i++) sum[i] = 0;
  for (int64_t k = 0; k < s->inner; k++) {
    int64_t a;
    cv->load_i64[t](c->in[A]->data, (size_t)(row * s->a_row + k * s->a_step), 1, &a);
    if (a == 0) continue;
    for (int64_t i = 0; i < s->columns; i++)
      cv->load_i64[t](c->in[B]->data, (size_t)(k * s->b_row + i * s->b_step), 1, &spare[i]);
    for (int64_t i = 0; i < s->columns; i++) sum[i] = (int64_t)((uint64_t)sum[i] + (uint64_t)a * (uint64_t)spare[i]);
  }
  for (int64_t i = 0; i < s->columns; i++) sum[i] = (int64_t)((uint64_t)sum[i] * (uint64_t)alpha);
  cv->store_i64[t](sum, c->out[0]->data, (size_t)(row * s->columns), (size_t)s->columns, NULL);
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage;
  steps s = steps_of(c);
  for (int64_t row = tiles.begin; row < tiles.end; row++)
    if (OX_BIT(c->in[A]->dtype) & OX_T_FLOAT)
      row_f64(c, &s, row, scratch, (double *)scratch + s.columns);
    else
      row_i64(c, &s, row, scratch, (int64_t *)scratch + s.columns);
  return NULL;
}

#define NUMBERS (OX_BIT(OX_F32) | OX_BIT(OX_F64) | OX_BIT(OX_I32) | OX_BIT(OX_I64) | OX_BIT(OX_U32) | OX_BIT(OX_U64))
static const ox_op ops[] = {
    {OX_SCHEMA(.name = "SparseToDenseMatMul", .domain = "com.microsoft", .since = 1, .types = {NUMBERS}, .vars = "TT",
               .min_in = 2, .max_in = 2, OX_ATTRS(table), .attrs_bytes = sizeof(sparse_attrs), .infer = infer),
     OX_KERNEL(.prepare = prepare, .run = run)},
};
const ox_op_set ox_ops_sparse_matmul = {ops, OX_COUNT(ops)};

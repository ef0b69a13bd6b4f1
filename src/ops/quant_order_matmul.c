/* SPDX-License-Identifier: Apache-2.0
 * ops/quant_order_matmul.c - com.microsoft.QOrderedMatMul: Y = A B + bias + C of bytes with a scale each, in the orders
 * of cublasLt. Where B's order has tiles, B is transposed first. */
#include "ops/shared/check.h"
#include "ops/shared/matrix_order.h"
#include "ops/shared/qparam.h"

enum { A, A_SCALE, B, B_SCALE, Y_SCALE, BIAS, C, C_SCALE, ROWS = 64 };
typedef struct {
  int64_t order_A, order_B, order_Y;
} matmul_attrs;
static const ox_attr_def attr_rows[] = {OX_ATTR_INT_REQUIRED(matmul_attrs, order_A),
                                        OX_ATTR_INT_REQUIRED(matmul_attrs, order_B),
                                        OX_ATTR_INT_REQUIRED(matmul_attrs, order_Y)};

typedef struct {
  int64_t batch, m, k, n;
  bool shared_b, shared_c; /* one for the batch */
  bool per_column;         /* scales of B */
} matmul_sizes;

static ox_status *sizes_of(const char *op, const matmul_attrs *a, const ox_shape *sa, const ox_shape *sb,
                           matmul_sizes *p) {
  int64_t count, k;
  bool tiled = a->order_B == OX_ORDER_COL4_4R2_8C || a->order_B == OX_ORDER_COL32_2R_4R4;
  if (a->order_Y != a->order_A || (tiled ? a->order_A != OX_ORDER_COL32 : a->order_B != OX_ORDER_COL) ||
      (!tiled && a->order_A != OX_ORDER_ROW))
    return ox_fail(OX_INVALID_MODEL, "%s: orders %lld, %lld and %lld do not go together", op, (long long)a->order_A,
                   (long long)a->order_B, (long long)a->order_Y);
  ox_matrix_sizes(sa, &p->batch, &p->m, &p->k), ox_matrix_sizes(sb, &count, &k, &p->n);
  if (p->k >= 0 && k >= 0 && p->k != k)
    return ox_fail(OX_SHAPE_MISMATCH, "%s: A has %lld columns, B %lld rows", op, (long long)p->k, (long long)k);
  if (p->batch >= 0 && count >= 0 && count != 1 && count != p->batch)
    return ox_fail(OX_SHAPE_MISMATCH, "%s: a batch of %lld, and of %lld", op, (long long)p->batch, (long long)count);
  p->shared_b = count == 1;
  OX_TRY(ox_matrix_order_ok(op, a->order_A, p->m, p->k));
  OX_TRY(ox_matrix_order_ok(op, a->order_Y, p->m, p->n));
  return tiled ? ox_matrix_order_ok(op, a->order_B, p->n, k) : NULL;
}

static ox_status *check_c(const char *op, const ox_shape *s, const ox_shape *y, bool *shared) {
  int64_t batch, m, n, want[3];
  ox_matrix_sizes(s, &batch, &m, &n), ox_matrix_sizes(y, &want[0], &want[1], &want[2]);
  *shared = batch == 1;
  if (s->rank < 0 || y->rank < 0 ||
      ((batch == 1 || batch == want[0] || batch < 0 || want[0] < 0) && (m == want[1] || m < 0 || want[1] < 0) &&
       (n == want[2] || n < 0 || want[2] < 0)))
    return NULL;
  char ts[OX_SHAPE_TEXT], ty[OX_SHAPE_TEXT];
  return ox_fail(OX_SHAPE_MISMATCH, "%s: C has shape %s, Y %s", op, ox_shape_text(s, ts), ox_shape_text(y, ty));
}

static ox_status *infer(ox_infer_ctx *c) {
  static const uint8_t scalars[] = {A_SCALE, Y_SCALE, C_SCALE};
  matmul_sizes p;
  bool shared;
  OX_TRY(sizes_of(c->op, c->attrs, &c->in[A]->shape, &c->in[B]->shape, &p));
  for (size_t i = 0; i < OX_COUNT(scalars); i++)
    if (ox_infer_has(c, scalars[i]) && ox_shape_count(&c->in[scalars[i]]->shape) > 1)
      return ox_fail(OX_SHAPE_MISMATCH, "%s: input %u must be a scalar", c->op, scalars[i]);
  if (ox_shape_count(&c->in[B_SCALE]->shape) > 1) OX_TRY(ox_infer_shape_is(c, B_SCALE, 1, &p.n));
  OX_TRY(ox_infer_shape_is(c, BIAS, 1, &p.n));
  if (ox_infer_has(c, C) != ox_infer_has(c, C_SCALE))
    return ox_fail(OX_INVALID_MODEL, "%s: C and scale_C come together or not at all", c->op);
  ox_shape y = c->in[A]->shape;
  if (y.rank > 0) y.dim[y.rank - 1] = p.n;
  if (ox_infer_has(c, C)) OX_TRY(check_c(c->op, &c->in[C]->shape, &y, &shared));
  ox_infer_out(c, 0, OX_I8, &y);
  return NULL;
}

static ox_status *prepare(ox_kernel_ctx *c) {
  matmul_sizes *p = c->prep = ox_ctx_alloc(c, sizeof *p);
  size_t bytes;
  if (!p) return ox_oom();
  OX_TRY(sizes_of("QOrderedMatMul", c->attrs, &c->in[A]->shape, &c->in[B]->shape, p));
  p->per_column = ox_shape_count(&c->in[B_SCALE]->shape) != 1;
  static const uint8_t scalars[] = {A_SCALE, Y_SCALE, C_SCALE};
  OX_TRY(ox_qparam_check(c, scalars, OX_COUNT(scalars)));
  if (p->per_column && ox_shape_count(&c->in[B_SCALE]->shape) != p->n)
    return ox_fail(OX_SHAPE_MISMATCH, "QOrderedMatMul: scale_B has %lld elements for %lld columns",
                   (long long)ox_shape_count(&c->in[B_SCALE]->shape), (long long)p->n);
  if (ox_ctx_has(c, C)) OX_TRY(check_c("QOrderedMatMul", &c->in[C]->shape, &c->out[0]->shape, &p->shared_c));
  if (!ox_shape_count(&c->out[0]->shape)) return ox_ctx_plan(c, 0, 0);
  if (!ox_dtype_bytes(OX_I8, ox_shape_count(&c->in[B]->shape), &bytes)) return ox_oom();
  c->shared_bytes = bytes;
  c->n_stages = 2, c->n_tiles[0] = (p->shared_b ? 1 : p->batch) * OX_CEIL_DIV(p->n, ROWS);
  c->n_tiles[1] = p->batch * p->m, c->scratch_per_worker = (size_t)p->k;
  return NULL;
}

/* Columns of B, each in one piece. */
static void transpose_b(const ox_kernel_ctx *c, const matmul_sizes *p, int64_t tile) {
  const matmul_attrs *a = c->attrs;
  int64_t blocks = OX_CEIL_DIV(p->n, ROWS), base = tile / blocks * p->k * p->n, first = tile % blocks * ROWS;
  int8_t *to = (int8_t *)c->shared + base;
  const int8_t *from = (const int8_t *)c->in[B]->data + base;
  for (int64_t j = first; j < OX_MIN(first + ROWS, p->n); j++)
    for (int64_t i = 0; i < p->k; i++)
      to[j * p->k + i] = from[a->order_B == OX_ORDER_COL ? j * p->k + i : ox_matrix_at(a->order_B, p->n, p->k, j, i)];
}

static void one_row(const ox_kernel_ctx *c, const matmul_sizes *p, int64_t tile, int8_t *row) {
  const matmul_attrs *a = c->attrs;
  int64_t image = tile / p->m, r = tile % p->m, base = image * p->m * p->n;
  const int8_t *x = (const int8_t *)c->in[A]->data + image * p->m * p->k;
  const int8_t *b = (const int8_t *)c->shared + (p->shared_b ? 0 : image * p->k * p->n);
  const int8_t *add = ox_ctx_has(c, C) ? (const int8_t *)c->in[C]->data + (p->shared_c ? 0 : base) : NULL;
  double scale = (double)*(const float *)c->in[A_SCALE]->data,
         c_scale = add ? (double)*(const float *)c->in[C_SCALE]->data : 0;
  ox_qparam y = {*(const float *)c->in[Y_SCALE]->data, 0, true};
  for (int64_t i = 0; i < p->k; i++) row[i] = x[ox_matrix_at(a->order_A, p->m, p->k, r, i)];
  for (int64_t j = 0; j < p->n; j++) {
    int64_t at = ox_matrix_at(a->order_Y, p->m, p->n, r, j);
    int64_t sum = 0;
    for (int64_t i = 0; i < p->k; i++) sum += row[i] * b[j * p->k + i];
    double v = (double)sum * scale * (double)((const float *)c->in[B_SCALE]->data)[p->per_column ? j : 0];
    if (ox_ctx_has(c, BIAS)) v += (double)((const float *)c->in[BIAS]->data)[j];
    if (add) v += c_scale * add[at];
    ((uint8_t *)c->out[0]->data)[base + at] = ox_quantize_byte(y, (float)v);
  }
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  for (int64_t t = tiles.begin; t < tiles.end; t++) {
    if (stage == 0)
      transpose_b(c, c->prep, t);
    else
      one_row(c, c->prep, t, scratch);
    if (ox_ctx_stopped_each(c, t, 16)) return NULL;
  }
  return NULL;
}

#define I8 OX_BIT(OX_I8)
#define F32 OX_BIT(OX_F32)
static const ox_op ops[] = {
    {OX_SCHEMA(.name = "QOrderedMatMul", .domain = "com.microsoft", .since = 1,
               .types = {I8, F32, I8, F32, F32, F32, I8, F32}, .min_in = 5, .max_in = 8, OX_ATTRS(attr_rows),
               .attrs_bytes = sizeof(matmul_attrs), .infer = infer),
     OX_KERNEL(.prepare = prepare, .run = run)},
};
const ox_op_set ox_ops_quant_order_matmul = {ops, OX_COUNT(ops)};

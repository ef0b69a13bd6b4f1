/* SPDX-License-Identifier: Apache-2.0
 * ops/matmul_block_float.c - com.microsoft's MatMulBlockQuantizedFp8Weight and MatMulBlockQuantizedFp4Weight: A times
 * the transpose of weights in small floats, of which blocks of a row share a scale. A tile widens some rows of the
 * weights and multiplies all rows of A. */
#include <string.h>

#include "kern/ml/row_products.h"
#include "ops/shared/as_real.h"
#include "ops/shared/check.h"

enum { A, B, SCALE, A_SCALE8, BIAS8, SCALE2 = 3, INPUT_SCALE, BIAS4 };
typedef struct {
  int64_t block_size;
} block_attrs;
static const ox_attr_def rows8[] = {OX_ATTR_INT_IN(block_attrs, block_size, 128, 1, OX_COUNT_MAX)};
static const ox_attr_def rows4[] = {OX_ATTR_INT_IN(block_attrs, block_size, 16, 1, OX_COUNT_MAX)};

typedef struct {
  bool four;
  uint32_t bias;
  int64_t rows, k, n, blocks;
} block_prep;

static ox_status *infer_as(ox_infer_ctx *c, bool four) {
  int64_t n = ox_infer_dim(c, B, 0), k = ox_infer_dim(c, B, 1), block = ((const block_attrs *)c->attrs)->block_size;
  const uint32_t scalars[] = {four ? SCALE2 : A_SCALE8, INPUT_SCALE};
  ox_shape y = c->in[A]->shape;
  if (four && k >= 0 && !ox_mul_i64_ok(k, 2, &k)) return ox_fail(OX_LIMIT, "%s: rows are too long", c->op);
  if (y.rank == 0 || (y.rank > 0 && k >= 0 && y.dim[y.rank - 1] >= 0 && y.dim[y.rank - 1] != k))
    return ox_fail(OX_SHAPE_MISMATCH, "%s: A must have %lld columns", c->op, (long long)k);
  OX_TRY(ox_infer_shape_is(c, B, 2, (int64_t[]){-1, -1}));
  OX_TRY(ox_infer_shape_is(c, SCALE, 2, (int64_t[]){n, k < 0 ? -1 : OX_CEIL_DIV(k, block)}));
  for (size_t i = 0; i < (four ? 2 : 1); i++)
    if (ox_infer_has(c, scalars[i]) && ox_shape_count(&c->in[scalars[i]]->shape) > 1)
      return ox_fail(OX_SHAPE_MISMATCH, "%s: input %u must be a scalar", c->op, scalars[i]);
  OX_TRY(ox_infer_shape_is(c, four ? BIAS4 : BIAS8, 1, &n));
  if (y.rank > 0) y.dim[y.rank - 1] = n;
  ox_infer_out(c, 0, c->in[A]->dtype, &y);
  return NULL;
}
static ox_status *infer8(ox_infer_ctx *c) { return infer_as(c, false); }
static ox_status *infer4(ox_infer_ctx *c) { return infer_as(c, true); }

static ox_status *prepare(ox_kernel_ctx *c, bool four) {
  const ox_shape *x = &c->in[A]->shape;
  block_prep *p = c->prep = ox_ctx_alloc(c, sizeof *p);
  size_t at, panel, sums;
  int64_t count;
  if (!p) return ox_oom();
  for (uint32_t i = four ? SCALE2 : A_SCALE8; i <= (four ? INPUT_SCALE : A_SCALE8); i++)
    if (ox_ctx_has(c, i) && ox_shape_count(&c->in[i]->shape) != 1)
      return ox_fail(OX_SHAPE_MISMATCH, "input %u must be a scalar", i);
  p->four = four, p->bias = four ? BIAS4 : BIAS8;
  p->n = c->in[B]->shape.dim[0], p->k = x->dim[x->rank - 1], p->rows = ox_shape_span(x, 0, x->rank - 1);
  p->blocks = c->in[SCALE]->shape.dim[1];
  if (!ox_mul_i64_ok(p->rows, p->k, &count) || !ox_mul_ok((size_t)p->k, OX_PANEL_ROWS * sizeof(float), &panel) ||
      !ox_mul_ok((size_t)p->rows, OX_PANEL_ROWS * sizeof(float), &sums))
    return ox_fail(OX_LIMIT, "the matrices are too large");
  OX_TRY(ox_as_real_room(c, OX_AS_FLOAT, count, &at));
  c->n_stages = 2, c->n_tiles[0] = p->rows, c->n_tiles[1] = p->rows ? OX_CEIL_DIV(p->n, OX_PANEL_ROWS) : 0;
  c->scratch_per_worker = panel + sums + (size_t)p->k * sizeof(float);
  return NULL;
}
static ox_status *prepare8(ox_kernel_ctx *c) { return prepare(c, false); }
static ox_status *prepare4(ox_kernel_ctx *c) { return prepare(c, true); }

/* Rounds |x| to |dtype|. */
static void round_to(const ox_convert *cv, uint32_t dtype, float *x, int64_t n) {
  uint16_t narrow[OX_CONVERT_BLOCK];
  for (int64_t i = 0; i < n; i += OX_CONVERT_BLOCK) {
    size_t m = (size_t)OX_MIN(n - i, OX_CONVERT_BLOCK);
    cv->store_f32[dtype](x + i, narrow, 0, m, NULL);
    cv->load_f32[dtype](narrow, 0, m, x + i);
  }
}

/* A row of A, quantized and back if it has a scale. */
static void load_row(const ox_kernel_ctx *c, const block_prep *p, int64_t r) {
  const ox_convert *cv = ox_convert_select(c->isa);
  float *x = (float *)c->shared + r * p->k;
  cv->load_f32[c->in[A]->dtype](c->in[A]->data, (size_t)(r * p->k), (size_t)p->k, x);
  if (p->four || !ox_ctx_has(c, A_SCALE8)) return;
  float scale = *(const float *)c->in[A_SCALE8]->data;
  for (int64_t i = 0; i < p->k; i++) x[i] /= scale;
  round_to(cv, OX_F8E4M3FN, x, p->k);
  for (int64_t i = 0; i < p->k; i++) x[i] *= scale;
}

/* Row |n| of the weights; those of four bits are rounded to the type of A. */
static void load_weights(const ox_kernel_ctx *c, const block_prep *p, int64_t n, float *w) {
  const ox_convert *cv = ox_convert_select(c->isa);
  int64_t block = ((const block_attrs *)c->attrs)->block_size;
  cv->load_f32[p->four ? OX_F4E2M1 : OX_F8E4M3FN](c->in[B]->data, (size_t)(n * p->k), (size_t)p->k, w);
  for (int64_t i = 0; i < p->k; i++) {
    float scale;
    cv->load_f32[p->four ? OX_F8E4M3FN : OX_F32](c->in[SCALE]->data, (size_t)(n * p->blocks + i / block), 1, &scale);
    w[i] *= p->four ? scale * *(const float *)c->in[SCALE2]->data : scale;
  }
  if (p->four) round_to(cv, c->in[A]->dtype, w, p->k);
}

static void run_panel(const ox_kernel_ctx *c, const block_prep *p, int64_t first, float *panel) {
  const ox_convert *cv = ox_convert_select(c->isa);
  int64_t n = OX_MIN(p->n - first, OX_PANEL_ROWS);
  float *sums = panel + p->k * OX_PANEL_ROWS, *w = sums + p->rows * OX_PANEL_ROWS, bias[OX_PANEL_ROWS] = {0};
  for (int64_t i = 0; i < OX_PANEL_ROWS; i++) {
    if (i < n) load_weights(c, p, first + i, w);
    for (int64_t e = 0; e < p->k; e++) panel[e * OX_PANEL_ROWS + i] = i < n ? w[e] : 0;
  }
  ox_row_panels panels = {panel, n, p->k};
  ox_row_products_run(&panels, c->isa, false, c->shared, p->rows, sums, OX_PANEL_ROWS);
  if (ox_ctx_has(c, p->bias)) cv->load_f32[c->in[p->bias]->dtype](c->in[p->bias]->data, (size_t)first, (size_t)n, bias);
  for (int64_t r = 0; r < p->rows; r++) {
    float *y = sums + r * OX_PANEL_ROWS;
    for (int64_t i = 0; i < n; i++) y[i] += bias[i];
    cv->store_f32[c->out[0]->dtype](y, c->out[0]->data, (size_t)(r * p->n + first), (size_t)n, NULL);
  }
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  const block_prep *p = c->prep;
  for (int64_t t = tiles.begin; t < tiles.end; t++) {
    if (stage == 0)
      load_row(c, p, t);
    else
      run_panel(c, p, t * OX_PANEL_ROWS, scratch);
    if (ox_ctx_stopped_each(c, t, 16)) return NULL;
  }
  return NULL;
}

#define MS .domain = "com.microsoft", .since = 1, .attrs_bytes = sizeof(block_attrs)
#define F32 OX_BIT(OX_F32)
#define U8 OX_BIT(OX_U8)
static const ox_op ops[] = {
    {OX_SCHEMA(.name = "MatMulBlockQuantizedFp8Weight", MS,
               .types = {OX_T_FLOAT16S, OX_BIT(OX_F8E4M3FN), F32, F32, OX_T_FLOAT16S}, .vars = "T...T", .min_in = 3,
               .max_in = 5, OX_ATTRS(rows8), .infer = infer8),
     OX_KERNEL(.prepare = prepare8, .run = run)},
    {OX_SCHEMA(.name = "MatMulBlockQuantizedFp4Weight", MS, .types = {OX_T_FLOAT16S, U8, U8, F32, F32, OX_T_FLOAT16S},
               .vars = "T....T", .min_in = 4, .max_in = 6, OX_ATTRS(rows4), .infer = infer4),
     OX_KERNEL(.prepare = prepare4, .run = run)},
};
const ox_op_set ox_ops_matmul_block_float = {ops, OX_COUNT(ops)};

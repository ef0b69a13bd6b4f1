/* SPDX-License-Identifier: Apache-2.0
 * ops/matmul_nbits_fused.c - com.microsoft's MatMulNBitsMlp, act(A gate) (A up), and MatMulNBitsQkv, three products:
 * of one input, which may get a residual and be normalized first, with weights of few bits. Stage 0 makes the rows,
 * stage 1 multiplies, a tile for some columns of the products. */
#include <math.h>
#include <string.h>

#include "kern/act.h"
#include "kern/ml/row_products.h"
#include "kern/norm/norm.h"
#include "ops/shared/as_real.h"
#include "ops/shared/check.h"

enum { A, SKIP, NORM, FIRST, B = 0, SCALES, BIAS, EACH, MOST = 3 }; /* of each product from FIRST on: B, SCALES, BIAS */
typedef struct fused_attrs {
  const char *activation;
  int64_t K, N, Nq, Nkv, bits, block_size, accuracy_level;
  float epsilon;
} fused_attrs;
#define COMMON_ROWS                                                                                     \
  OX_ATTR_INT_REQUIRED_IN(fused_attrs, K, 1, OX_COUNT_MAX), OX_ATTR_INT_IN(fused_attrs, bits, 4, 2, 8), \
      OX_ATTR_INT_REQUIRED_IN(fused_attrs, block_size, 16, 1 << 16), OX_ATTR_INT(fused_attrs, accuracy_level, 0)
static const ox_attr_def mlp_rows[] = {
    COMMON_ROWS, OX_ATTR_INT_REQUIRED_IN(fused_attrs, N, 1, OX_COUNT_MAX), OX_ATTR_FLOAT(fused_attrs, epsilon, 1e-5f),
    OX_ATTR_ROW_(fused_attrs, activation, "activation", OX_ATTR_STRING_KIND, 1, OX_NO_FIELD, .s = NULL)};
static const ox_attr_def qkv_rows[] = {COMMON_ROWS, OX_ATTR_INT_REQUIRED_IN(fused_attrs, Nq, 1, OX_COUNT_MAX),
                                       OX_ATTR_INT_REQUIRED_IN(fused_attrs, Nkv, 1, OX_COUNT_MAX),
                                       OX_ATTR_FLOAT(fused_attrs, epsilon, 1e-6f)};

typedef struct fused_prep {
  bool mlp;
  int products;
  uint32_t sum; /* output of A + skip */
  int64_t rows, k, blocks, blob, n[MOST], panels[MOST];
  ox_act act;
} fused_prep;

static int64_t columns(const fused_attrs *a, bool mlp, int product) {
  return mlp ? a->N : product == 0 ? a->Nq : a->Nkv;
}

static ox_status *check_product(const ox_infer_ctx *c, int product, int64_t n) {
  const fused_attrs *a = c->attrs;
  uint32_t at = FIRST + (uint32_t)product * EACH;
  int64_t scales, bytes, blocks = OX_CEIL_DIV(a->K, a->block_size);
  if (!ox_infer_has(c, at + B) || !ox_infer_has(c, at + SCALES))
    return ox_fail(OX_INVALID_MODEL, "%s: inputs %u and %u are required", c->op, at + B, at + SCALES);
  if (!ox_mul_i64_ok(n, blocks, &scales) || !ox_mul_i64_ok(scales, a->block_size * a->bits / 8, &bytes))
    return ox_fail(OX_LIMIT, "%s: too large", c->op);
  const int64_t want[EACH] = {bytes, scales, n};
  for (uint32_t i = 0; i < EACH; i++) {
    int64_t got = ox_infer_has(c, at + i) ? ox_shape_count(&c->in[at + i]->shape) : -1;
    if (got >= 0 && got != want[i])
      return ox_fail(OX_SHAPE_MISMATCH, "%s: input %u has %lld elements, wanted %lld", c->op, at + i, (long long)got,
                     (long long)want[i]);
  }
  return NULL;
}

static ox_status *infer_as(ox_infer_ctx *c, bool mlp) {
  const fused_attrs *a = c->attrs;
  const ox_shape *x = &c->in[A]->shape;
  int products = mlp ? 2 : 3;
  ox_act act;
  if ((a->bits != 2 && a->bits != 4 && a->bits != 8) || (a->block_size & (a->block_size - 1)))
    return ox_fail(OX_INVALID_MODEL, "%s: %lld bits in blocks of %lld", c->op, (long long)a->bits,
                   (long long)a->block_size);
  if (mlp && !ox_act_parse(a->activation, NULL, 0, &act))
    return ox_fail(OX_INVALID_MODEL, "%s: no activation is called '%.40s'", c->op, a->activation);
  if (ox_infer_has(c, SKIP) && !ox_infer_has(c, NORM))
    return ox_fail(OX_INVALID_MODEL, "%s: skip without norm_scale", c->op);
  if (x->rank == 0 || (x->rank > 0 && x->dim[x->rank - 1] >= 0 && x->dim[x->rank - 1] != a->K))
    return ox_fail(OX_SHAPE_MISMATCH, "%s: A must have %lld columns", c->op, (long long)a->K);
  if (x->rank > 0) OX_TRY(ox_infer_shape_is(c, SKIP, x->rank, x->dim));
  OX_TRY(ox_infer_shape_is(c, NORM, 1, &a->K));
  for (int i = 0; i < products; i++) {
    OX_TRY(check_product(c, i, columns(a, mlp, i)));
    ox_shape y = *x;
    if (y.rank > 0) y.dim[y.rank - 1] = columns(a, mlp, i);
    if (!mlp || i == 0) ox_infer_out(c, (uint32_t)i, c->in[A]->dtype, &y);
  }
  ox_infer_out(c, mlp ? 1 : 3, c->in[A]->dtype, x);
  return NULL;
}
static ox_status *infer_mlp(ox_infer_ctx *c) { return infer_as(c, true); }
static ox_status *infer_qkv(ox_infer_ctx *c) { return infer_as(c, false); }

static ox_status *prepare_as(ox_kernel_ctx *c, bool mlp) {
  const fused_attrs *a = c->attrs;
  const ox_shape *x = &c->in[A]->shape;
  fused_prep *p = c->prep = ox_ctx_alloc(c, sizeof *p);
  size_t at, panel, sums;
  int64_t tiles = 0, floats;
  if (!p) return ox_oom();
  p->mlp = mlp, p->products = mlp ? 2 : 3, p->sum = mlp ? 1 : 3;
  p->rows = ox_shape_span(x, 0, x->rank - 1), p->k = a->K;
  p->blocks = OX_CEIL_DIV(a->K, a->block_size), p->blob = a->block_size * a->bits / 8;
  if (mlp) ox_act_parse(a->activation, NULL, 0, &p->act);
  for (int i = 0; i < p->products; i++) {
    p->n[i] = columns(a, mlp, i), p->panels[i] = OX_CEIL_DIV(p->n[i], OX_PANEL_ROWS);
    if (!mlp || i == 0) tiles += p->panels[i];
  }
  if (!ox_mul_i64_ok(p->rows, p->k, &floats) || !ox_mul_ok((size_t)p->k, OX_PANEL_ROWS * sizeof(float), &panel) ||
      !ox_mul_ok((size_t)p->rows, 2 * OX_PANEL_ROWS * sizeof(float), &sums))
    return ox_fail(OX_LIMIT, "too large");
  OX_TRY(ox_as_real_room(c, OX_AS_FLOAT, floats, &at));
  c->n_stages = 2, c->n_tiles[0] = p->rows, c->n_tiles[1] = p->rows ? tiles : 0;
  c->scratch_per_worker = panel + sums + (size_t)p->k * sizeof(float);
  return NULL;
}
static ox_status *prepare_mlp(ox_kernel_ctx *c) { return prepare_as(c, true); }
static ox_status *prepare_qkv(ox_kernel_ctx *c) { return prepare_as(c, false); }

/* ---- run ---- */

static void make_row(const ox_kernel_ctx *c, const fused_prep *p, int64_t r, float *spare) {
  const ox_convert *cv = ox_convert_select(c->isa);
  const ox_norm_table *t = ox_norm_select(c->isa);
  float *x = (float *)c->shared + r * p->k;
  size_t k = (size_t)p->k, at = (size_t)(r * p->k);
  cv->load_f32[c->in[A]->dtype](c->in[A]->data, at, k, x);
  if (ox_ctx_has(c, SKIP)) {
    cv->load_f32[c->in[SKIP]->dtype](c->in[SKIP]->data, at, k, spare);
    t->add(x, spare, NULL, x, k);
  }
  if (ox_ctx_wants(c, p->sum)) cv->store_f32[c->out[p->sum]->dtype](x, c->out[p->sum]->data, at, k, NULL);
  if (!ox_ctx_has(c, NORM)) return;
  float factor = (float)(1 / sqrt(t->mean_square(x, k) + (double)((const fused_attrs *)c->attrs)->epsilon));
  cv->load_f32[c->in[NORM]->dtype](c->in[NORM]->data, 0, k, spare);
  t->apply(x, x, k, 0, factor, spare, NULL);
}

/* Row |n| of a product's weights; the middle of the codes stands for 0. */
static void load_weights(const ox_kernel_ctx *c, const fused_prep *p, int product, int64_t n, float *w) {
  const fused_attrs *a = c->attrs;
  uint32_t at = FIRST + (uint32_t)product * EACH;
  int64_t bits = a->bits, per = 8 / bits, zero = (int64_t)1 << (bits - 1), mask = 2 * zero - 1;
  const uint8_t *from = (const uint8_t *)c->in[at + B]->data + n * p->blocks * p->blob;
  float scale = 0;
  for (int64_t i = 0; i < p->k; i++) {
    int64_t block = i / a->block_size, in = i % a->block_size;
    if (in == 0)
      ox_convert_select(c->isa)->load_f32[c->in[at + SCALES]->dtype](c->in[at + SCALES]->data,
                                                                     (size_t)(n * p->blocks + block), 1, &scale);
    w[i] = (float)((from[block * p->blob + in / per] >> in % per * bits & mask) - zero) * scale;
  }
}

/* Columns [first, first + n) of a product, for all rows, into |sums|. */
static void multiply(const ox_kernel_ctx *c, const fused_prep *p, int product, int64_t first, int64_t n, float *panel,
                     float *w, float *sums) {
  uint32_t bias = FIRST + (uint32_t)product * EACH + BIAS;
  float add[OX_PANEL_ROWS] = {0};
  for (int64_t i = 0; i < OX_PANEL_ROWS; i++) {
    if (i < n) load_weights(c, p, product, first + i, w);
    for (int64_t e = 0; e < p->k; e++) panel[e * OX_PANEL_ROWS + i] = i < n ? w[e] : 0;
  }
  ox_row_panels panels = {panel, n, p->k};
  ox_row_products_run(&panels, c->isa, false, c->shared, p->rows, sums, OX_PANEL_ROWS);
  if (!ox_ctx_has(c, bias)) return;
  ox_convert_select(c->isa)->load_f32[c->in[bias]->dtype](c->in[bias]->data, (size_t)first, (size_t)n, add);
  for (int64_t i = 0; i < p->rows * OX_PANEL_ROWS; i++) sums[i] += add[i % OX_PANEL_ROWS];
}

static void run_tile(const ox_kernel_ctx *c, const fused_prep *p, int64_t tile, float *panel) {
  float *sums = panel + p->k * OX_PANEL_ROWS, *up = sums + p->rows * OX_PANEL_ROWS, *w = up + p->rows * OX_PANEL_ROWS;
  int product = 0;
  while (tile >= p->panels[product]) tile -= p->panels[product++];
  int64_t first = tile * OX_PANEL_ROWS, n = OX_MIN(p->n[product] - first, OX_PANEL_ROWS);
  const ox_tensor *y = c->out[product];
  multiply(c, p, product, first, n, panel, w, sums);
  if (p->mlp) {
    multiply(c, p, 1, first, n, panel, w, up);
    for (int64_t i = 0; i < p->rows * OX_PANEL_ROWS; i++) sums[i] = (float)ox_act_f64(p->act, (double)sums[i]) * up[i];
  }
  for (int64_t r = 0; r < p->rows && y; r++)
    ox_convert_select(c->isa)->store_f32[y->dtype](sums + r * OX_PANEL_ROWS, y->data,
                                                   (size_t)(r * p->n[product] + first), (size_t)n, NULL);
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  for (int64_t t = tiles.begin; t < tiles.end; t++) {
    (stage == 0 ? make_row : run_tile)(c, c->prep, t, scratch);
    if (ox_ctx_stopped_each(c, t, 16)) return NULL;
  }
  return NULL;
}

static double flops(const ox_kernel_ctx *c) {
  const fused_prep *p = c->prep;
  double columns = 0;
  for (int i = 0; i < p->products; i++) columns += (double)p->n[i];
  return 2 * (double)p->rows * (double)p->k * columns;
}

#define MS .domain = "com.microsoft", .since = 1, .attrs_bytes = sizeof(fused_attrs)
#define T (OX_BIT(OX_F32) | OX_T_FLOAT16S)
#define U8 OX_BIT(OX_U8)
static const ox_op ops[] = {
    {OX_SCHEMA(.name = "MatMulNBitsMlp", MS, .types = {T, T, T, U8, T, T, U8, T}, .more_types = (const uint32_t[]){T},
               .vars = "TTT.TT.TT", .min_in = 1, .max_in = 9, .min_out = 1, .max_out = 2, OX_ATTRS(mlp_rows),
               .infer = infer_mlp),
     OX_KERNEL(.prepare = prepare_mlp, .run = run, .flops = flops)},
    {OX_SCHEMA(.name = "MatMulNBitsQkv", MS, .types = {T, T, T, U8, T, T, U8, T},
               .more_types = (const uint32_t[]){T, U8, T, T}, .vars = "TTT.TT.TT.TT", .min_in = 1, .max_in = 12,
               .min_out = 3, .max_out = 4, OX_ATTRS(qkv_rows), .infer = infer_qkv),
     OX_KERNEL(.prepare = prepare_qkv, .run = run, .flops = flops)},
};
const ox_op_set ox_ops_matmul_nbits_fused = {ops, OX_COUNT(ops)};

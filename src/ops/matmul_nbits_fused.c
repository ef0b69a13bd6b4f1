/* SPDX-License-Identifier: Apache-2.0
 * ops/matmul_nbits_fused.c - com.microsoft's MatMulNBitsMlp, act(A gate) (A up), and MatMulNBitsQkv, three products:
 * of one input, which may get a residual and be normalized first, with weights of few bits. Stage 0 makes the rows,
 * stage 1 multiplies, a tile for some rows and columns of the products. */
#include <math.h>
#include <string.h>

#include "base/cksize.h"
#include "kern/binary/binary.h"
#include "kern/conv/conv.h"
#include "kern/norm/norm.h"
#include "ops/matmul/dense.h"
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

enum { STRIP = 128, GROUP = OX_DENSE_GROUP }; /* rows and columns of a tile */

typedef struct fused_prep {
  bool mlp;
  int products;
  uint32_t sum;                          /* output of A + skip */
  int64_t rows, k, padded, strip, tiles; /* padded: k in whole blocks; tiles: of a strip of rows */
  ox_dense d[MOST];
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

static ox_dense_slots slots_of(int product) {
  const uint8_t at = (uint8_t)(FIRST + product * EACH);
  return (ox_dense_slots){at + B, at + SCALES, at + BIAS, OX_DENSE_NO_INPUT};
}

static ox_status *load(ox_load_ctx *c) {
  const fused_attrs *a = c->attrs;
  ox_dense_state *s = c->state = OX_LOAD_ARRAY(c, ox_dense_state, MOST);
  if (!s) return ox_oom();
  for (int i = 0; i < MOST; i++) {
    const ox_dense_slots in = slots_of(i);
    ox_dense_load_codes(c, &in, a->bits, a->block_size, &s[i]);
  }
  return NULL;
}

static ox_status *prepare_as(ox_kernel_ctx *c, bool mlp) {
  const fused_attrs *a = c->attrs;
  const ox_shape *x = &c->in[A]->shape;
  const ox_dense_state *s = c->state;
  fused_prep *p = c->prep = ox_ctx_alloc(c, sizeof *p);
  const int64_t blocks = OX_CEIL_DIV(a->K, a->block_size);
  size_t at, scratch = 0, most = 0;
  int64_t floats;
  if (!p) return ox_oom();
  p->mlp = mlp, p->products = mlp ? 2 : 3, p->sum = mlp ? 1 : 3;
  p->rows = ox_shape_span(x, 0, x->rank - 1), p->k = a->K, p->padded = blocks * a->block_size;
  p->strip = OX_MIN(p->rows, STRIP);
  if (mlp) ox_act_parse(a->activation, NULL, 0, &p->act);
  if (!ox_mul_i64_ok(p->rows, p->padded, &floats)) return ox_fail(OX_LIMIT, "too large");
  OX_TRY(ox_as_real_room(c, OX_AS_FLOAT, floats, &at));
  for (int i = 0; i < p->products; i++) {
    ox_dense *d = &p->d[i];
    *d = (ox_dense){.in = slots_of(i), .count = 1, .n = columns(a, mlp, i), .k = p->padded};
    d->bits = a->bits, d->block = a->block_size, d->blocks = blocks, d->blocked = true;
    OX_TRY(ox_dense_plan(c, d, &s[i], i, p->strip, &scratch));
    most = OX_MAX(most, scratch);
    if (!mlp || i == 0) p->tiles += ox_dense_groups(d);
  }
  c->n_stages = 2, c->n_tiles[0] = p->rows, c->n_tiles[1] = OX_CEIL_DIV(p->rows, STRIP) * p->tiles;
  c->scratch_per_worker = most + OX_MAX(2 * (size_t)p->strip * GROUP, (size_t)p->k) * sizeof(float);
  return NULL;
}
static ox_status *prepare_mlp(ox_kernel_ctx *c) { return prepare_as(c, true); }
static ox_status *prepare_qkv(ox_kernel_ctx *c) { return prepare_as(c, false); }

/* ---- run ---- */

static void make_row(const ox_kernel_ctx *c, const fused_prep *p, int64_t r, float *spare) {
  const ox_convert *cv = ox_convert_select(c->isa);
  const ox_norm_table *t = ox_norm_select(c->isa);
  float *x = (float *)c->shared + r * p->padded;
  size_t k = (size_t)p->k, at = (size_t)(r * p->k);
  cv->load_f32[c->in[A]->dtype](c->in[A]->data, at, k, x);
  memset(x + k, 0, (size_t)(p->padded - p->k) * sizeof *x);
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

/* |y| = act(|y|) |up|, of |m| rows and |n| columns. */
static void gate(const ox_kernel_ctx *c, const fused_prep *p, float *y, const float *up, int64_t m, int64_t n) {
  ox_conv_select(c->isa)->finish(&p->act, y, GROUP, NULL, NULL, (size_t)m, (size_t)n);
  for (int64_t r = 0; r < m; r++, y += GROUP, up += GROUP)
    ox_binary_select(c->isa)->fn[OX_BIN_MUL][OX_F32](y, up, y, (size_t)n, 0);
}

static void run_tile(const ox_kernel_ctx *c, const fused_prep *p, int64_t tile, float *sums) {
  const int64_t row = tile / p->tiles * STRIP, m = OX_MIN(p->rows - row, STRIP);
  float *up = sums + p->strip * GROUP, *scratch = up + p->strip * GROUP;
  int64_t group = tile % p->tiles;
  int i = 0;
  while (group >= ox_dense_groups(&p->d[i])) group -= ox_dense_groups(&p->d[i++]);
  const int64_t first = group * GROUP, n = OX_MIN(p->d[i].n - first, GROUP);
  const ox_tensor *y = c->out[i];
  ox_dense_job job = {.m = m, .x = (const float *)c->shared + row * p->padded, .y = sums, .ldy = GROUP};
  if (!y) return;
  ox_dense_run(c, &p->d[i], &job, group, scratch);
  if (p->mlp) {
    job.y = up;
    ox_dense_run(c, &p->d[1], &job, group, scratch);
    gate(c, p, sums, up, m, n);
  }
  for (int64_t r = 0; r < m; r++)
    ox_convert_select(c->isa)->store_f32[y->dtype](sums + r * GROUP, y->data, (size_t)((row + r) * p->d[i].n + first),
                                                   (size_t)n, NULL);
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
  for (int i = 0; i < p->products; i++) columns += (double)p->d[i].n;
  return 2 * (double)p->rows * (double)p->k * columns;
}

#define MS .domain = "com.microsoft", .since = 1, .attrs_bytes = sizeof(fused_attrs)
#define T (OX_BIT(OX_F32) | OX_T_FLOAT16S)
#define U8 OX_BIT(OX_U8)
#define PACKS (3u << FIRST | 3u << (FIRST + EACH) | 3u << (FIRST + 2 * EACH))
static const ox_op ops[] = {
    {OX_SCHEMA(.name = "MatMulNBitsMlp", MS, .types = {T, T, T, U8, T, T, U8, T}, .more_types = (const uint32_t[]){T},
               .vars = "TTT.TT.TT", .min_in = 1, .max_in = 9, .min_out = 1, .max_out = 2, OX_ATTRS(mlp_rows),
               .infer = infer_mlp),
     OX_KERNEL(.load = load, .packs_in = PACKS, .prepare = prepare_mlp, .run = run, .flops = flops)},
    {OX_SCHEMA(.name = "MatMulNBitsQkv", MS, .types = {T, T, T, U8, T, T, U8, T},
               .more_types = (const uint32_t[]){T, U8, T, T}, .vars = "TTT.TT.TT.TT", .min_in = 1, .max_in = 12,
               .min_out = 3, .max_out = 4, OX_ATTRS(qkv_rows), .infer = infer_qkv),
     OX_KERNEL(.load = load, .packs_in = PACKS, .prepare = prepare_qkv, .run = run, .flops = flops)},
};
const ox_op_set ox_ops_matmul_nbits_fused = {ops, OX_COUNT(ops)};

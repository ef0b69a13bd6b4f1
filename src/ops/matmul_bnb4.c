/* SPDX-License-Identifier: Apache-2.0
 * ops/matmul_bnb4.c - com.microsoft.MatMulBnb4: A times (the transpose of) weights in 4-bit floats, FP4 or NF4, whose
 * blocks of the flattened matrix share a scale. Constant weights are packed if rows are whole blocks; of others, a tile
 * widens 16 rows and multiplies all rows of A. */
#include <string.h>

#include "kern/ml/row_products.h"
#include "kern/move/move.h"
#include "kern/quant/convert.h"
#include "ops/matmul/dense.h"
#include "ops/shared/float_element.h"

typedef struct bnb4_attrs {
  int64_t K, N, block_size, quant_type, transB, training_mode;
} bnb4_attrs;

static const ox_attr_def attrs[] = {
    OX_ATTR_INT_REQUIRED_IN(bnb4_attrs, K, 1, OX_COUNT_MAX),
    OX_ATTR_INT_REQUIRED_IN(bnb4_attrs, N, 1, OX_COUNT_MAX),
    OX_ATTR_INT_REQUIRED_IN(bnb4_attrs, block_size, 1, OX_COUNT_MAX),
    OX_ATTR_INT_REQUIRED_IN(bnb4_attrs, quant_type, 0, 1),
    OX_ATTR_INT(bnb4_attrs, transB, 1),
    OX_ATTR_INT(bnb4_attrs, training_mode, 0),
};

enum { A, B, ABSMAX };

/* Values of the codes: FP4 is a sign, two bits of exponent and one of mantissa, scaled so that the largest is 1; NF4
 * are quantiles of the normal distribution. */
static const float codes[2][16] = {
    {0.0f, 5.208333333e-03f, 0.66666667f, 1.0f, 0.33333333f, 0.5f, 0.16666667f, 0.25f, -0.0f, -5.208333333e-03f,
     -0.66666667f, -1.0f, -0.33333333f, -0.5f, -0.16666667f, -0.25f},
    {-1.0f, -0.6961928009986877f, -0.5250730514526367f, -0.39491748809814453f, -0.28444138169288635f,
     -0.18477343022823334f, -0.09105003625154495f, 0.0f, 0.07958029955625534f, 0.16093020141124725f,
     0.24611230194568634f, 0.33791524171829224f, 0.44070982933044434f, 0.5626170039176941f, 0.7229568362236023f, 1.0f},
};

/* Columns of A and of the result. */
static int64_t inner(const bnb4_attrs *a) { return a->transB ? a->K : a->N; }
static int64_t outer(const bnb4_attrs *a) { return a->transB ? a->N : a->K; }

static ox_status *infer(ox_infer_ctx *c) {
  const bnb4_attrs *a = c->attrs;
  ox_shape y = c->in[A]->shape;
  if (y.rank == 0 || (y.rank > 0 && y.dim[y.rank - 1] >= 0 && y.dim[y.rank - 1] != inner(a)))
    return ox_fail(OX_SHAPE_MISMATCH, "MatMulBnb4: A must have %lld columns", (long long)inner(a));
  if (y.rank > 0) y.dim[y.rank - 1] = outer(a);
  ox_infer_out(c, 0, c->in[A]->dtype, &y);
  return NULL;
}

/* ---- constant weights ---- */
enum { STRIP = 128, GROUP = OX_DENSE_GROUP }; /* rows and columns of a tile */
static const ox_dense_slots slots = {B, ABSMAX, OX_DENSE_NO_INPUT, OX_DENSE_NO_INPUT};

static ox_status *load(ox_load_ctx *c) {
  const bnb4_attrs *a = c->attrs;
  ox_dense_state *s = c->state = OX_LOAD_NEW(c, ox_dense_state);
  if (!s) return ox_oom();
  if (a->transB && a->K % a->block_size == 0) ox_dense_load_codes(c, &slots, 4, a->block_size, s);
  return NULL;
}

static ox_status *prepare_packed(ox_kernel_ctx *c, int64_t rows) {
  const bnb4_attrs *a = c->attrs;
  ox_dense *d = c->prep = ox_ctx_alloc(c, sizeof *d);
  size_t scratch;
  if (!d) return ox_oom();
  *d = (ox_dense){.in = slots, .count = 1, .n = a->N, .k = a->K, .bits = 4, .table = codes[a->quant_type]};
  d->block = a->block_size, d->blocks = a->K / a->block_size;
  OX_TRY(ox_dense_plan(c, d, c->state, 0, OX_MIN(rows, STRIP), &scratch));
  c->n_tiles[1] = OX_CEIL_DIV(rows, STRIP) * ox_dense_groups(d);
  c->scratch_per_worker = scratch + STRIP * GROUP * sizeof(float);
  return NULL;
}

static void run_packed(const ox_kernel_ctx *c, int64_t tile, const float *x, int64_t rows, float *sums) {
  const ox_dense *d = c->prep;
  const ox_tensor *y = c->out[0];
  const int64_t groups = ox_dense_groups(d), group = tile % groups, first = group * GROUP, row = tile / groups * STRIP;
  const int64_t m = OX_MIN(rows - row, STRIP), n = OX_MIN(d->n - first, GROUP);
  ox_dense_job job = {.m = m, .x = x + row * d->k, .y = sums, .ldy = GROUP};
  if (y->dtype == OX_F32) job.y = (float *)y->data + row * d->n + first, job.ldy = (size_t)d->n;
  ox_dense_run(c, d, &job, group, sums + STRIP * GROUP);
  for (int64_t r = 0; y->dtype != OX_F32 && r < m; r++)
    ox_convert_select(c->isa)->store_f32[y->dtype](sums + r * GROUP, y->data, (size_t)((row + r) * d->n + first),
                                                   (size_t)n, NULL);
}

/* ---- other weights ---- */
static ox_status *prepare(ox_kernel_ctx *c) {
  const bnb4_attrs *a = c->attrs;
  int64_t n = a->N * a->K, rows = ox_shape_span(&c->in[A]->shape, 0, c->in[A]->shape.rank - 1);
  if (ox_shape_count(&c->in[B]->shape) != (n + 1) / 2 ||
      ox_shape_count(&c->in[ABSMAX]->shape) != OX_CEIL_DIV(n, a->block_size) || c->in[ABSMAX]->dtype != c->in[A]->dtype)
    return ox_fail(OX_SHAPE_MISMATCH, "MatMulBnb4: B or absmax does not fit %lld x %lld", (long long)a->N,
                   (long long)a->K);
  size_t panel = (size_t)inner(a) * OX_PANEL_ROWS * sizeof(float);
  size_t wide = c->in[A]->dtype == OX_F32 ? 0 : (size_t)(rows * inner(a)) * sizeof(float);
  c->shared_bytes = wide;
  c->n_stages = 2, c->n_tiles[0] = wide ? rows : 0, c->n_tiles[1] = rows ? OX_CEIL_DIV(outer(a), OX_PANEL_ROWS) : 0;
  c->scratch_per_worker = 2 * panel + (size_t)rows * OX_PANEL_ROWS * sizeof(float);
  return ((const ox_dense_state *)c->state)->codes ? prepare_packed(c, rows) : NULL;
}

/* Both elements of each byte; the first is the high half. */
static void pairs_of(const bnb4_attrs *a, float (*p)[2]) {
  for (int b = 0; b < 256; b++) p[b][0] = codes[a->quant_type][b >> 4], p[b][1] = codes[a->quant_type][b & 15];
}

/* Elements [i, i + n) of the flattened N x K matrix, a block at a time. */
static void widen(const ox_kernel_ctx *c, const float (*pair)[2], int64_t i, int64_t n, float *to) {
  const bnb4_attrs *a = c->attrs;
  const uint8_t *b = c->in[B]->data;
  for (int64_t end = i + n; i < end;) {
    int64_t next = OX_MIN(end, (i / a->block_size + 1) * a->block_size);
    float scale = ox_float_at(c->in[ABSMAX], i / a->block_size);
    if (i % 2) *to++ = pair[b[i / 2]][1] * scale, i++;
    for (; i + 2 <= next; i += 2, to += 2) to[0] = pair[b[i / 2]][0] * scale, to[1] = pair[b[i / 2]][1] * scale;
    if (i < next) *to++ = pair[b[i / 2]][0] * scale, i++;
  }
}

/* |n| columns of the right-hand side from |first| on, as a panel of 16; |lines|: room for as much. */
static void make_panel(const ox_kernel_ctx *c, const float (*pair)[2], int64_t first, int64_t n, float *panel,
                       float *lines) {
  const bnb4_attrs *a = c->attrs;
  int64_t k = inner(a);
  if (a->transB) {
    for (int64_t i = 0; i < n; i++) widen(c, pair, (first + i) * k, k, lines + i * k);
    memset(lines + n * k, 0, (size_t)((OX_PANEL_ROWS - n) * k) * sizeof *lines);
    ox_transpose_select(4, c->isa)((const char *)lines, k * 4, (char *)panel, OX_PANEL_ROWS * 4, OX_PANEL_ROWS, k);
    return;
  }
  for (int64_t e = 0; e < k; e++) {
    widen(c, pair, e * a->K + first, n, panel + e * OX_PANEL_ROWS);
    for (int64_t i = n; i < OX_PANEL_ROWS; i++) panel[e * OX_PANEL_ROWS + i] = 0;
  }
}

static void run_panel(const ox_kernel_ctx *c, const float (*pair)[2], int64_t first, const float *x, int64_t rows,
                      float *scratch) {
  const bnb4_attrs *a = c->attrs;
  const ox_tensor *y = c->out[0];
  int64_t k = inner(a), n = OX_MIN(outer(a) - first, OX_PANEL_ROWS);
  float *sums = scratch + 2 * k * OX_PANEL_ROWS;
  make_panel(c, pair, first, n, scratch, scratch + k * OX_PANEL_ROWS);
  ox_row_panels p = {scratch, n, k};
  ox_row_products_run(&p, c->isa, false, x, rows, sums, OX_PANEL_ROWS);
  for (int64_t r = 0; r < rows; r++) {
    const float *from = sums + r * OX_PANEL_ROWS;
    for (int64_t i = 0; i < n; i++) ox_float_put(y, r * outer(a) + first + i, from[i]);
  }
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  const bnb4_attrs *a = c->attrs;
  int64_t k = inner(a), rows = ox_shape_span(&c->in[A]->shape, 0, c->in[A]->shape.rank - 1);
  const ox_tensor *in = c->in[A];
  const float *x = in->dtype != OX_F32 ? c->shared : in->data;
  float pair[256][2];
  if (stage && !c->prep) pairs_of(a, pair);
  for (int64_t t = tiles.begin; t < tiles.end; t++) {
    if (stage == 0)
      ox_convert_select(c->isa)->load_f32[in->dtype](in->data, (size_t)(t * k), (size_t)k, (float *)c->shared + t * k);
    else if (c->prep)
      run_packed(c, t, x, rows, scratch);
    else
      run_panel(c, (const float(*)[2])pair, t * OX_PANEL_ROWS, x, rows, scratch);
  }
  return NULL;
}

#define HALVES (OX_BIT(OX_F32) | OX_T_FLOAT16S)
static const ox_op ops[] = {
    {OX_SCHEMA(.name = "MatMulBnb4", .domain = "com.microsoft", .since = 1, .min_in = 3, .max_in = 3,
               .types = {HALVES, OX_BIT(OX_U8), HALVES}, .vars = "T.T", OX_ATTRS(attrs),
               .attrs_bytes = sizeof(bnb4_attrs), .infer = infer),
     OX_KERNEL(.load = load, .prepare = prepare, .run = run, .packs_in = 1u << B | 1u << ABSMAX)},
};
const ox_op_set ox_ops_matmul_bnb4 = {ops, OX_COUNT(ops)};

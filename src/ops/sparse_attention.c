/* SPDX-License-Identifier: Apache-2.0
 * ops/sparse_attention.c - com.microsoft.SparseAttention: causal attention of grouped heads over a cache, where a
 * query attends only to the blocks of keys that its block's row of a sparse layout lists. Head h uses layout h
 * modulo their number. */
#include <math.h>
#include <string.h>

#include "kern/attention/rotary.h"
#include "kern/softmax/softmax.h"
#include "ops/shared/as_real.h"
#include "ops/shared/check.h"

enum { Q, K, V, PAST_K, PAST_V, ROWS, COLS, TOTAL, LENS, COS, SIN };
enum { OUT, PRESENT_K, PRESENT_V };

typedef struct sparse_attrs {
  int64_t num_heads, kv_num_heads, sparse_block_size, do_rotary, rotary_interleaved;
  float scale;
} sparse_attrs;
static const ox_attr_def table[] = {
    OX_ATTR_INT_REQUIRED_IN(sparse_attrs, num_heads, 1, OX_COUNT_MAX),
    OX_ATTR_INT_REQUIRED_IN(sparse_attrs, kv_num_heads, 1, OX_COUNT_MAX),
    OX_ATTR_INT_REQUIRED_IN(sparse_attrs, sparse_block_size, 1, OX_COUNT_MAX),
    OX_ATTR_INT(sparse_attrs, do_rotary, 0),
    OX_ATTR_INT(sparse_attrs, rotary_interleaved, 0),
    OX_ATTR_FLOAT(sparse_attrs, scale, 0),
};

/* ---- shapes ---- */

static ox_status *infer(ox_infer_ctx *c) {
  const sparse_attrs *a = c->attrs;
  bool packed = !ox_infer_has(c, K);
  for (uint32_t i = PAST_K; i <= LENS; i++) /* key and value before them may be missing */
    if (!ox_infer_has(c, i)) return ox_fail(OX_INVALID_MODEL, "SparseAttention: input %u is required", i);
  int64_t batch = ox_infer_dim(c, Q, 0), len = ox_infer_dim(c, Q, 1), width = ox_infer_dim(c, Q, 2);
  int64_t parts = a->num_heads + (packed ? 2 * a->kv_num_heads : 0), d = width < 0 ? -1 : width / parts;
  if (a->num_heads % a->kv_num_heads || packed != !ox_infer_has(c, V))
    return ox_fail(OX_INVALID_MODEL, "SparseAttention: %lld heads for %lld of key and value, which come together",
                   (long long)a->num_heads, (long long)a->kv_num_heads);
  OX_TRY(ox_infer_shape_is(c, Q, 3, (int64_t[]){-1, -1, -1}));
  if (width >= 0 && width % parts)
    return ox_fail(OX_SHAPE_MISMATCH, "SparseAttention: query rows of %lld are not %lld heads", (long long)width,
                   (long long)parts);
  for (uint32_t i = K; i <= V; i++)
    OX_TRY(ox_infer_shape_is(c, i, 3, (int64_t[]){batch, len, ox_dim_mul(a->kv_num_heads, d)}));
  int64_t cache = ox_infer_dim(c, PAST_K, 2), layouts = ox_infer_dim(c, ROWS, 0);
  for (uint32_t i = PAST_K; i <= PAST_V; i++)
    OX_TRY(ox_infer_shape_is(c, i, 4, (int64_t[]){batch, a->kv_num_heads, cache, d}));
  OX_TRY(ox_infer_shape_is(c, ROWS, 2, (int64_t[]){-1, -1}));
  OX_TRY(ox_infer_shape_is(c, COLS, 2, (int64_t[]){layouts, -1}));
  OX_TRY(ox_infer_shape_is(c, LENS, 1, &batch));
  if (layouts >= 0 && (layouts == 0 || a->num_heads % layouts || ox_infer_dim(c, ROWS, 1) == 0))
    return ox_fail(OX_SHAPE_MISMATCH, "SparseAttention: %lld layouts for %lld heads", (long long)layouts,
                   (long long)a->num_heads);
  if (a->do_rotary && (!ox_infer_has(c, COS) || !ox_infer_has(c, SIN)))
    return ox_fail(OX_INVALID_MODEL, "SparseAttention: do_rotary needs cos_cache and sin_cache");
  for (uint32_t i = COS; i <= SIN; i++)
    OX_TRY(ox_infer_shape_is(c, i, 2, (int64_t[]){ox_infer_dim(c, COS, 0), ox_infer_dim(c, COS, 1)}));
  if (d >= 0 && 2 * ox_infer_dim(c, COS, 1) > d)
    return ox_fail(OX_SHAPE_MISMATCH, "SparseAttention: caches of %lld angles for heads of %lld",
                   (long long)ox_infer_dim(c, COS, 1), (long long)d);
  ox_shape out = ox_shape_of(3, (int64_t[]){batch, len, ox_dim_mul(a->num_heads, d)});
  ox_infer_out(c, OUT, c->in[Q]->dtype, &out);
  ox_infer_out(c, PRESENT_K, c->in[Q]->dtype, &c->in[PAST_K]->shape);
  ox_infer_out(c, PRESENT_V, c->in[Q]->dtype, &c->in[PAST_V]->shape);
  return NULL;
}

typedef struct sparse_prep {
  int64_t batch, len, heads, kv_heads, d, cache, block, layouts, blocks, most; /* most: column numbers of a layout */
  int64_t half, angles;                                                        /* rotary; half 0: none */
  bool packed;
  size_t item;
  float scale;
} sparse_prep;

static ox_status *prepare(ox_kernel_ctx *c) {
  const sparse_attrs *a = c->attrs;
  const int64_t *q = c->in[Q]->shape.dim;
  sparse_prep *p = c->prep = ox_ctx_alloc(c, sizeof *p);
  if (!p) return ox_oom();
  if (!ox_ctx_wants(c, PRESENT_K) || !ox_ctx_wants(c, PRESENT_V))
    return ox_fail(OX_INVALID_MODEL, "SparseAttention: present_key and present_value must be named");
  if (ox_shape_count(&c->in[TOTAL]->shape) != 1)
    return ox_fail(OX_SHAPE_MISMATCH, "SparseAttention: total_sequence_length must be one number");
  p->packed = !ox_ctx_has(c, K);
  p->heads = a->num_heads, p->kv_heads = a->kv_num_heads, p->block = a->sparse_block_size;
  p->batch = q[0], p->len = q[1], p->d = q[2] / (p->heads + (p->packed ? 2 * p->kv_heads : 0));
  p->cache = c->in[PAST_K]->shape.dim[2], p->item = ox_dtype_bits(c->in[Q]->dtype) / 8;
  p->layouts = c->in[ROWS]->shape.dim[0], p->blocks = c->in[ROWS]->shape.dim[1] - 1;
  p->most = c->in[COLS]->shape.dim[1];
  if (a->do_rotary) p->half = c->in[COS]->shape.dim[1], p->angles = c->in[COS]->shape.dim[0];
  p->scale = a->scale != 0 ? a->scale : (float)(1 / sqrt((double)OX_MAX(p->d, 1)));
  size_t bytes; /* a row's scores, three rows of a head */
  if (!ox_add_ok((size_t)p->cache, 3 * (size_t)p->d + 2 * OX_ALIGN_BYTES, &bytes) || bytes > SIZE_MAX / sizeof(float))
    return ox_fail(OX_LIMIT, "SparseAttention: a cache of %lld", (long long)p->cache);
  c->n_stages = 3, c->n_tiles[0] = 1, c->n_tiles[1] = p->batch * p->kv_heads;
  c->n_tiles[2] = p->d ? p->batch * p->heads * p->len : 0;
  c->scratch_per_worker = bytes * sizeof(float);
  return NULL;
}

/* ---- run ---- */

/* The position of the first new token in entry |b|: a prompt begins at 0, and may be shorter than its row. */
static int64_t first_place(const ox_kernel_ctx *c, const sparse_prep *p, int64_t b) {
  int64_t total = *(const int32_t *)c->in[TOTAL]->data;
  return total == p->len ? 0 : ((const int32_t *)c->in[LENS]->data)[b] - p->len;
}

static ox_status *check_lengths(const ox_kernel_ctx *c, const sparse_prep *p) {
  int64_t total = *(const int32_t *)c->in[TOTAL]->data, room = OX_MIN(p->cache, p->blocks * p->block);
  for (int64_t b = 0; b < p->batch; b++) {
    int64_t n = ((const int32_t *)c->in[LENS]->data)[b], first = first_place(c, p, b);
    if (total > room || n < 1 || n > total || first < 0 || first + p->len > room ||
        (p->half && first + p->len > p->angles))
      return ox_fail(
          OX_INVALID_ARGUMENT,
          "SparseAttention: entry %lld has %lld of %lld keys, %lld of them new; the cache has room for %lld, "
          "the layout for %lld, rotation for %lld",
          (long long)b, (long long)n, (long long)total, (long long)p->len, (long long)p->cache,
          (long long)(p->blocks * p->block), (long long)p->angles);
  }
  for (int64_t i = 0; i < p->layouts * (p->blocks + 1); i++) {
    const int32_t *at = (const int32_t *)c->in[ROWS]->data + i;
    if (at[0] < 0 || at[0] > p->most || (i % (p->blocks + 1) && at[0] < at[-1]))
      return ox_fail(OX_INVALID_ARGUMENT, "SparseAttention: block_row_indices[%lld] is %d", (long long)i, (int)at[0]);
  }
  return NULL;
}

/* Head |h| of token |t| of entry |b| in the query (part 0), key (1) or value (2): bytes. */
static const char *token(const ox_kernel_ctx *c, const sparse_prep *p, int part, int64_t b, int64_t t, int64_t h) {
  int64_t skip[] = {0, p->heads, p->heads + p->kv_heads}, row = p->heads + 2 * p->kv_heads;
  int64_t own = part ? p->kv_heads : p->heads;
  const ox_tensor *from = c->in[p->packed ? Q : part == 0 ? Q : part == 1 ? K : V];
  int64_t at = p->packed ? (b * p->len + t) * row + skip[part] + h : (b * p->len + t) * own + h;
  return (const char *)from->data + (size_t)(at * p->d) * p->item;
}

static void rotate(const ox_kernel_ctx *c, const sparse_prep *p, int64_t place, const char *x, void *y) {
  size_t at = (size_t)(place * p->half) * p->item;
  if (!p->half) {
    memcpy(y, x, (size_t)p->d * p->item);
    return;
  }
  ox_rotary_select(c->isa)->row(c->in[Q]->dtype, x, (const char *)c->in[COS]->data + at,
                                (const char *)c->in[SIN]->data + at, p->half, p->d,
                                ((const sparse_attrs *)c->attrs)->rotary_interleaved != 0, y);
}

/* Writes the cache of one head: the past, then the new tokens. */
static void append(const ox_kernel_ctx *c, const sparse_prep *p, int64_t tile) {
  int64_t b = tile / p->kv_heads, h = tile % p->kv_heads, first = first_place(c, p, b);
  size_t row = (size_t)p->d * p->item, at = (size_t)(tile * p->cache) * row;
  for (uint32_t part = 0; part < 2; part++) {
    char *to = (char *)c->out[PRESENT_K + part]->data + at;
    memcpy(to, (const char *)c->in[PAST_K + part]->data + at, (size_t)p->cache * row);
    for (int64_t t = 0; t < p->len && row; t++) {
      const char *x = token(c, p, (int)part + 1, b, t, h);
      if (part)
        memcpy(to + (size_t)(first + t) * row, x, row);
      else
        rotate(c, p, first + t, x, to + (size_t)(first + t) * row);
    }
  }
}

/* Computes the scores of the keys that a query at |place| attends to; with |weights| instead, the weighted sum of their
 * values. Returns the number of keys. */
static ox_status *each_key(const ox_kernel_ctx *c, const sparse_prep *p, int64_t tile, int64_t place, const float *q,
                           float *scores, float *spare, float *sum, int64_t *out_n) {
  int64_t h = tile % p->heads, layout = h % p->layouts,
          kv = tile / p->heads * p->kv_heads + h / (p->heads / p->kv_heads);
  const int32_t *rows = (const int32_t *)c->in[ROWS]->data + layout * (p->blocks + 1) + place / p->block;
  const int32_t *cols = (const int32_t *)c->in[COLS]->data + layout * p->most;
  const ox_tensor *from = c->out[sum ? PRESENT_V : PRESENT_K];
  const ox_convert *cv = ox_convert_select(c->isa);
  int64_t n = 0;
  for (int32_t i = rows[0]; i < rows[1]; i++) {
    if (cols[i] < 0 || cols[i] >= p->blocks)
      return ox_fail(OX_INVALID_ARGUMENT, "SparseAttention: block_col_indices names block %d of %lld", (int)cols[i],
                     (long long)p->blocks);
    int64_t first = cols[i] * p->block, end = OX_MIN(first + p->block, place + 1);
    if (end - first > place + 1 - n) /* more keys than there is room for scores */
      return ox_fail(OX_INVALID_ARGUMENT, "SparseAttention: row %lld of block_col_indices names a block twice",
                     (long long)(place / p->block));
    for (int64_t k = first; k < end; k++, n++) {
      size_t at = (size_t)((kv * p->cache + k) * p->d);
      const float *x = (const float *)from->data + at;
      if (from->dtype != OX_F32) cv->load_f32[from->dtype](from->data, at, (size_t)p->d, spare), x = spare;
      float dot = 0;
      for (int64_t e = 0; e < p->d && !sum; e++) dot += q[e] * x[e];
      for (int64_t e = 0; e < p->d && sum; e++) sum[e] += scores[n] * x[e];
      if (!sum) scores[n] = dot * p->scale;
    }
  }
  *out_n = n;
  return NULL;
}

/* A query: row |t| of head |tile|. */
static ox_status *attend(const ox_kernel_ctx *c, const sparse_prep *p, int64_t tile, int64_t t, float *scratch) {
  int64_t b = tile / p->heads, h = tile % p->heads, place = first_place(c, p, b) + t, n;
  float *scores = scratch, *q = scores + p->cache, *spare = q + p->d, *sum = spare + p->d;
  rotate(c, p, place, token(c, p, 0, b, t, h), sum);
  ox_convert_select(c->isa)->load_f32[c->in[Q]->dtype](sum, 0, (size_t)p->d, q);
  OX_TRY(each_key(c, p, tile, place, q, scores, spare, NULL, &n));
  memset(sum, 0, (size_t)p->d * sizeof *sum);
  if (n) ox_softmax_select(c->isa)->row(scores, scores, (size_t)n);
  OX_TRY(each_key(c, p, tile, place, q, scores, spare, sum, &n));
  ox_convert_select(c->isa)->store_f32[c->out[OUT]->dtype](
      sum, c->out[OUT]->data, (size_t)(((b * p->len + t) * p->heads + h) * p->d), (size_t)p->d, NULL);
  return NULL;
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  const sparse_prep *p = c->prep;
  if (stage == 0) return check_lengths(c, p);
  for (int64_t i = tiles.begin; i < tiles.end; i++)
    if (stage == 1)
      append(c, p, i);
    else if (c->out[OUT])
      OX_TRY(attend(c, p, i / p->len, i % p->len, scratch));
  return NULL;
}

#define FLOATS (OX_BIT(OX_F32) | OX_T_FLOAT16S)
#define I32 OX_BIT(OX_I32)
static const uint32_t more[] = {I32, FLOATS, FLOATS};
static const ox_op ops[] = {
    {OX_SCHEMA(.name = "SparseAttention", .domain = "com.microsoft", .since = 1,
               .types = {FLOATS, FLOATS, FLOATS, FLOATS, FLOATS, I32, I32, I32}, .more_types = more,
               .vars = "TTTTT....TT", .min_in = 1, .max_in = 11, .min_out = 3, .max_out = 3, OX_ATTRS(table),
               .attrs_bytes = sizeof(sparse_attrs), .infer = infer),
     OX_KERNEL(.prepare = prepare, .run = run)},
};
const ox_op_set ox_ops_sparse_attention = {ops, OX_COUNT(ops)};

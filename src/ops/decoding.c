/* SPDX-License-Identifier: Apache-2.0
 * ops/decoding.c - com.microsoft's helpers of text decoding: NGramRepeatBlock, BifurcationDetector, DynamicTimeWarping.
 */
#include <math.h>
#include <string.h>

#include "ops/move/deferred.h"

#define IGNORE_TILES (void)stage, (void)tiles, (void)scratch

/* ---- NGramRepeatBlock ---- */

typedef struct {
  int64_t ngram_size;
} ngram_attrs;
static const ox_attr_def ngram_attr_defs[] = {OX_ATTR_INT_REQUIRED_IN(ngram_attrs, ngram_size, 1, OX_COUNT_MAX)};

static ox_status *ngram_infer(ox_infer_ctx *c) {
  if (!ox_infer_has(c, 0) || !ox_infer_has(c, 1)) return NULL;
  const ox_shape *ids = &c->in[0]->shape, *scores = &c->in[1]->shape;
  if ((ids->rank >= 0 && ids->rank != 2) || (scores->rank >= 0 && scores->rank != 2) ||
      (ids->rank == 2 && scores->rank == 2 && ids->dim[0] >= 0 && scores->dim[0] >= 0 && ids->dim[0] != scores->dim[0]))
    return ox_fail(OX_SHAPE_MISMATCH,
                   "NGramRepeatBlock: wanted input_ids [batch,length] and scores [batch,vocabulary]");
  ox_infer_out(c, 0, c->in[1]->dtype, scores);
  return NULL;
}

static ox_status *ngram_prepare(ox_kernel_ctx *c) { return ox_ctx_plan(c, c->in[0]->shape.dim[0], 0); }

static ox_status *ngram_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  const ngram_attrs *a = c->attrs;
  int64_t length = c->in[0]->shape.dim[1], words = c->in[1]->shape.dim[1], n = a->ngram_size;
  for (int64_t b = tiles.begin; b < tiles.end; b++) {
    const int64_t *ids = (const int64_t *)c->in[0]->data + b * length;
    const int64_t *tail = n <= length ? ids + (length - n + 1) : ids;
    const float *in = (const float *)c->in[1]->data + b * words;
    float *out = (float *)c->out[0]->data + b * words;
    if (in != out && words) memcpy(out, in, (size_t)words * sizeof *out);
    for (int64_t i = 0; i + n <= length; i++) {
      if (n > 1 && memcmp(ids + i, tail, (size_t)(n - 1) * sizeof *ids) != 0) continue;
      int64_t token = ids[i + n - 1];
      if (token < 0 || token >= words)
        return ox_fail(OX_INVALID_ARGUMENT, "NGramRepeatBlock: token %lld, vocabulary of %lld", (long long)token,
                       (long long)words);
      out[token] = -INFINITY;
    }
  }
  return NULL;
}

/* ---- BifurcationDetector ---- */

typedef struct {
  int64_t min_ngram_size, max_ngram_size;
} bifurcation_attrs;
static const ox_attr_def bifurcation_attr_defs[] = {
    OX_ATTR_INT_IN(bifurcation_attrs, min_ngram_size, 1, 1, OX_COUNT_MAX),
    OX_ATTR_INT_IN(bifurcation_attrs, max_ngram_size, 3, 1, OX_COUNT_MAX)};

static ox_status *bifurcation_infer(ox_infer_ctx *c) {
  const bifurcation_attrs *a = c->attrs;
  ox_shape list = {.rank = 1, .dim = {-1}}, scalar = ox_shape_scalar();
  if (a->max_ngram_size < a->min_ngram_size)
    return ox_fail(OX_INVALID_MODEL, "BifurcationDetector: n-grams of %lld to %lld", (long long)a->min_ngram_size,
                   (long long)a->max_ngram_size);
  for (uint32_t i = 0; i < c->n_in; i++)
    if (i != 2 && c->in[i] && c->in[i]->shape.rank >= 0 && c->in[i]->shape.rank != 1)
      return ox_fail(OX_SHAPE_MISMATCH, "BifurcationDetector: input %u has rank %d, wanted 1", i, c->in[i]->shape.rank);
  ox_infer_out(c, 0, OX_I64, &list);
  ox_infer_out(c, 1, OX_I64, &scalar);
  return NULL;
}

/* The first place from |from| on where |n| tokens at |what| appear in |src|; -1: none. */
static int64_t find_gram(const int64_t *src, int64_t len, const int64_t *what, int64_t n, int64_t from) {
  for (int64_t i = from; i + n <= len; i++)
    if (memcmp(src + i, what, (size_t)n * sizeof *src) == 0) return i;
  return -1;
}

static ox_status *bifurcation_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  IGNORE_TILES;
  const bifurcation_attrs *a = c->attrs;
  const int64_t *src = c->in[0]->data;
  int64_t n_src = c->in[0]->shape.dim[0], n_cur = c->in[1]->shape.dim[0], taken = 0, suffix = -1;
  ox_shape s = {.rank = 1};
  void *data;
  if (ox_ctx_has(c, 3)) {
    if (ox_shape_count(&c->in[2]->shape) != 1)
      return ox_fail(OX_SHAPE_MISMATCH, "BifurcationDetector: input 2 is no scalar");
    const int64_t *pred = c->in[3]->data;
    int64_t prev = ox_int_at(c->in[2], 0), n_pred = c->in[3]->shape.dim[0];
    if (prev < 0 || prev > n_src || n_pred != n_src + 1 - prev)
      return ox_fail(OX_INVALID_ARGUMENT,
                     "BifurcationDetector: suffix index %lld, %lld source and %lld predicted tokens", (long long)prev,
                     (long long)n_src, (long long)n_pred);
    while (taken < n_src - prev && pred[taken] == src[prev + taken]) taken++;
    taken++;
  }
  s.dim[0] = n_cur + taken;
  OX_TRY(ox_output_at_run(c, 0, &s, &data));
  int64_t *out = data;
  if (n_cur) memcpy(out, c->in[1]->data, (size_t)n_cur * sizeof *out);
  if (taken) memcpy(out + n_cur, c->in[3]->data, (size_t)taken * sizeof *out);
  for (int64_t n = a->min_ngram_size; n <= a->max_ngram_size && n <= s.dim[0]; n++) {
    int64_t at = find_gram(src, n_src, out + s.dim[0] - n, n, 0);
    if (at < 0) break;
    suffix = at + n;
    if (suffix >= n_src || find_gram(src, n_src, out + s.dim[0] - n, n, at + 1) < 0) break;
    suffix = -1;
  }
  if (ox_ctx_wants(c, 1)) *(int64_t *)c->out[1]->data = suffix;
  return NULL;
}

/* ---- DynamicTimeWarping ---- */

static ox_status *warp_infer(ox_infer_ctx *c) {
  ox_shape s = {.rank = 2, .dim = {2, -1}};
  const ox_shape *in = ox_infer_has(c, 0) ? &c->in[0]->shape : NULL;
  if (in && in->rank >= 0 && !(in->rank == 2 || (in->rank == 3 && (in->dim[0] == 1 || in->dim[0] < 0)))) {
    char t[OX_SHAPE_TEXT];
    return ox_fail(OX_SHAPE_MISMATCH, "DynamicTimeWarping: input has shape %s, wanted [M,N]", ox_shape_text(in, t));
  }
  ox_infer_out(c, 0, OX_I32, &s);
  return NULL;
}

static ox_status *warp_prepare(ox_kernel_ctx *c) { /* two rows of costs, all moves, the path */
  const ox_shape *s = &c->in[0]->shape;
  size_t m = (size_t)s->dim[s->rank - 2] + 1, n = (size_t)s->dim[s->rank - 1] + 1;
  c->shared_bytes = 2 * n * sizeof(float) + m * n + 2 * (m + n) * sizeof(int32_t);
  return NULL;
}

enum { DIAGONAL, UP, LEFT };

/* Cheapest way to every point; |moves| has m + 1 rows of n + 1. */
static void warp_costs(const float *cost, int64_t m, int64_t n, float *rows, unsigned char *moves) {
  float *above = rows, *here = rows + n + 1;
  for (int64_t j = 0; j <= n; j++) above[j] = j ? INFINITY : 0, moves[j] = LEFT;
  for (int64_t i = 1; i <= m; i++) {
    here[0] = INFINITY, moves[i * (n + 1)] = UP;
    for (int64_t j = 1; j <= n; j++) {
      float d = above[j - 1], u = above[j], l = here[j - 1];
      int move = d < u && d < l ? DIAGONAL : u < d && u < l ? UP : LEFT;
      moves[i * (n + 1) + j] = (unsigned char)move;
      here[j] = cost[(i - 1) * n + j - 1] + (move == DIAGONAL ? d : move == UP ? u : l);
    }
    float *swap = above;
    above = here, here = swap;
  }
}

static ox_status *warp_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  IGNORE_TILES;
  const ox_shape *in = &c->in[0]->shape;
  int64_t m = in->dim[in->rank - 2], n = in->dim[in->rank - 1], len = 0;
  float *rows = c->shared;
  int32_t *path = (int32_t *)(void *)(rows + 2 * (n + 1));
  unsigned char *moves = (unsigned char *)(path + 2 * (m + n + 2));
  warp_costs(c->in[0]->data, m, n, rows, moves);
  for (int64_t i = m, j = n; m && n && (i > 0 || j > 0); len++) {
    path[2 * len] = (int32_t)(i - 1), path[2 * len + 1] = (int32_t)(j - 1);
    int move = moves[i * (n + 1) + j];
    i -= move != LEFT, j -= move != UP;
  }
  ox_shape s = {.rank = 2, .dim = {2, len}};
  void *out;
  OX_TRY(ox_output_at_run(c, 0, &s, &out));
  for (int64_t t = 0; t < len; t++)
    for (int k = 0; k < 2; k++) ((int32_t *)out)[k * len + t] = path[2 * (len - 1 - t) + k];
  return NULL;
}

#define MS .domain = "com.microsoft", .since = 1

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "NGramRepeatBlock", MS, .types = {OX_BIT(OX_I64), OX_BIT(OX_F32)}, .min_in = 2, .max_in = 2,
               OX_ATTRS(ngram_attr_defs), .attrs_bytes = sizeof(ngram_attrs), .infer = ngram_infer),
     OX_KERNEL(.prepare = ngram_prepare, .run = ngram_run)},
    {OX_SCHEMA(.name = "BifurcationDetector", MS, .types = {OX_BIT(OX_I64)}, .min_in = 3, .max_in = 4, .min_out = 1,
               .max_out = 2, OX_ATTRS(bifurcation_attr_defs), .attrs_bytes = sizeof(bifurcation_attrs),
               .infer = bifurcation_infer),
     OX_KERNEL(.run = bifurcation_run)},
    {OX_SCHEMA(.name = "DynamicTimeWarping", MS, .types = {OX_BIT(OX_F32)}, .min_in = 1, .max_in = 1,
               .infer = warp_infer),
     OX_KERNEL(.prepare = warp_prepare, .run = warp_run)},
};
const ox_op_set ox_ops_decoding = {ops, OX_COUNT(ops)};

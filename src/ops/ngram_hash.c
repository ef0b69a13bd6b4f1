/* SPDX-License-Identifier: Apache-2.0
 * ops/ngram_hash.c - com.microsoft's NGramHashMapping and VarlenNGramHashMapping: each token and those before it, times
 * one multiplier per distance and combined by exclusive or, modulo the vocabulary of each hash head. */
#include <string.h>

#include "base/cksize.h"
#include "ops/shared/check.h"

typedef struct hash_attrs {
  int64_t max_ngram_size, n_head_per_ngram, pad_id, reset_on_eos, state_update_capacity;
} hash_attrs;
#define COMMON_ROWS                                                           \
  OX_ATTR_INT_REQUIRED_IN(hash_attrs, max_ngram_size, 2, OX_COUNT_MAX),       \
      OX_ATTR_INT_REQUIRED_IN(hash_attrs, n_head_per_ngram, 1, OX_COUNT_MAX), \
      OX_ATTR_INT_REQUIRED(hash_attrs, pad_id), OX_ATTR_INT(hash_attrs, reset_on_eos, 0)
static const ox_attr_def batch_rows[] = {COMMON_ROWS};
static const ox_attr_def varlen_rows[] = {COMMON_ROWS, OX_ATTR_INT_IN(hash_attrs, state_update_capacity, 0, 0, 8)};

/* Indices of inputs; 0: the operator has no such input. */
enum { IDS, MULTIPLIERS, VOCABULARIES };
typedef struct places {
  uint8_t offsets_of_requests, past, head_offsets, eos, segments, past_segments, capture;
} places;
static const places batch_in = {0, 3, 4, 5, 6, 0, 0}, varlen_in = {3, 4, 5, 6, 7, 8, 9};
enum { HASHES, PRESENT, PRESENT_SEGMENTS, UPDATES };

/* ---- shapes ---- */

/* What both forms have in common. |batch|: how many sequences, -1 if not known. */
static ox_status *infer_common(ox_infer_ctx *c, const places *in, int64_t batch, const ox_shape *tokens) {
  const hash_attrs *a = c->attrs;
  int64_t history = a->max_ngram_size - 1, heads = history * a->n_head_per_ngram;
  uint32_t dtype = ox_infer_dtype_of(c, IDS, VOCABULARIES);
  OX_TRY(ox_infer_shape_is(c, MULTIPLIERS, 1, (int64_t[]){-1}));
  int64_t multipliers = ox_infer_dim(c, MULTIPLIERS, 0);
  if (multipliers >= 0 && multipliers < a->max_ngram_size)
    return ox_fail(OX_SHAPE_MISMATCH, "%s: %lld multipliers for n-grams of up to %lld", c->op, (long long)multipliers,
                   (long long)a->max_ngram_size);
  OX_TRY(ox_infer_shape_is(c, VOCABULARIES, 1, &heads));
  OX_TRY(ox_infer_shape_is(c, in->past, 2, (int64_t[]){batch, history}));
  OX_TRY(ox_infer_shape_is(c, in->head_offsets, 1, &heads));
  OX_TRY(ox_infer_shape_is(c, in->eos, 0, NULL));
  if (tokens->rank >= 0) OX_TRY(ox_infer_shape_is(c, in->segments, tokens->rank, tokens->dim));
  ox_shape y = *tokens, present = ox_shape_of(2, (int64_t[]){batch, history});
  if (y.rank >= 0) y.dim[y.rank++] = heads;
  ox_infer_out(c, HASHES, dtype, &y);
  ox_infer_out(c, PRESENT, dtype, &present);
  return NULL;
}

static ox_status *batch_infer(ox_infer_ctx *c) {
  OX_TRY(ox_infer_shape_is(c, IDS, 2, (int64_t[]){-1, -1}));
  return infer_common(c, &batch_in, ox_infer_dim(c, IDS, 0), &c->in[IDS]->shape);
}

static ox_status *varlen_infer(ox_infer_ctx *c) {
  const hash_attrs *a = c->attrs;
  const places *in = &varlen_in;
  OX_TRY(ox_infer_shape_is(c, IDS, 1, (int64_t[]){-1}));
  OX_TRY(ox_infer_shape_is(c, in->offsets_of_requests, 1, (int64_t[]){-1}));
  int64_t offsets = ox_infer_dim(c, in->offsets_of_requests, 0), batch = offsets < 0 ? -1 : offsets - 1;
  if (offsets == 0) return ox_fail(OX_SHAPE_MISMATCH, "%s: cumulative_sequence_length is empty", c->op);
  OX_TRY(infer_common(c, in, batch, &c->in[IDS]->shape));
  OX_TRY(ox_infer_shape_is(c, in->past_segments, 2, (int64_t[]){batch, a->max_ngram_size - 1}));
  OX_TRY(ox_infer_shape_is(c, in->capture, 1, &batch));
  if (ox_infer_has(c, in->capture) != (a->state_update_capacity > 0))
    return ox_fail(OX_INVALID_MODEL, "%s: capture_count goes with a state_update_capacity above 0", c->op);
  ox_shape present = ox_shape_of(2, (int64_t[]){batch, a->max_ngram_size - 1});
  ox_shape updates = ox_shape_of(3, (int64_t[]){batch, a->state_update_capacity, a->max_ngram_size - 1});
  ox_infer_out(c, PRESENT_SEGMENTS, OX_I32, &present);
  ox_infer_out(c, UPDATES, c->in[IDS]->dtype, &updates);
  return NULL;
}

/* ---- one sequence ---- */

/* A sequence with its history: token i < 0 is one of |past|, right-aligned. */
typedef struct sequence {
  const ox_kernel_ctx *c;
  const places *in;
  uint32_t dtype;
  int64_t batch, first, n, history; /* tokens [first, first + n) of all */
  int64_t fill, eos;                /* used for missing tokens */
  bool resets;                      /* at eos */
} sequence;

static int64_t id_at(uint32_t dtype, const void *p, int64_t i) {
  return dtype == OX_I32 ? ((const int32_t *)p)[i] : ((const int64_t *)p)[i];
}

static void put_id(uint32_t dtype, void *p, int64_t i, int64_t v) {
  if (dtype == OX_I32)
    ((int32_t *)p)[i] = (int32_t)v;
  else
    ((int64_t *)p)[i] = v;
}

static int64_t token(const sequence *s, int64_t i) {
  if (i >= 0) return id_at(s->dtype, s->c->in[IDS]->data, s->first + i);
  if (!ox_ctx_has(s->c, s->in->past)) return s->fill;
  return id_at(s->dtype, s->c->in[s->in->past]->data, (s->batch + 1) * s->history + i);
}

/* Token |i| begins a segment: it differs from the one before it. */
static bool begins_segment(const sequence *s, int64_t i) {
  const ox_kernel_ctx *c = s->c;
  if (!ox_ctx_has(c, s->in->segments)) return false;
  const int32_t *here = (const int32_t *)c->in[s->in->segments]->data + s->first, *past = NULL;
  if (i > 0) return here[i] != here[i - 1];
  if (!s->in->past_segments || !ox_ctx_has(c, s->in->past_segments)) return false;
  past = (const int32_t *)c->in[s->in->past_segments]->data + (s->batch + 1) * s->history;
  return i == 0 ? here[0] != past[-1] : i > -s->history && past[i] != past[i - 1];
}

/* The hashes of token |t|: |out| gets those of 2-grams first. */
static ox_status *hash_token(const sequence *s, const hash_attrs *a, int64_t t, int64_t out) {
  const ox_kernel_ctx *c = s->c;
  uint64_t mix = (uint64_t)token(s, t) * (uint64_t)id_at(s->dtype, c->in[MULTIPLIERS]->data, 0);
  bool open = true; /* the history has not been ended by a segment or eos */
  for (int64_t back = 1, head = 0; back < a->max_ngram_size; back++) {
    int64_t id = token(s, t - back);
    if (begins_segment(s, t - back + 1) || (s->resets && id == s->eos)) open = false;
    mix ^= (uint64_t)(open ? id : s->fill) * (uint64_t)id_at(s->dtype, c->in[MULTIPLIERS]->data, back);
    int64_t number = s->dtype == OX_I32 ? (int32_t)(uint32_t)mix : (int64_t)mix;
    for (int64_t k = 0; k < a->n_head_per_ngram; k++, head++) {
      int64_t words = id_at(s->dtype, c->in[VOCABULARIES]->data, head);
      if (words <= 0)
        return ox_fail(OX_INVALID_ARGUMENT, "vocab_sizes[%lld] is %lld", (long long)head, (long long)words);
      int64_t h = number % words;
      if (h < 0) h += words;
      if (ox_ctx_has(c, s->in->head_offsets))
        h = (int64_t)((uint64_t)h + (uint64_t)id_at(s->dtype, c->in[s->in->head_offsets]->data, head));
      put_id(s->dtype, c->out[HASHES]->data, out + head, h);
    }
  }
  return NULL;
}

/* The history after |n| tokens, into elements [at, at + history) of output |o|. */
static void put_history(const sequence *s, uint32_t o, int64_t n, int64_t at) {
  for (int64_t i = 0; i < s->history; i++) put_id(s->dtype, s->c->out[o]->data, at + i, token(s, n - s->history + i));
}

static void put_segments(const sequence *s) {
  const ox_kernel_ctx *c = s->c;
  const int32_t *here = (const int32_t *)c->in[s->in->segments]->data + s->first;
  int32_t *out = (int32_t *)c->out[PRESENT_SEGMENTS]->data + s->batch * s->history;
  for (int64_t i = 0; i < s->history; i++) {
    int64_t from = s->n - s->history + i;
    out[i] = from >= 0 ? here[from] : here[0];
    if (from < 0 && ox_ctx_has(c, s->in->past_segments))
      out[i] = ((const int32_t *)c->in[s->in->past_segments]->data)[(s->batch + 1) * s->history + from];
  }
}

static ox_status *one_sequence(const ox_kernel_ctx *c, const places *in, int64_t batch, int64_t first, int64_t n) {
  const hash_attrs *a = c->attrs;
  bool has_eos = ox_ctx_has(c, in->eos);
  sequence s = {.c = c, .in = in, .dtype = c->in[IDS]->dtype, .batch = batch, .first = first, .n = n};
  s.history = a->max_ngram_size - 1, s.resets = has_eos && a->reset_on_eos != 0;
  s.eos = has_eos ? id_at(s.dtype, c->in[in->eos]->data, 0) : 0, s.fill = has_eos ? s.eos : a->pad_id;
  for (int64_t t = 0; t < n && c->out[HASHES]; t++)
    OX_TRY(hash_token(&s, a, t, (first + t) * s.history * a->n_head_per_ngram));
  if (ox_ctx_wants(c, PRESENT)) put_history(&s, PRESENT, n, batch * s.history);
  if (ox_ctx_wants(c, PRESENT_SEGMENTS)) put_segments(&s);
  if (!ox_ctx_wants(c, UPDATES)) return NULL;
  int64_t room = a->state_update_capacity, at = batch * room * s.history;
  int64_t count = room ? OX_MIN(OX_MIN(((const int32_t *)c->in[in->capture]->data)[batch], room), n) : 0;
  for (int64_t i = 0; i < count; i++) put_history(&s, UPDATES, i + 1, at + i * s.history);
  for (int64_t i = OX_MAX(count, 0) * s.history; i < room * s.history; i++)
    put_id(s.dtype, c->out[UPDATES]->data, at + i, a->pad_id);
  return NULL;
}

/* ---- run: a tile is a sequence ---- */

static ox_status *batch_prepare(ox_kernel_ctx *c) { return ox_ctx_plan(c, c->in[IDS]->shape.dim[0], 0); }

static ox_status *batch_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  int64_t n = c->in[IDS]->shape.dim[1];
  for (int64_t b = tiles.begin; b < tiles.end; b++) OX_TRY(one_sequence(c, &batch_in, b, b * n, n));
  return NULL;
}

static ox_status *varlen_prepare(ox_kernel_ctx *c) {
  if (ox_ctx_wants(c, PRESENT_SEGMENTS) && !ox_ctx_has(c, varlen_in.segments))
    return ox_fail(OX_INVALID_MODEL, "output present_segment_ids needs input segment_ids");
  return ox_ctx_plan(c, c->in[varlen_in.offsets_of_requests]->shape.dim[0] - 1, 0);
}

static ox_status *varlen_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  const int32_t *at = c->in[varlen_in.offsets_of_requests]->data;
  int64_t total = c->in[IDS]->shape.dim[0], batch = c->in[varlen_in.offsets_of_requests]->shape.dim[0] - 1;
  for (int64_t b = tiles.begin; b < tiles.end; b++) {
    if (at[b] < 0 || at[b] >= at[b + 1] || at[b + 1] > total || (b == 0 && at[b] != 0) ||
        (b == batch - 1 && at[b + 1] != total))
      return ox_fail(OX_INVALID_ARGUMENT, "cumulative_sequence_length: request %lld is [%d, %d) of %lld tokens",
                     (long long)b, (int)at[b], (int)at[b + 1], (long long)total);
    OX_TRY(one_sequence(c, &varlen_in, b, at[b], at[b + 1] - at[b]));
  }
  return NULL;
}

#define I32 OX_BIT(OX_I32)
static const ox_op ops[] = {
    {OX_SCHEMA(.name = "NGramHashMapping", .domain = "com.microsoft", .since = 1,
               .types = {OX_T_INDEX, OX_T_INDEX, OX_T_INDEX, OX_T_INDEX, OX_T_INDEX, OX_T_INDEX, I32}, .vars = "TTTTTT",
               .min_in = 3, .max_in = 7, .min_out = 1, .max_out = 2, OX_ATTRS(batch_rows),
               .attrs_bytes = sizeof(hash_attrs), .infer = batch_infer),
     OX_KERNEL(.prepare = batch_prepare, .run = batch_run)},
    {OX_SCHEMA(.name = "VarlenNGramHashMapping", .domain = "com.microsoft", .since = 1,
               .types = {OX_T_INDEX, OX_T_INDEX, OX_T_INDEX, I32, OX_T_INDEX, OX_T_INDEX, OX_T_INDEX, I32},
               .vars = "TTT.TTT", .min_in = 4, .max_in = 10, .min_out = 1, .max_out = 4, OX_ATTRS(varlen_rows),
               .attrs_bytes = sizeof(hash_attrs), .infer = varlen_infer),
     OX_KERNEL(.prepare = varlen_prepare, .run = varlen_run)},
};
const ox_op_set ox_ops_ngram_hash = {ops, OX_COUNT(ops)};

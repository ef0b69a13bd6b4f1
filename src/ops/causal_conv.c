/* SPDX-License-Identifier: Apache-2.0
 * ops/causal_conv.c - CausalConvWithState: a depthwise 1-D convolution over the past state and the new input, whose
 * last positions are the new state. com.microsoft's form has dilations, channels-last layout, states of several
 * positions, and one or two axes before the causal one, which are padded to keep their size, as by SAME_UPPER of
 * Conv. */
#include <string.h>

#include "kern/act.h"
#include "ops/shared/as_real.h"
#include "ops/shared/check.h"

enum { X, W, B, PAST, CHANNELS = 16 /* a block, channels last */ };
typedef struct causal_attrs {
  const char *activation;
  int64_t dilation, channels_last, state_window, ndim; /* of com.microsoft only */
} causal_attrs;
static const ox_attr_def attr_rows[] = {OX_ATTR_STR(causal_attrs, activation, "none")};
static const ox_attr_def ms_rows[] = {
    OX_ATTR_STR(causal_attrs, activation, "none"), OX_ATTR_INT_IN(causal_attrs, dilation, 1, 1, OX_COUNT_MAX),
    OX_ATTR_INT(causal_attrs, channels_last, 0),   OX_ATTR_INT_IN(causal_attrs, state_window, 0, 0, 8),
    OX_ATTR_INT_IN(causal_attrs, ndim, 1, 1, 3),
};

typedef struct causal_prep {
  ox_act act;
  int64_t batch, channels, len, k, dilation, state, window; /* state: (k - 1) dilation; window: slots, at least 1 */
  int64_t rows, per_tile;                                   /* of channels; channels last: blocks of them */
  bool last;
  int64_t lead, dim[2], kernel[2]; /* causal rows of a channel, the axes in front and the taps along them */
} causal_prep;

/* ---- shapes ---- */

/* The standard's operator has one axis and no attribute for it. */
static int axes_of(const causal_attrs *a) { return a->ndim ? (int)a->ndim : 1; }

/* (k - 1) dilation; -1: not known or too long */
static int64_t state_length(const causal_attrs *a, const ox_shape *w) {
  int64_t n, k = w->rank == 2 + axes_of(a) ? w->dim[w->rank - 1] : 0;
  if (k < 1) return -1;
  return ox_mul_i64_ok(k - 1, OX_MAX(a->dilation, 1), &n) ? n : -1;
}

/* A slot of the state is as the input, with |state| positions; several slots lie along a dimension in front. */
static ox_status *state_shape(const causal_attrs *a, const ox_shape *x, int64_t state, ox_shape *out) {
  int front = a->state_window > 0;
  if (x->rank + front > OX_MAX_RANK) return ox_fail(OX_LIMIT, "input has rank %d", x->rank);
  out->rank = x->rank + front, out->dim[0] = a->state_window;
  for (int d = 0; d < x->rank; d++) out->dim[d + front] = x->dim[d];
  out->dim[front + (a->channels_last ? 1 : 1 + axes_of(a))] = state;
  return NULL;
}

static ox_status *check_inputs(const ox_infer_ctx *c, const ox_shape *x, const ox_shape *w) {
  const causal_attrs *a = c->attrs;
  bool last = a->channels_last != 0;
  int rank = 2 + axes_of(a);
  if (last && rank != 3) return ox_fail(OX_INVALID_MODEL, "channels_last with ndim %lld", (long long)a->ndim);
  if (x->rank >= 0 && (last ? x->rank < 3 : x->rank != rank))
    return ox_fail(OX_INVALID_MODEL, "input has rank %d, wanted %d", x->rank, rank);
  if (w->rank >= 0 && w->rank != rank) return ox_fail(OX_INVALID_MODEL, "weight has rank %d, wanted %d", w->rank, rank);
  bool taps = true;
  for (int d = 2; d < w->rank; d++) taps = taps && w->dim[d] != 0;
  if (w->rank == rank && ((w->dim[1] >= 0 && w->dim[1] != 1) || !taps))
    return ox_fail(OX_SHAPE_MISMATCH, "weight must be [channels, 1, k] with as many k as axes");
  int64_t channels = x->rank < 0 ? -1 : last ? ox_shape_span(x, 2, x->rank) : x->dim[1];
  if (w->rank == rank && w->dim[0] >= 0 && channels >= 0 && w->dim[0] != channels)
    return ox_fail(OX_SHAPE_MISMATCH, "weight has %lld channels, input %lld", (long long)w->dim[0],
                   (long long)channels);
  if (ox_infer_has(c, B)) {
    int64_t n = ox_shape_count(&c->in[B]->shape);
    if (n >= 0 && channels >= 0 && n != channels)
      return ox_fail(OX_SHAPE_MISMATCH, "bias has %lld elements for %lld channels", (long long)n, (long long)channels);
  }
  return NULL;
}

static ox_status *infer(ox_infer_ctx *c) {
  const causal_attrs *a = c->attrs;
  const ox_shape *x = &c->in[X]->shape, *w = &c->in[W]->shape;
  uint32_t dtype = ox_infer_dtype_of(c, X, PAST);
  OX_TRY(check_inputs(c, x, w));
  ox_shape state = ox_shape_unknown();
  if (x->rank >= 0) {
    OX_TRY(state_shape(a, x, state_length(a, w), &state));
    OX_TRY(ox_infer_shape_is(c, PAST, state.rank, state.dim));
  }
  ox_infer_out(c, 0, dtype, x);
  ox_infer_out(c, 1, dtype, &state);
  return NULL;
}

/* ---- prepare ---- */

static ox_status *prepare(ox_kernel_ctx *c) {
  const causal_attrs *a = c->attrs;
  const ox_shape *x = &c->in[X]->shape, *w = &c->in[W]->shape;
  causal_prep *p = c->prep = ox_ctx_alloc(c, sizeof *p);
  if (!p) return ox_oom();
  const char *name = a->activation && strcmp(a->activation, "none") != 0 ? a->activation : "";
  if (!ox_act_parse(name, NULL, 0, &p->act)) return ox_fail(OX_INVALID_MODEL, "unknown activation \"%.40s\"", name);
  p->last = a->channels_last != 0;
  p->batch = x->dim[0], p->channels = w->dim[0], p->len = x->dim[p->last ? 1 : x->rank - 1];
  p->lead = 1;
  for (int i = 0, from = axes_of(a) - 1; i < 2; i++) { /* missing axes have size 1 */
    p->dim[i] = i + from < 2 ? 1 : x->dim[i + from], p->kernel[i] = i + from < 2 ? 1 : w->dim[i + from];
    p->lead *= p->dim[i];
  }
  p->k = w->dim[w->rank - 1], p->dilation = OX_MAX(a->dilation, 1), p->state = state_length(a, w);
  p->window = OX_MAX(a->state_window, 1);
  p->rows = p->batch * (p->last ? OX_CEIL_DIV(p->channels, CHANNELS) : p->channels * p->lead);
  p->per_tile = OX_MAX(8192 / OX_MAX(p->len * p->k * p->kernel[0] * p->kernel[1], 1), 1);
  size_t floats;
  /* the padded input, the taps, the results */
  if (p->state < 0 || !ox_add_ok((size_t)p->len * 2, (size_t)(p->state + p->k), &floats) ||
      !ox_mul_ok(floats, sizeof(float) * (p->last ? CHANNELS : 1), &floats))
    return ox_fail(OX_LIMIT, "too long");
  return ox_ctx_plan(c, OX_CEIL_DIV(p->rows, p->per_tile), floats);
}

/* ---- run ---- */

/* The position in the padded input at which slot |slot| of the new state begins: the slot ends with position len -
 * window + slot. -1: this run has no such position, and the slot is zeros. */
static int64_t slot_start(const causal_prep *p, int64_t slot) {
  int64_t from = p->len - p->window + slot + 1;
  return from > 0 || slot == p->window - 1 ? from : -1;
}

/* Zeros are zero bytes in every type. */
static void store_zeros(const ox_tensor *t, int64_t at, int64_t n) {
  size_t item = ox_dtype_bits(t->dtype) / 8;
  memset((char *)t->data + (size_t)at * item, 0, (size_t)n * item);
}

static void activate(const causal_prep *p, float *y, int64_t n) {
  for (int64_t i = 0; i < n && p->act.kind != OX_ACT_NONE; i++) y[i] = (float)ox_act_f64(p->act, (double)y[i]);
}

static size_t slot_items(const causal_prep *p) { return (size_t)(p->batch * p->channels * p->lead * p->state); }

/* Loads row |row| with the past before it. */
static void load_row(const ox_kernel_ctx *c, const causal_prep *p, int64_t row, float *padded) {
  const ox_convert *cv = ox_convert_select(c->isa);
  uint32_t t = c->in[X]->dtype;
  size_t len = (size_t)p->len, state = (size_t)p->state;
  size_t past = slot_items(p) * (size_t)(p->window - 1) + (size_t)row * state;
  if (ox_ctx_has(c, PAST))
    cv->load_f32[t](c->in[PAST]->data, past, state, padded);
  else
    memset(padded, 0, state * sizeof(float));
  cv->load_f32[t](c->in[X]->data, (size_t)row * len, len, padded + state);
}

/* y += the taps |tap| of channel |ch| over |padded| */
static void add_taps(const ox_kernel_ctx *c, const causal_prep *p, int64_t tap, const float *padded, float *w,
                     float *y) {
  size_t k = (size_t)p->k;
  ox_convert_select(c->isa)->load_f32[c->in[W]->dtype](c->in[W]->data, (size_t)tap * k, k, w);
  for (size_t i = 0; i < (size_t)p->len; i++)
    for (size_t j = 0; j < k; j++) y[i] += w[j] * padded[i + j * (size_t)p->dilation];
}

/* Row |row|: all positions along the causal axis, one after the other. |padded| has it loaded at the end. */
static void convolve_row(const ox_kernel_ctx *c, const causal_prep *p, int64_t row, float *padded, float *w, float *y) {
  int64_t at = row % p->lead, ch = row / p->lead % p->channels, taps = p->kernel[0] * p->kernel[1];
  for (int64_t t = 0; t < taps && taps > 1; t++) {
    int64_t k0 = t / p->kernel[1], k1 = t % p->kernel[1];
    int64_t d0 = at / p->dim[1] + k0 - (p->kernel[0] - 1) / 2, d1 = at % p->dim[1] + k1 - (p->kernel[1] - 1) / 2;
    if (d0 < 0 || d0 >= p->dim[0] || d1 < 0 || d1 >= p->dim[1]) continue;
    load_row(c, p, row - at + d0 * p->dim[1] + d1, padded);
    add_taps(c, p, ch * taps + t, padded, w, y);
  }
  load_row(c, p, row, padded);
  if (taps == 1) add_taps(c, p, ch, padded, w, y);
}

static void one_row(const ox_kernel_ctx *c, const causal_prep *p, int64_t row, float *padded) {
  const ox_convert *cv = ox_convert_select(c->isa);
  uint32_t t = c->in[X]->dtype;
  size_t len = (size_t)p->len, state = (size_t)p->state;
  float *w = padded + state + len, *y = w + p->k, bias = 0;
  if (ox_ctx_has(c, B)) cv->load_f32[t](c->in[B]->data, (size_t)(row / p->lead % p->channels), 1, &bias);
  for (size_t i = 0; i < len; i++) y[i] = bias;
  convolve_row(c, p, row, padded, w, y);
  activate(p, y, p->len);
  if (c->out[0]) cv->store_f32[t](y, c->out[0]->data, (size_t)row * len, len, NULL);
  for (int64_t s = 0; s < p->window && ox_ctx_wants(c, 1); s++) {
    int64_t from = slot_start(p, s), to = s * (int64_t)slot_items(p) + row * p->state;
    if (from < 0)
      store_zeros(c->out[1], to, p->state);
    else
      cv->store_f32[t](padded + from, c->out[1]->data, (size_t)to, state, NULL);
  }
}

/* Positions [0, n) of a block of |m| channels from channel |ch| on: |at| counts elements to the first, a position is
 * all channels away from the next. */
static void load_block(const ox_kernel_ctx *c, uint32_t i, int64_t at, int64_t n, int64_t m, float *to) {
  const causal_prep *p = c->prep;
  for (int64_t t = 0; t < n; t++)
    ox_convert_select(c->isa)->load_f32[c->in[i]->dtype](c->in[i]->data, (size_t)(at + t * p->channels), (size_t)m,
                                                         to + t * CHANNELS);
}
static void store_block(const ox_kernel_ctx *c, uint32_t o, int64_t at, int64_t n, int64_t m, const float *from) {
  const causal_prep *p = c->prep;
  for (int64_t t = 0; t < n; t++)
    ox_convert_select(c->isa)->store_f32[c->out[o]->dtype](from + t * CHANNELS, c->out[o]->data,
                                                           (size_t)(at + t * p->channels), (size_t)m, NULL);
}

static void load_weights(const ox_kernel_ctx *c, const causal_prep *p, int64_t ch, int64_t m, float *w, float *bias) {
  const ox_convert *cv = ox_convert_select(c->isa);
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < p->k; j++)
      cv->load_f32[c->in[W]->dtype](c->in[W]->data, (size_t)((ch + i) * p->k + j), 1, &w[j * CHANNELS + i]);
  memset(bias, 0, CHANNELS * sizeof *bias);
  if (ox_ctx_has(c, B)) cv->load_f32[c->in[B]->dtype](c->in[B]->data, (size_t)ch, (size_t)m, bias);
}

/* Channels last: a block of them, all positions. */
static void one_block(const ox_kernel_ctx *c, const causal_prep *p, int64_t block, float *padded) {
  int64_t blocks = OX_CEIL_DIV(p->channels, CHANNELS), b = block / blocks, ch = block % blocks * CHANNELS;
  int64_t m = OX_MIN(p->channels - ch, CHANNELS), size = (p->state + p->len) * CHANNELS;
  int64_t slot = p->batch * p->state * p->channels, in_slot = b * p->state * p->channels + ch;
  int64_t at = b * p->len * p->channels + ch;
  float *w = padded + size, *y = w + p->k * CHANNELS, bias[CHANNELS];
  memset(padded, 0, (size_t)(size + p->k * CHANNELS) * sizeof *padded);
  if (ox_ctx_has(c, PAST)) load_block(c, PAST, (p->window - 1) * slot + in_slot, p->state, m, padded);
  load_block(c, X, at, p->len, m, padded + p->state * CHANNELS);
  load_weights(c, p, ch, m, w, bias);
  for (int64_t t = 0; t < p->len; t++) {
    float *to = y + t * CHANNELS;
    memcpy(to, bias, sizeof bias);
    for (int64_t j = 0; j < p->k; j++)
      for (int i = 0; i < CHANNELS; i++) to[i] += w[j * CHANNELS + i] * padded[(t + j * p->dilation) * CHANNELS + i];
  }
  activate(p, y, p->len * CHANNELS);
  if (c->out[0]) store_block(c, 0, at, p->len, m, y);
  for (int64_t s = 0; s < p->window && ox_ctx_wants(c, 1); s++) {
    int64_t from = slot_start(p, s), to = s * slot + in_slot;
    for (int64_t t = 0; t < p->state && from < 0; t++) store_zeros(c->out[1], to + t * p->channels, m);
    if (from >= 0) store_block(c, 1, to, p->state, m, padded + from * CHANNELS);
  }
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage;
  const causal_prep *p = c->prep;
  for (int64_t r = tiles.begin * p->per_tile; r < OX_MIN(tiles.end * p->per_tile, p->rows); r++)
    (p->last ? one_block : one_row)(c, p, r, scratch);
  return NULL;
}

#define ROW                                                                                                        \
  .types = {OX_BIT(OX_F32) | OX_T_FLOAT16S}, .vars = "TTTT", .min_in = 2, .max_in = 4, .min_out = 1, .max_out = 2, \
  .attrs_bytes = sizeof(causal_attrs)
static const ox_op ops[] = {
    {OX_SCHEMA(.name = "CausalConvWithState", .since = 27, ROW, OX_ATTRS(attr_rows), .infer = infer),
     OX_KERNEL(.prepare = prepare, .run = run)},
    {OX_SCHEMA(.name = "CausalConvWithState", .domain = "com.microsoft", .since = 1, ROW, OX_ATTRS(ms_rows),
               .infer = infer),
     OX_KERNEL(.prepare = prepare, .run = run)},
};
const ox_op_set ox_ops_causal_conv = {ops, OX_COUNT(ops)};

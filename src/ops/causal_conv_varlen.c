/* SPDX-License-Identifier: Apache-2.0
 * ops/causal_conv_varlen.c - com.microsoft.VarlenCausalConvWithState: CausalConvWithState over sequences of
 * different lengths, whose tokens are concatenated. A tile is a block of channels of one sequence. */
#include <string.h>

#include "kern/act.h"
#include "ops/shared/as_real.h"
#include "ops/shared/check.h"

enum { X, W, LENGTHS, BIAS, STATE, CAPTURE, CHANNELS = 64 /* a block */ };
enum { Y, FINAL, UPDATE };
typedef struct varlen_attrs {
  const char *activation;
  int64_t dilation, state_update_capacity;
} varlen_attrs;
static const ox_attr_def attr_rows[] = {OX_ATTR_STR(varlen_attrs, activation, "none"),
                                        OX_ATTR_INT_IN(varlen_attrs, dilation, 1, 1, OX_COUNT_MAX),
                                        OX_ATTR_INT_IN(varlen_attrs, state_update_capacity, 0, 0, 8)};

typedef struct varlen_prep {
  ox_act act;
  int64_t tokens, channels, batch, k, state, blocks;
} varlen_prep;

static ox_status *infer(ox_infer_ctx *c) {
  const varlen_attrs *a = c->attrs;
  int64_t channels = ox_infer_dim(c, X, 1), k = ox_infer_dim(c, W, 2), state = -1;
  if (!ox_infer_has(c, STATE)) return ox_fail(OX_INVALID_MODEL, "%s: initial_state is required", c->op);
  if (ox_infer_has(c, CAPTURE) != (a->state_update_capacity > 0))
    return ox_fail(OX_INVALID_MODEL, "%s: capture_count with a state_update_capacity of %lld", c->op,
                   (long long)a->state_update_capacity);
  OX_TRY(ox_infer_shape_is(c, X, 2, (int64_t[]){-1, -1}));
  if (channels < 0) channels = ox_infer_dim(c, W, 0);
  OX_TRY(ox_infer_shape_is(c, W, 3, (int64_t[]){channels, 1, -1}));
  if (k == 0) return ox_fail(OX_SHAPE_MISMATCH, "%s: weight has no taps", c->op);
  if (k > 0 && !ox_mul_i64_ok(k - 1, a->dilation, &state)) return ox_fail(OX_LIMIT, "%s: too long a state", c->op);
  OX_TRY(ox_infer_shape_is(c, BIAS, 1, &channels));
  int64_t ends = ox_infer_dim(c, LENGTHS, 0), batch = ends > 0 ? ends - 1 : ox_infer_dim(c, STATE, 0);
  OX_TRY(ox_infer_shape_is(c, LENGTHS, 1, (int64_t[]){batch < 0 ? -1 : batch + 1}));
  OX_TRY(ox_infer_shape_is(c, STATE, 3, (int64_t[]){batch, channels, state}));
  OX_TRY(ox_infer_shape_is(c, CAPTURE, 1, &batch));
  uint32_t type = ox_infer_dtype_of(c, X, STATE);
  ox_shape final = ox_shape_of(3, (int64_t[]){batch, channels, state});
  ox_shape update = ox_shape_of(3, (int64_t[]){batch, a->state_update_capacity, channels});
  ox_infer_out(c, Y, type, &c->in[X]->shape);
  ox_infer_out(c, FINAL, type, &final);
  ox_infer_out(c, UPDATE, type, &update);
  return NULL;
}

static ox_status *prepare(ox_kernel_ctx *c) {
  const varlen_attrs *a = c->attrs;
  const ox_shape *x = &c->in[X]->shape, *s = &c->in[STATE]->shape;
  varlen_prep *p = c->prep = ox_ctx_alloc(c, sizeof *p);
  size_t bytes;
  if (!p) return ox_oom();
  const char *name = strcmp(a->activation, "none") != 0 ? a->activation : "";
  if (!ox_act_parse(name, NULL, 0, &p->act)) return ox_fail(OX_INVALID_MODEL, "unknown activation \"%.40s\"", name);
  p->tokens = x->dim[0], p->channels = x->dim[1], p->batch = s->dim[0], p->state = s->dim[2];
  p->k = c->in[W]->shape.dim[2], p->blocks = OX_CEIL_DIV(p->channels, CHANNELS);
  /* the taps, the bias, what a tap sees, the result */
  if (!ox_mul_ok((size_t)p->k + 3, CHANNELS * sizeof(float), &bytes)) return ox_fail(OX_LIMIT, "too many taps");
  return ox_ctx_plan(c, p->batch * p->blocks, bytes);
}

/* One sequence and a block of channels of it. */
typedef struct part {
  const ox_kernel_ctx *c;
  const varlen_prep *p;
  int64_t b, first, len, ch, m; /* tokens; channels */
} part;

static ox_status *find_sequence(part *t) {
  const int32_t *ends = t->c->in[LENGTHS]->data;
  t->first = ends[t->b], t->len = (int64_t)ends[t->b + 1] - ends[t->b];
  if (ends[0] == 0 && ends[t->p->batch] == t->p->tokens && t->first >= 0 && t->len >= 0 &&
      ends[t->b + 1] <= t->p->tokens)
    return NULL;
  return ox_fail(OX_INVALID_ARGUMENT, "cumulative_sequence_length: sequence %lld from %lld to %lld, %lld tokens in all",
                 (long long)t->b, (long long)t->first, (long long)ends[t->b + 1], (long long)t->p->tokens);
}

/* The input at position |pos| of the sequence; below 0: the past state. */
static const float *seen(const part *t, int64_t pos, float *spare) {
  const varlen_prep *p = t->p;
  if (pos >= 0) return ox_as_float_in(t->c, X, (t->first + pos) * p->channels + t->ch, t->m, spare);
  const ox_tensor *s = t->c->in[STATE];
  for (int64_t i = 0; i < t->m; i++)
    ox_convert_select(t->c->isa)->load_f32[s->dtype](
        s->data, (size_t)((t->b * p->channels + t->ch + i) * p->state + p->state + pos), 1, &spare[i]);
  return spare;
}

static void convolve(const part *t, float *w) {
  const varlen_prep *p = t->p;
  const ox_kernel_ctx *c = t->c;
  const ox_convert *cv = ox_convert_select(c->isa);
  int64_t dilation = ((const varlen_attrs *)c->attrs)->dilation;
  float *bias = w + p->k * CHANNELS, *spare = bias + CHANNELS, *room = spare + CHANNELS;
  for (int64_t i = 0; i < t->m; i++)
    for (int64_t j = 0; j < p->k; j++)
      cv->load_f32[c->in[W]->dtype](c->in[W]->data, (size_t)((t->ch + i) * p->k + j), 1, &w[j * CHANNELS + i]);
  memset(bias, 0, CHANNELS * sizeof *bias);
  if (ox_ctx_has(c, BIAS)) cv->load_f32[c->in[BIAS]->dtype](c->in[BIAS]->data, (size_t)t->ch, (size_t)t->m, bias);
  for (int64_t pos = 0; pos < t->len && ox_ctx_wants(c, Y); pos++) {
    int64_t at = (t->first + pos) * p->channels + t->ch;
    float *y = ox_as_float_out(c, Y, at, room);
    memcpy(y, bias, (size_t)t->m * sizeof *y);
    for (int64_t j = 0; j < p->k; j++) {
      const float *x = seen(t, pos - (p->k - 1 - j) * dilation, spare);
      for (int64_t i = 0; i < t->m; i++) y[i] += w[j * CHANNELS + i] * x[i];
    }
    for (int64_t i = 0; i < t->m && p->act.kind != OX_ACT_NONE; i++) y[i] = (float)ox_act_f64(p->act, (double)y[i]);
    ox_as_float_done(c, Y, at, t->m, y);
    if (ox_ctx_stopped_each(c, pos, 256)) return;
  }
}

/* The last positions, and the first tokens as far as they are asked for. */
static void put_states(const part *t, float *spare) {
  const varlen_prep *p = t->p;
  const ox_kernel_ctx *c = t->c;
  const ox_convert *cv = ox_convert_select(c->isa);
  int64_t capacity = ((const varlen_attrs *)c->attrs)->state_update_capacity;
  uint32_t type = c->in[X]->dtype;
  for (int64_t s = 0; s < p->state && ox_ctx_wants(c, FINAL); s++) {
    const float *x = seen(t, t->len - p->state + s, spare);
    for (int64_t i = 0; i < t->m; i++)
      cv->store_f32[type](&x[i], c->out[FINAL]->data, (size_t)((t->b * p->channels + t->ch + i) * p->state + s), 1,
                          NULL);
  }
  if (!ox_ctx_wants(c, UPDATE) || !ox_ctx_has(c, CAPTURE)) return;
  int64_t count = OX_MIN(((const int32_t *)c->in[CAPTURE]->data)[t->b], t->len);
  for (int64_t s = 0; s < capacity; s++) {
    const float *x = spare;
    if (s < count)
      x = seen(t, s, spare);
    else
      memset(spare, 0, CHANNELS * sizeof *spare);
    cv->store_f32[type](x, c->out[UPDATE]->data, (size_t)((t->b * capacity + s) * p->channels + t->ch), (size_t)t->m,
                        NULL);
  }
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage;
  const varlen_prep *p = c->prep;
  for (int64_t i = tiles.begin; i < tiles.end; i++) {
    part t = {.c = c, .p = p, .b = i / p->blocks, .ch = i % p->blocks * CHANNELS};
    t.m = OX_MIN(p->channels - t.ch, CHANNELS);
    OX_TRY(find_sequence(&t));
    convolve(&t, scratch);
    put_states(&t, scratch);
  }
  return NULL;
}

#define FLOATS (OX_BIT(OX_F32) | OX_T_FLOAT16S)
#define I32 OX_BIT(OX_I32)
static const ox_op ops[] = {
    {OX_SCHEMA(.name = "VarlenCausalConvWithState", .domain = "com.microsoft", .since = 1,
               .types = {FLOATS, FLOATS, I32, FLOATS, FLOATS, I32}, .vars = "TT.TT", .min_in = 3, .max_in = 6,
               .min_out = 2, .max_out = 3, OX_ATTRS(attr_rows), .attrs_bytes = sizeof(varlen_attrs), .infer = infer),
     OX_KERNEL(.prepare = prepare, .run = run)},
};
const ox_op_set ox_ops_causal_conv_varlen = {ops, OX_COUNT(ops)};

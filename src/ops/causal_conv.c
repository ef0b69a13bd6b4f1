/* SPDX-License-Identifier: Apache-2.0
 * ops/causal_conv.c - CausalConvWithState: a depthwise 1-D convolution over the past state and the new input, which
 * hands on the last k - 1 positions. */
#include <string.h>

#include "kern/act.h"
#include "ops/shared/as_real.h"
#include "ops/shared/check.h"

enum { X, W, B, PAST };
typedef struct causal_attrs {
  const char *activation;
} causal_attrs;
static const ox_attr_def attr_rows[] = {OX_ATTR_STR(causal_attrs, activation, "none")};

typedef struct causal_prep {
  ox_act act;
  int64_t rows, channels, len, k, state, per_tile; /* state: k - 1 */
} causal_prep;

static ox_status *infer(ox_infer_ctx *c) {
  const ox_shape *x = &c->in[X]->shape, *w = &c->in[W]->shape;
  uint32_t dtype = OX_UNDEFINED;
  OX_TRY(ox_infer_one_dtype(c, X, PAST, &dtype));
  if (x->rank >= 0 && x->rank != 3) return ox_fail(OX_INVALID_MODEL, "input has rank %d, wanted 3", x->rank);
  if (w->rank >= 0 && w->rank != 3) return ox_fail(OX_INVALID_MODEL, "weight has rank %d, wanted 3", w->rank);
  if (w->rank == 3 && ((w->dim[1] >= 0 && w->dim[1] != 1) || w->dim[2] == 0))
    return ox_fail(OX_SHAPE_MISMATCH, "weight must be [channels, 1, k]");
  if (w->rank == 3 && x->rank == 3 && w->dim[0] >= 0 && x->dim[1] >= 0 && w->dim[0] != x->dim[1])
    return ox_fail(OX_SHAPE_MISMATCH, "weight has %lld channels, input %lld", (long long)w->dim[0],
                   (long long)x->dim[1]);
  ox_shape state = ox_shape_unknown();
  if (x->rank == 3) {
    state = *x;
    state.dim[2] = w->rank == 3 && w->dim[2] > 0 ? w->dim[2] - 1 : -1;
  }
  ox_infer_out(c, 0, dtype, x);
  ox_infer_out(c, 1, dtype, &state);
  return NULL;
}

static ox_status *prepare(ox_kernel_ctx *c) {
  const causal_attrs *a = c->attrs;
  const ox_shape *x = &c->in[X]->shape;
  causal_prep *p = c->prep = ox_ctx_alloc(c, sizeof *p);
  if (!p) return ox_oom();
  const char *name = a->activation && strcmp(a->activation, "none") != 0 ? a->activation : "";
  if (!ox_act_parse(name, NULL, 0, &p->act)) return ox_fail(OX_INVALID_MODEL, "unknown activation \"%.40s\"", name);
  p->rows = x->dim[0] * x->dim[1], p->channels = x->dim[1], p->len = x->dim[2], p->k = c->in[W]->shape.dim[2];
  p->state = p->k - 1;
  if (ox_ctx_has(c, PAST)) {
    const ox_shape *s = &c->in[PAST]->shape;
    if (s->rank != 3 || s->dim[0] != x->dim[0] || s->dim[1] != x->dim[1] || s->dim[2] != p->state)
      return ox_fail(OX_SHAPE_MISMATCH, "past_state must be [%lld,%lld,%lld]", (long long)x->dim[0],
                     (long long)x->dim[1], (long long)p->state);
  }
  if (ox_ctx_has(c, B) && ox_shape_count(&c->in[B]->shape) != p->channels)
    return ox_fail(OX_SHAPE_MISMATCH, "bias must have one element per channel");
  p->per_tile = OX_MAX(8192 / OX_MAX(p->len * p->k, 1), 1);
  size_t floats;
  if (!ox_add_ok((size_t)p->len * 2, (size_t)p->k * 2, &floats) || floats > SIZE_MAX / 8)
    return ox_fail(OX_LIMIT, "too long");
  return ox_ctx_plan(c, OX_CEIL_DIV(p->rows, p->per_tile), floats * sizeof(float));
}

static void one_row(const ox_kernel_ctx *c, const causal_prep *p, int64_t row, float *padded) {
  const ox_convert *cv = ox_convert_select(c->isa);
  uint32_t t = c->in[X]->dtype;
  size_t len = (size_t)p->len, state = (size_t)p->state, k = (size_t)p->k, ch = (size_t)(row % p->channels);
  float *w = padded + state + len, *y = w + k, bias = 0;
  if (ox_ctx_has(c, PAST))
    cv->load_f32[t](c->in[PAST]->data, (size_t)row * state, state, padded);
  else
    memset(padded, 0, state * sizeof(float));
  cv->load_f32[t](c->in[X]->data, (size_t)row * len, len, padded + state);
  cv->load_f32[t](c->in[W]->data, ch * k, k, w);
  if (ox_ctx_has(c, B)) cv->load_f32[t](c->in[B]->data, ch, 1, &bias);
  for (size_t i = 0; i < len; i++) {
    float sum = bias;
    for (size_t j = 0; j < k; j++) sum += w[j] * padded[i + j];
    y[i] = p->act.kind == OX_ACT_NONE ? sum : (float)ox_act_f64(p->act, (double)sum);
  }
  if (c->out[0]) cv->store_f32[t](y, c->out[0]->data, (size_t)row * len, len, NULL);
  if (ox_ctx_wants(c, 1)) cv->store_f32[t](padded + len, c->out[1]->data, (size_t)row * state, state, NULL);
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage;
  const causal_prep *p = c->prep;
  for (int64_t r = tiles.begin * p->per_tile; r < OX_MIN(tiles.end * p->per_tile, p->rows); r++)
    one_row(c, p, r, scratch);
  return NULL;
}

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "CausalConvWithState", .since = 27, .types = {OX_BIT(OX_F32) | OX_T_FLOAT16S}, .min_in = 2,
               .max_in = 4, .min_out = 1, .max_out = 2, OX_ATTRS(attr_rows), .attrs_bytes = sizeof(causal_attrs),
               .infer = infer),
     OX_KERNEL(.prepare = prepare, .run = run)},
};
const ox_op_set ox_ops_causal_conv = {ops, OX_COUNT(ops)};

/* SPDX-License-Identifier: Apache-2.0
 * ops/moe/moe_route.c - which experts process a token and how much each of them counts; to their order and back. */
#include <math.h>
#include <string.h>

#include "kern/quant/convert.h"
#include "ops/moe/moe_plan.h"

/* Two rows of floats and one of flags, for each expert. */
size_t ox_moe_route_scratch(const ox_moe_plan *p) { return (size_t)p->experts * (2 * sizeof(float) + 1); }

/* The |top| best of |score|, best first, ties by index. */
static void choose(const float *score, int64_t experts, int64_t top, uint8_t *taken, int64_t *expert) {
  memset(taken, 0, (size_t)experts);
  for (int64_t j = 0; j < top; j++) {
    int64_t best = -1;
    for (int64_t e = 0; e < experts; e++)
      if (!taken[e] && (best < 0 || score[e] > score[best])) best = e;
    expert[j] = best, taken[best] = 1;
  }
}

static void load_row(const ox_kernel_ctx *c, uint32_t input, int64_t token, int64_t n, float *to) {
  const ox_tensor *t = c->in[input];
  ox_convert_select(c->isa)->load_f32[t->dtype](t->data, (size_t)(token * n), (size_t)n, to);
}

/* The best experts of token |t| and the weights of their results. */
static void route_token(const ox_kernel_ctx *c, int64_t t, void *scratch, int64_t *expert, float *weight) {
  const ox_moe_plan *p = c->prep;
  float *score = scratch, *given = score + p->experts;
  bool has = ox_ctx_has(c, OX_MOE_MIXING);
  double sum = 0, chosen = 0;
  load_row(c, OX_MOE_ROUTER, t, p->experts, score);
  choose(score, p->experts, p->top, (uint8_t *)(given + p->experts), expert);
  double most = (double)score[expert[0]];
  /* QMoE takes its softmax over the chosen experts alone */
  bool among = ((const ox_moe_attrs *)c->attrs)->normalize_routing_weights || (p->fc[OX_MOE_FC1].bits && !has);
  if (has) load_row(c, OX_MOE_MIXING, t, p->experts, given);
  for (int64_t e = 0; e < p->experts && !has && !among; e++) sum += exp((double)score[e] - most);
  for (int64_t j = 0; j < p->top; j++) {
    double share = has ? (double)given[expert[j]] : exp((double)score[expert[j]] - most);
    weight[j] = (float)(has || among ? share : share / sum);
    chosen += (double)weight[j];
  }
  if (among && chosen != 0)
    for (int64_t j = 0; j < p->top; j++) weight[j] = (float)((double)weight[j] / chosen);
}

void ox_moe_route(const ox_kernel_ctx *c, void *scratch) {
  const ox_moe_plan *p = c->prep;
  const ox_moe_order o = ox_moe_order_at(c, &p->order);
  float *weight = ox_moe_shared(c, p->at_weight);
  for (int64_t t = 0; t < p->tokens && !ox_ctx_stopped_each(c, t, 64); t++)
    route_token(c, t, scratch, o.expert + t * p->top, weight + t * p->top);
  if (!ox_ctx_stopped(c)) ox_moe_sort(&o, p->rows, p->experts, p->busy);
}

void ox_moe_gather(const ox_kernel_ctx *c, int64_t pair) {
  const ox_moe_plan *p = c->prep;
  const int64_t *place = ox_moe_shared(c, p->order.place);
  load_row(c, OX_MOE_X, pair / p->top, p->hidden, (float *)ox_moe_shared(c, p->at_x) + place[pair] * p->hidden);
}

void ox_moe_combine(const ox_kernel_ctx *c, int64_t token) {
  const ox_moe_plan *p = c->prep;
  const ox_tensor *out = c->out[0];
  const int64_t *place = (const int64_t *)ox_moe_shared(c, p->order.place) + token * p->top;
  const float *weight = (const float *)ox_moe_shared(c, p->at_weight) + token * p->top;
  const float *y = ox_moe_shared(c, p->at_y);
  for (int64_t i = 0, n; i < p->hidden; i += n) {
    float sum[OX_CONVERT_BLOCK] = {0};
    n = OX_MIN(p->hidden - i, OX_CONVERT_BLOCK);
    for (int64_t j = 0; j < p->top; j++) {
      const float *from = y + place[j] * p->hidden + i, w = weight[j];
      for (int64_t e = 0; e < n; e++) sum[e] += w * from[e];
    }
    ox_convert_select(c->isa)->store_f32[out->dtype](sum, out->data, (size_t)(token * p->hidden + i), (size_t)n, NULL);
  }
}

/* SPDX-License-Identifier: Apache-2.0
 * ops/moe/moe_act.c - what comes between an expert's layers: an activation, perhaps times another layer's output; or
 * swiglu, gate sigmoid(alpha gate) (linear + beta), of two halves of a row or of two layers. */
#include <math.h>
#include <string.h>

#include "kern/binary/binary.h"
#include "kern/unary/unary.h"
#include "ops/moe/moe_plan.h"

enum { BLOCK = 512 /* elements; so many of all operands stay in L1 */ };

/* y = act(h) h3; |h3| may be NULL. */
static void block_of(const ox_kernel_ctx *c, ox_moe_act act, const float *h, const float *h3, float *y, size_t n) {
  static const int kinds[] = {[OX_MOE_RELU] = OX_UN_RELU, [OX_MOE_GELU] = OX_UN_GELU_TANH, [OX_MOE_SILU] = OX_UN_SWISH};
  static const float plain[OX_UNARY_PARAMS] = {1, 0};
  if (act == OX_MOE_IDENTITY)
    memcpy(y, h, n * sizeof *y);
  else
    ox_unary_f32_select(c->isa)->fn[kinds[act]](h, y, n, plain);
  if (h3) ox_binary_select(c->isa)->fn[OX_BIN_MUL][OX_F32](y, h3, y, n, 0);
}

/* |step| 2: gate and linear alternate. */
static void swiglu(const ox_kernel_ctx *c, const float *gate, const float *linear, int step, float *y, size_t n) {
  const ox_moe_attrs *a = c->attrs;
  ox_unary_f32_fn *const *fn = ox_unary_f32_select(c->isa)->fn;
  const float low[OX_UNARY_PARAMS] = {-INFINITY, a->swiglu_limit}, both[] = {-a->swiglu_limit, a->swiglu_limit},
              alpha[OX_UNARY_PARAMS] = {a->activation_alpha, 0};
  float g[BLOCK], l[BLOCK];
  for (size_t i = 0; i < n; i++) g[i] = gate[i * (size_t)step], l[i] = linear[i * (size_t)step];
  if (a->has_swiglu_limit) fn[OX_UN_CLIP](g, g, n, low), fn[OX_UN_CLIP](l, l, n, both);
  fn[OX_UN_SWISH](g, g, n, alpha);
  for (size_t i = 0; i < n; i++) y[i] = g[i] * (l[i] + a->activation_beta);
}

void ox_moe_activate(const ox_kernel_ctx *c, int64_t row) {
  const ox_moe_plan *p = c->prep;
  const int64_t fusion = ((const ox_moe_attrs *)c->attrs)->swiglu_fusion;
  const float *h = (const float *)ox_moe_shared(c, p->at_h1) + row * p->fc[OX_MOE_FC1].n;
  const float *h3 = p->has_fc3 ? (const float *)ox_moe_shared(c, p->at_h3) + row * p->inter : NULL;
  float *y = (float *)ox_moe_shared(c, p->at_act) + row * p->inter;
  for (int64_t i = 0, n; i < p->inter; i += n) {
    n = OX_MIN(p->inter - i, BLOCK);
    if (p->act != OX_MOE_SWIGLU)
      block_of(c, p->act, h + i, h3 ? h3 + i : NULL, y + i, (size_t)n);
    else if (fusion == 1)
      swiglu(c, h + 2 * i, h + 2 * i + 1, 2, y + i, (size_t)n);
    else
      swiglu(c, h + i, (fusion ? h + p->inter : h3) + i, 1, y + i, (size_t)n);
  }
}

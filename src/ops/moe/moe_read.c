/* SPDX-License-Identifier: Apache-2.0
 * ops/moe/moe_read.c - checks what a model gives to a mixture of experts, and derives the layers' sizes. */
#include <string.h>

#include "base/cksize.h"
#include "ops/moe/moe_plan.h"

static ox_status *find_activation(const ox_moe_attrs *a, ox_moe_act *out) {
  static const char *const names[] = {"relu", "gelu", "silu", "swiglu", "identity"};
  for (size_t i = 0; i < OX_COUNT(names); i++)
    if (!strcmp(a->activation_type, names[i])) return *out = (ox_moe_act)i, NULL;
  return ox_fail(OX_INVALID_MODEL, "unknown activation_type \"%.40s\"", a->activation_type);
}

int64_t ox_moe_bits(const ox_moe_attrs *a, int i) {
  const int64_t bits[OX_MOE_LAYERS] = {a->fc1_expert_weight_bits, a->fc2_expert_weight_bits, a->fc3_expert_weight_bits};
  return bits[i] ? bits[i] : a->expert_weight_bits;
}

static ox_status *bad_layer(const ox_kernel_ctx *c, uint32_t i, const ox_dense *l) {
  char text[OX_SHAPE_TEXT];
  return ox_fail(OX_SHAPE_MISMATCH, "input %u %s does not fit a layer of %lld x %lld", (unsigned)i,
                 ox_shape_text(&c->in[i]->shape, text), (long long)l->n, (long long)l->k);
}

static ox_status *check_codes(const ox_kernel_ctx *c, const ox_dense *l) {
  if ((l->bits != 2 && l->bits != 4 && l->bits != 8) || l->k * l->bits % 8 || l->k % l->block)
    return ox_fail(OX_INVALID_MODEL, "%lld-bit weights of %lld columns in blocks of %lld", (long long)l->bits,
                   (long long)l->k, (long long)l->block);
  if (!ox_ctx_has(c, l->in.scale) || ox_shape_count(&c->in[l->in.scale]->shape) != l->count * l->n * l->blocks)
    return ox_fail(OX_SHAPE_MISMATCH, "QMoE: scales are missing or do not fit");
  int64_t zeros = l->blocked ? l->n * OX_CEIL_DIV(l->blocks * l->bits, 8) : OX_CEIL_DIV(l->n * l->bits, 8);
  if (ox_ctx_has(c, l->in.zero) &&
      (ox_shape_count(&c->in[l->in.zero]->shape) != l->count * zeros || c->in[l->in.zero]->dtype != OX_U8))
    return bad_layer(c, l->in.zero, l);
  return NULL;
}

static ox_status *check_layer(const ox_kernel_ctx *c, const ox_dense *l) {
  const ox_tensor *w = c->in[l->in.w];
  int64_t width = l->bits ? l->k * l->bits / 8 : l->k;
  const ox_shape want = ox_shape_of(3, (int64_t[]){l->count, l->n, width});
  if (!ox_shape_equal(&w->shape, &want) || (l->bits ? w->dtype != OX_U8 : w->dtype != c->in[OX_MOE_X]->dtype))
    return bad_layer(c, l->in.w, l);
  if (ox_ctx_has(c, l->in.bias) && (ox_shape_count(&c->in[l->in.bias]->shape) != l->count * l->n ||
                                    c->in[l->in.bias]->dtype != c->in[OX_MOE_X]->dtype))
    return bad_layer(c, l->in.bias, l);
  return l->bits ? check_codes(c, l) : NULL;
}

static ox_status *read_sizes(const ox_kernel_ctx *c, ox_moe_plan *p, const ox_dense_slots *slots) {
  const ox_moe_attrs *a = c->attrs;
  const ox_shape *x = &c->in[OX_MOE_X]->shape, *r = &c->in[OX_MOE_ROUTER]->shape;
  for (int i = OX_MOE_FC1; i <= OX_MOE_FC2; i++)
    if (!ox_ctx_has(c, slots[i].w) || c->in[slots[i].w]->shape.rank != 3)
      return ox_fail(OX_SHAPE_MISMATCH, "the experts' weights must be 3-D");
  if ((x->rank != 2 && x->rank != 3) || r->rank != 2)
    return ox_fail(OX_SHAPE_MISMATCH, "the input must be 2-D or 3-D and the router's 2-D");
  p->hidden = x->dim[x->rank - 1], p->tokens = ox_shape_span(x, 0, x->rank - 1), p->experts = r->dim[1];
  p->top = a->k;
  if (r->dim[0] != p->tokens || p->top < 1 || p->top > p->experts)
    return ox_fail(OX_SHAPE_MISMATCH, "router of %lld x %lld for %lld tokens, k %lld", (long long)r->dim[0],
                   (long long)p->experts, (long long)p->tokens, (long long)p->top);
  if (ox_ctx_has(c, OX_MOE_MIXING) && ox_shape_count(&c->in[OX_MOE_MIXING]->shape) != p->tokens * p->experts)
    return ox_fail(OX_SHAPE_MISMATCH, "router weights do not fit %lld tokens and %lld experts", (long long)p->tokens,
                   (long long)p->experts);
  return NULL;
}

ox_status *ox_moe_read(const ox_kernel_ctx *c, ox_moe_plan *p, const ox_dense_slots *slots, bool quantized) {
  const ox_moe_attrs *a = c->attrs;
  if (a->use_sparse_mixer || strcmp(a->quant_type, "int"))
    return ox_fail(OX_NOT_IMPLEMENTED, "a sparse mixer, or quant_type \"%.20s\"", a->quant_type);
  OX_TRY(find_activation(a, &p->act));
  OX_TRY(read_sizes(c, p, slots));
  p->has_fc3 = ox_ctx_has(c, slots[OX_MOE_FC3].w);
  bool fused = p->act == OX_MOE_SWIGLU && a->swiglu_fusion;
  if (p->act == OX_MOE_SWIGLU && !fused && !p->has_fc3)
    return ox_fail(OX_INVALID_MODEL, "swiglu needs swiglu_fusion or fc3");
  int64_t n1 = c->in[slots[OX_MOE_FC1].w]->shape.dim[1];
  p->inter = fused ? n1 / 2 : n1;
  int64_t widest = OX_MAX(n1, p->hidden), all;
  if (p->tokens > OX_COUNT_MAX || p->experts > OX_COUNT_MAX || widest > OX_COUNT_MAX ||
      !ox_mul_i64_ok(p->tokens * p->top, widest, &all) || all > INT64_MAX / 64)
    return ox_fail(OX_LIMIT, "%lld tokens for %lld of %lld experts, layers up to %lld wide: too large",
                   (long long)p->tokens, (long long)p->top, (long long)p->experts, (long long)widest);
  p->rows = p->tokens * p->top, p->busy = OX_MIN(p->rows, p->experts);
  const int64_t size[OX_MOE_LAYERS][2] = {{n1, p->hidden}, {p->hidden, p->inter}, {p->inter, p->hidden}};
  for (int i = 0; i < (p->has_fc3 ? 3 : 2); i++) {
    ox_dense *l = &p->fc[i];
    *l = (ox_dense){.in = slots[i], .count = p->experts, .n = size[i][0], .k = size[i][1]};
    l->blocked = quantized && a->block_size > 0, l->bits = quantized ? ox_moe_bits(a, i) : 0;
    l->block = l->blocked ? a->block_size : OX_MAX(l->k, 1), l->blocks = OX_CEIL_DIV(l->k, l->block);
    OX_TRY(check_layer(c, l));
  }
  return NULL;
}

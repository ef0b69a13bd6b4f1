/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu/rules/head_scale.c - a factor for each head of scores, as in attention by cosines (Swin v2), multiplies Q
 * instead: c (Q K^T) => (c Q) K^T. What is left is a product that attention_fuse takes. */
#include "base/status.h"
#include "onyx/rewrite.h"

enum { PRODUCT, SCALE };
static const ox_pat scaled[] = {
    [PRODUCT] = {.op = "MatMul", .single_use = 1, .types = OX_BIT(OX_F32)},
    [SCALE] = {.op = "Mul", .in = {OX_FROM(PRODUCT), OX_CONST(0)}, .commutative = 1, .types = OX_BIT(OX_F32)}};

/* [heads, 1, 1], dimensions of 1 in front. */
static int is_for_heads(const ox_tensor *c, const ox_shape *q) {
  const ox_shape *s = c ? &c->shape : NULL;
  if (!s || s->rank < 3 || s->rank > 4 || (s->rank == 4 && s->dim[0] != 1)) return 0;
  return s->dim[s->rank - 3] == q->dim[1] && s->dim[s->rank - 2] == 1 && s->dim[s->rank - 1] == 1;
}

/* Rows of Q are shorter than those of the scores, or about as long. */
static int guard(const ox_rewrite *g, ox_match *m) {
  ox_id product = m->node[PRODUCT], k = ox_in(g, product, 1);
  const ox_shape *q = ox_shape_at(g, ox_in(g, product, 0)), *s = ox_shape_at(g, ox_out(g, product, 0));
  if (q->rank != 4 || s->rank != 4 || q->dim[1] < 2 || s->dim[1] != q->dim[1]) return 0;
  if (s->dim[3] > 0 && (q->dim[3] < 1 || q->dim[3] > 2 * s->dim[3])) return 0;
  return !ox_const_type(g, k) && is_for_heads(ox_const_type(g, m->arg[0]), q);
}

static ox_status *apply(const ox_rewrite *g, const ox_match *m) {
  ox_id product = m->node[PRODUCT], q = ox_in(g, product, 0), node, scaled_q;
  OX_TRY(ox_emit(g, NULL, "Mul", (ox_id[]){q, m->arg[0]}, 2, &node, &scaled_q));
  OX_TRY(ox_set_in(g, product, 0, scaled_q));
  return ox_give_way(g, m->node[SCALE], ox_out(g, product, 0));
}

static const ox_rule rules[] = {{OX_RULE("head-scale", OX_OPTIMIZE_EXTENDED, scaled, guard, apply)}};
const ox_rule_set ox_cpu_rules_head_scale = OX_OWNED_RULE_SET("cpu", rules);

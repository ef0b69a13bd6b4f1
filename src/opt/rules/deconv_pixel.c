/* SPDX-License-Identifier: Apache-2.0
 * opt/rules/deconv_pixel.c - ConvTranspose of one pixel, with which generators of images begin, is a product: each of
 * its weights meets its channel once. Takes a ConvTranspose away. */
#include "base/status.h"
#include "onyx/rewrite.h"

enum { DECONV };
static const ox_pat pattern[] = {[DECONV] = {.op = "ConvTranspose"}};

static int guard(const ox_rewrite *g, ox_match *m) {
  ox_id node = m->node[DECONV], bias = ox_in(g, node, 2);
  const ox_shape *x = ox_shape_at(g, ox_in(g, node, 0));
  const ox_tensor *w = ox_const_type(g, ox_in(g, node, 1)), *b = ox_const_type(g, bias);
  if (!w || w->dtype != OX_F32 || w->shape.rank < 3 || x->rank != w->shape.rank || x->dim[1] != w->shape.dim[0])
    return 0;
  for (int i = 2; i < x->rank; i++)
    if (x->dim[i] != 1) return 0;
  if (bias != OX_NONE && (!b || b->dtype != OX_F32 || ox_elements(&b->shape) != w->shape.dim[1])) return 0;
  if (ox_elements(&w->shape) < 1 || ox_attr_i(g, node, "group", 1) != 1) return 0;
  if (!ox_attr_is(g, node, "auto_pad", "NOTSET", 1) || ox_attr_of(g, node, "output_shape")) return 0;
  if (!ox_attr_ints_are(g, node, "pads", 0) || !ox_attr_ints_are(g, node, "output_padding", 0) ||
      !ox_attr_ints_are(g, node, "dilations", 1))
    return 0;
  return ox_op_serves(g, NULL, "Gemm", OX_F32) && ox_opset_of(g, "") >= 7;
}

/* Reshape to |n| known dimensions; 0: as it is. */
static ox_status *reshape(const ox_rewrite *g, ox_id v, const int64_t *dims, int n, ox_id *out) {
  ox_id in[2] = {v}, node;
  OX_TRY(ox_i64_const(g, dims, n, &in[1]));
  return ox_emit(g, NULL, "Reshape", in, 2, &node, out);
}

static ox_status *apply(const ox_rewrite *g, const ox_match *m) {
  ox_id node = m->node[DECONV], bias = ox_in(g, node, 2), in[3], gemm, back[2];
  ox_shape w = ox_const_type(g, ox_in(g, node, 1))->shape;
  int64_t each = ox_elements_of(&w, 2, w.rank), all = w.dim[1] * each;
  OX_TRY(reshape(g, ox_in(g, node, 0), (const int64_t[]){0, w.dim[0]}, 2, &in[0]));
  OX_TRY(reshape(g, ox_in(g, node, 1), (const int64_t[]){w.dim[0], all}, 2, &in[1]));
  if (bias != OX_NONE) {
    float *row;
    const ox_tensor *b = ox_const(g, bias);
    if (!b) return ox_no_memory(g);
    OX_TRY(ox_f32_room(g, NULL, 1, &all, &row, &in[2]));
    for (int64_t i = 0; i < all; i++) row[i] = (float)ox_at(g, b, i / each);
  }
  OX_TRY(ox_emit(g, NULL, "Gemm", in, bias != OX_NONE ? 3 : 2, &gemm, &back[0]));
  w.dim[0] = 0;
  OX_TRY(ox_i64_const(g, w.dim, w.rank, &back[1]));
  return ox_remake(g, node, NULL, "Reshape", back, 2);
}

static const ox_rule rules[] = {{OX_RULE("deconv-pixel", OX_OPTIMIZE_EXTENDED, pattern, guard, apply), .late = 1}};
const ox_rule_set ox_rules_deconv_pixel = OX_RULE_SET(rules);

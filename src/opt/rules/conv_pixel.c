/* SPDX-License-Identifier: Apache-2.0
 * opt/rules/conv_pixel.c - Conv of several images whose window is the whole image, with which networks for patches end,
 * is a product: so all images share what is read of the weights. Takes a Conv away. */
#include "base/status.h"
#include "onyx/rewrite.h"

enum { CONV };
static const ox_pat pattern[] = {[CONV] = {.op = "Conv"}};

static int guard(const ox_rewrite *g, ox_match *m) {
  ox_id node = m->node[CONV], bias = ox_in(g, node, 2);
  const ox_shape *x = ox_shape_at(g, ox_in(g, node, 0));
  const ox_tensor *w = ox_const_type(g, ox_in(g, node, 1)), *b = ox_const_type(g, bias);
  if (!w || w->dtype != OX_F32 || w->shape.rank < 3 || x->rank != w->shape.rank || x->dim[0] == 1) return 0;
  for (int i = 1; i < x->rank; i++)
    if (x->dim[i] != w->shape.dim[i]) return 0;
  if (ox_elements_of(&w->shape, 2, w->shape.rank) < 2) return 0; /* one pixel: a product already */
  if (bias != OX_NONE && (!b || b->dtype != OX_F32 || ox_elements(&b->shape) != w->shape.dim[0])) return 0;
  if (ox_elements(&w->shape) < 1 || ox_attr_i(g, node, "group", 1) != 1) return 0;
  if (!ox_attr_is(g, node, "auto_pad", "NOTSET", 1)) return 0;
  if (!ox_attr_ints_are(g, node, "pads", 0) || !ox_attr_ints_are(g, node, "dilations", 1)) return 0;
  return ox_op_serves(g, NULL, "Gemm", OX_F32) && ox_opset_of(g, "") >= 7;
}

/* Reshape to a matrix of |rows| (0: as many as there are) by |columns|. */
static ox_status *matrix(const ox_rewrite *g, ox_id v, int64_t rows, int64_t columns, ox_id *out) {
  ox_id in[2] = {v}, node;
  OX_TRY(ox_i64_const(g, (const int64_t[]){rows, columns}, 2, &in[1]));
  return ox_emit(g, NULL, "Reshape", in, 2, &node, out);
}

static ox_status *apply(const ox_rewrite *g, const ox_match *m) {
  ox_id node = m->node[CONV], bias = ox_in(g, node, 2), in[3] = {0, 0, bias}, gemm, back[2];
  ox_shape w = ox_const_type(g, ox_in(g, node, 1))->shape;
  int64_t n = w.dim[0], k = ox_elements_of(&w, 1, w.rank), dims[OX_MAX_RANK];
  OX_TRY(matrix(g, ox_in(g, node, 0), 0, k, &in[0]));
  OX_TRY(matrix(g, ox_in(g, node, 1), n, k, &in[1]));
  OX_TRY(g->api->add_value(g, NULL, NULL, &back[0]));
  OX_TRY(g->api->add_node(g, NULL, "Gemm", "", in, bias != OX_NONE ? 3 : 2, &back[0], 1, &gemm));
  OX_TRY(ox_set_int(g, gemm, "transB", 1));
  OX_TRY(g->api->infer(g, gemm));
  for (int i = 0; i < w.rank; i++) dims[i] = i == 0 ? 0 : i == 1 ? n : 1;
  OX_TRY(ox_i64_const(g, dims, w.rank, &back[1]));
  return ox_remake(g, node, NULL, "Reshape", back, 2);
}

static const ox_rule rules[] = {{OX_RULE("conv-pixel", OX_OPTIMIZE_EXTENDED, pattern, guard, apply), .late = 1}};
const ox_rule_set ox_rules_conv_pixel = OX_RULE_SET(rules);

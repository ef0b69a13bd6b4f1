/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu/rules/bottleneck_fuse.c - a depthwise BlockConv with the 1x1 before it, the 1x1 behind it, or both become one
 * BlockBottleneck where the maps between them would leave the cache (kern/blocks/bottleneck.h). */
#include "base/status.h"
#include "kern/blocks/bottleneck.h"
#include "onyx/rewrite.h"

static const char own[] = "ai.onyx";
enum { X, W, B, Z, G, S, PARTS = OX_BOTTLENECK_PARTS };

/* Groups of one channel: W is [C, 1, k, k]. */
static int is_depthwise(const ox_rewrite *g, ox_id node) {
  const ox_shape *w = ox_shape_at(g, ox_in(g, node, W));
  return ox_is_of(g, node, "BlockConv", own) && w->rank == 4 && w->dim[1] == 1 && w->dim[0] > 1 &&
         ox_attr_i(g, node, "group", 1) == w->dim[0] && ox_const_type(g, ox_in(g, node, W)) != NULL &&
         ox_in(g, node, Z) == OX_NONE && ox_in(g, node, S) == OX_NONE && ox_one_output(g, node);
}

/* A plain product of pixels and weights: 1x1, stride 1, no pads. */
static int is_pointwise(const ox_rewrite *g, ox_id node) {
  const ox_shape *w = ox_shape_at(g, ox_in(g, node, W));
  return ox_is_of(g, node, "BlockConv", own) && w->rank == 4 && w->dim[2] == 1 && w->dim[3] == 1 &&
         ox_attr_i(g, node, "group", 1) == 1 && !ox_attr_i(g, node, "plain_input", 0) && ox_in(g, node, G) == OX_NONE &&
         ox_in(g, node, S) == OX_NONE && ox_const_type(g, ox_in(g, node, W)) != NULL &&
         ox_attr_ints_are(g, node, "strides", 1) && ox_attr_ints_are(g, node, "pads", 0);
}

/* The part that makes |v|, if |v| has one reader. */
static ox_id part_of(const ox_rewrite *g, ox_id v, int (*is)(const ox_rewrite *, ox_id)) {
  ox_id node = ox_uses(g, v) == 1 ? ox_producer(g, v) : OX_NONE;
  return node != OX_NONE && is(g, node) ? node : OX_NONE;
}

typedef struct found {
  ox_id part[PARTS]; /* OX_NONE: not there */
} found;

/* |root|: the last of them. A depthwise convolution leaves it to the 1x1 behind it. */
static int find(const ox_rewrite *g, ox_id root, found *f) {
  *f = (found){{OX_NONE, OX_NONE, OX_NONE}};
  if (is_pointwise(g, root)) {
    f->part[OX_PROJECT] = root, f->part[OX_DEPTHWISE] = part_of(g, ox_in(g, root, X), is_depthwise);
  } else if (is_depthwise(g, root)) {
    ox_id user = ox_only_user(g, ox_out(g, root, 0));
    if (user != OX_NONE && is_pointwise(g, user) && ox_in(g, user, X) == ox_out(g, root, 0)) return 0;
    f->part[OX_DEPTHWISE] = root;
  }
  if (f->part[OX_DEPTHWISE] == OX_NONE) return 0;
  ox_id expand = part_of(g, ox_in(g, f->part[OX_DEPTHWISE], X), is_pointwise);
  if (expand != OX_NONE && ox_in(g, expand, Z) == OX_NONE) f->part[OX_EXPAND] = expand;
  return f->part[OX_EXPAND] != OX_NONE || f->part[OX_PROJECT] != OX_NONE;
}

static int guard(const ox_rewrite *g, ox_match *m) {
  found *f = OX_CAPTURE(m, found);
  if (!find(g, m->node[0], f) || !ox_op_serves(g, own, "BlockBottleneck", OX_F32)) return 0;
  ox_id d = f->part[OX_DEPTHWISE];
  const ox_shape *x = ox_shape_at(g, ox_in(g, d, X)), *y = ox_shape_at(g, ox_out(g, d, 0));
  if (ox_elements(x) <= 0 || ox_elements(y) <= 0 || x->rank != 5 || y->rank != 5) return 0;
  return ox_bottleneck_pays(x->dim[0], ox_shape_at(g, ox_in(g, d, W))->dim[0], x->dim + 2, y->dim + 2,
                            f->part[OX_EXPAND] != OX_NONE, f->part[OX_PROJECT] != OX_NONE);
}

/* |part|'s activation, under the names that BlockBottleneck has for it. */
static ox_status *copy_activation(const ox_rewrite *g, ox_id to, ox_id part, const char *name, const char *params) {
  const ox_attr_view *a = ox_attr_of(g, part, "activation"), *p = ox_attr_of(g, part, "activation_params");
  if (a) OX_TRY(g->api->set_attr(g, to, name, a));
  p = p ? ox_attr_of(g, part, "activation_params") : NULL;
  return p ? g->api->set_attr(g, to, params, p) : NULL;
}

static ox_status *apply(const ox_rewrite *g, const ox_match *m) {
  const found *f = OX_CAPTURED(m, found);
  ox_id root = m->node[0], last = f->part[OX_PROJECT], d = f->part[OX_DEPTHWISE], first = f->part[OX_EXPAND], made;
  ox_id in[2 + 2 * PARTS] = {ox_in(g, first != OX_NONE ? first : d, X)}, y = ox_out(g, root, 0), out;
  for (uint32_t i = 0; i < PARTS; i++) in[W + 2 * i] = ox_in(g, f->part[i], W), in[B + 2 * i] = ox_in(g, f->part[i], B);
  in[1 + 2 * PARTS] = last != OX_NONE ? ox_in(g, last, Z) : OX_NONE;
  OX_TRY(g->api->add_tensor(g, NULL, OX_F32, ox_shape_at(g, y), &out));
  OX_TRY(g->api->add_node(g, own, "BlockBottleneck", ox_name_of(g, d), in, OX_COUNT(in), &out, 1, &made));
  OX_TRY(ox_copy_attrs(g, made, d));
  OX_TRY(ox_drop_attr(g, made, "group"));
  OX_TRY(ox_drop_attr(g, made, "plain_input"));
  if (first != OX_NONE) OX_TRY(copy_activation(g, made, first, "expand_activation", "expand_params"));
  if (last != OX_NONE) OX_TRY(copy_activation(g, made, last, "project_activation", "project_params"));
  return ox_give_way(g, root, out);
}

static const ox_pat block_conv[] = {{.op = "BlockConv", .domain = "ai.onyx", .types = OX_BIT(OX_F32)}};
static const ox_rule rules[] = {{OX_RULE("bottleneck", OX_OPTIMIZE_ALL, block_conv, guard, apply), .late = 1}};
const ox_rule_set ox_cpu_rules_bottleneck_fuse = OX_OWNED_RULE_SET("cpu", rules);

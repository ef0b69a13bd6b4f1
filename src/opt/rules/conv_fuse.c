/* SPDX-License-Identifier: Apache-2.0
 * opt/rules/conv_fuse.c - Conv takes in a residual Add and the activation behind it: com.microsoft.FusedConv(X, W, B,
 * Z) = activation(conv + Z). Each removes a node. */
#include "opt/activation.h"

static const char ms[] = "com.microsoft";
enum { X, W, B, Z };
enum { FLOATS = OX_BIT(OX_F32) | OX_BIT(OX_F64) | OX_T_FLOAT16S };
enum { CONV, AFTER };

/* Conv of the standard or a FusedConv; the latter's row decides about the type. */
static bool conv_open(const ox_graph *g, ox_id conv) {
  const ox_node *n = &g->nodes[conv];
  return ox_activation_free(n) && ox_op_serves(g, ms, "FusedConv", ox_dtype_of(g, n->out[0]));
}

/* The user's output becomes the convolution's. */
static ox_status *take_over(ox_graph *g, ox_id conv, ox_id after) {
  OX_TRY(ox_node_become(g, conv, ms, "FusedConv"));
  OX_TRY(ox_graph_replace_uses(g, g->nodes[after].out[0], g->nodes[conv].out[0]));
  ox_graph_remove_node(g, after);
  return NULL;
}

/* ---- activation ---- */

#define CONV_THEN(conv_domain, act_ops, act_domain)                                                            \
  {                                                                                                            \
    [CONV] = {.op = "Conv|FusedConv", .domain = conv_domain, .single_use = true, .types = FLOATS}, [AFTER] = { \
      .op = act_ops,                                                                                           \
      .domain = act_domain,                                                                                    \
      .in = {OX_FROM(CONV)}                                                                                    \
    }                                                                                                          \
  }
static const ox_pat act_plain[] = CONV_THEN(NULL, OX_ACTIVATION_OPS, NULL);
static const ox_pat act_fused[] = CONV_THEN(ms, OX_ACTIVATION_OPS, NULL);
static const ox_pat act_plain_ms[] = CONV_THEN(NULL, OX_ACTIVATION_OPS_MS, ms);
static const ox_pat act_fused_ms[] = CONV_THEN(ms, OX_ACTIVATION_OPS_MS, ms);

static bool act_guard(const ox_graph *g, const ox_match *m) {
  ox_activation a;
  return ox_activation_of(g, m->node[AFTER], &a) && conv_open(g, m->node[CONV]);
}

static ox_status *act_apply(ox_graph *g, const ox_match *m) {
  ox_activation a;
  ox_activation_of(g, m->node[AFTER], &a);
  OX_TRY(ox_activation_set(g, m->node[CONV], &a));
  return take_over(g, m->node[CONV], m->node[AFTER]);
}

/* ---- residual ---- */

static const ox_pat add[] = {[CONV] = {.op = "Conv", .single_use = true, .types = FLOATS},
                             [AFTER] = {.op = "Add", .in = {OX_FROM(CONV), OX_ARG(0)}, .commutative = true}};

/* Z must have the very shape of the result: FusedConv does not broadcast. */
static bool add_guard(const ox_graph *g, const ox_match *m) {
  const ox_shape *y = ox_shape_at(g, g->nodes[m->node[CONV]].out[0]), *z = ox_shape_at(g, m->arg[0]);
  if (y->rank < 3 || !ox_shape_equal(y, z) || g->nodes[m->node[CONV]].n_in > 3) return false;
  for (int i = 0; i < y->rank; i++)
    if (y->dim[i] == -1) return false;
  return conv_open(g, m->node[CONV]);
}

static ox_status *add_apply(ox_graph *g, const ox_match *m) {
  OX_TRY(ox_node_set_input(g, m->node[CONV], Z, m->arg[0]));
  return take_over(g, m->node[CONV], m->node[AFTER]);
}

static const ox_rule rules[] = {
    {"conv-activation", OX_LEVEL_EXTENDED, OX_PATTERN(act_plain), act_guard, act_apply, true},
    {"conv-activation", OX_LEVEL_EXTENDED, OX_PATTERN(act_fused), act_guard, act_apply, true},
    {"conv-activation", OX_LEVEL_EXTENDED, OX_PATTERN(act_plain_ms), act_guard, act_apply, true},
    {"conv-activation", OX_LEVEL_EXTENDED, OX_PATTERN(act_fused_ms), act_guard, act_apply, true},
    {"conv-add", OX_LEVEL_EXTENDED, OX_PATTERN(add), add_guard, add_apply, true},
};
const ox_rule_set ox_rules_conv_fuse = {rules, OX_COUNT(rules)};

/* SPDX-License-Identifier: Apache-2.0
 * opt/rules/channels_last.c - integer convolutions compute channels last, whatever their operands' layout. Made visible
 * as Transposes, the turns between convolutions cancel, and element-wise operators in between move above them. */
#include <string.h>

#include "opt/match.h"

static const char ms[] = "com.microsoft";
static const int64_t to_last[4] = {0, 2, 3, 1}, to_first[4] = {0, 3, 1, 2};

static ox_status *transpose(ox_graph *g, ox_id v, const int64_t *perm, ox_id *out) {
  const ox_shape *s = ox_shape_at(g, v);
  ox_shape turned = {.rank = 4};
  uint32_t dtype = ox_dtype_of(g, v);
  ox_id node;
  for (int i = 0; i < 4; i++) turned.dim[i] = s->rank == 4 ? s->dim[perm[i]] : -1;
  OX_TRY(ox_graph_add_value(g, NULL, out));
  g->values[*out].type = ox_type_tensor(dtype, &turned);
  OX_TRY(ox_graph_add_node(g, "Transpose", "", "", &v, 1, out, 1, &node));
  return ox_node_set_ints(g, node, "perm", perm, 4);
}

/* |node|'s output 0 moves to a fresh value; |node| is copied to produce it, and becomes its Transpose by |perm|. */
static ox_status *turn_output(ox_graph *g, ox_id node, const char *domain, const ox_id *in, const int64_t *perm,
                              const int64_t *inverse, ox_id *out_copy) {
  const ox_shape *y = ox_shape_at(g, g->nodes[node].out[0]);
  ox_shape turned = {.rank = 4};
  ox_id v;
  for (int i = 0; i < 4; i++) turned.dim[i] = y->rank == 4 ? y->dim[inverse[i]] : -1;
  OX_TRY(ox_graph_add_value(g, NULL, &v));
  g->values[v].type = ox_type_tensor(ox_dtype_of(g, g->nodes[node].out[0]), &turned);
  OX_TRY(
      ox_graph_add_node(g, g->nodes[node].op, domain, g->nodes[node].name, in, g->nodes[node].n_in, &v, 1, out_copy));
  for (uint32_t i = 0; i < g->nodes[node].n_attrs; i++)
    OX_TRY(ox_node_set_attr(g, *out_copy, &g->nodes[node].attrs[i]));
  OX_TRY(ox_node_remake(g, node, "", "Transpose", &v, 1));
  return ox_node_set_ints(g, node, "perm", perm, 4);
}

/* ---- convolutions ---- */

enum { MAX_IN = 16 };
static const ox_pat conv[] = {{.op = "QLinearConv"}};

/* A convolution between other operators turned its operands itself: a Transpose costs no more. */
static bool conv_guard(const ox_graph *g, const ox_match *m) {
  const ox_node *n = &g->nodes[m->node[0]];
  return ox_shape_at(g, n->in[0])->rank == 4 && n->n_in <= MAX_IN &&
         ox_op_serves(g, ms, "QLinearConv", ox_dtype_of(g, n->in[0]));
}

static ox_status *conv_apply(ox_graph *g, const ox_match *m) {
  ox_id node = m->node[0], in[MAX_IN], copy;
  memcpy(in, g->nodes[node].in, g->nodes[node].n_in * sizeof *in);
  OX_TRY(transpose(g, in[0], to_last, &in[0]));
  OX_TRY(turn_output(g, node, ms, in, to_first, to_last, &copy));
  return ox_node_set_int(g, copy, "channels_last", 1);
}

/* ---- element-wise operators move above the turn back ---- */

static const ox_pat wise[] = {{.op = "Max|Min|Relu|Clip"}};
static const ox_pat wise_ms[] = {{.op = "QLinearAdd|QLinearMul|QLinearSigmoid|QLinearLeakyRelu", .domain = ms}};

/* Transposed by |to_first|. */
static bool turned_back(const ox_graph *g, ox_id v) {
  ox_id t = ox_up(g, v, "Transpose");
  const ox_attr *p = t == OX_NONE ? NULL : ox_node_attr(&g->nodes[t], "perm");
  return p && p->v.kind == OX_ATTR_INTS_KIND && p->v.n == 4 && memcmp(p->v.ints, to_first, sizeof to_first) == 0;
}

/* One number, which fits any layout. */
static bool lone(const ox_graph *g, ox_id v) {
  const ox_shape *s = ox_shape_at(g, v);
  return s->rank == 0 || (s->rank == 1 && s->dim[0] == 1);
}

/* Every operand is turned back or one number, and one at least is turned back. */
static bool wise_guard(const ox_graph *g, const ox_match *m) {
  const ox_node *n = &g->nodes[m->node[0]];
  uint32_t n_turned = 0;
  if (n->n_in > MAX_IN || n->n_out != 1 || g->values[n->out[0]].is_output) return false;
  for (uint32_t i = 0; i < n->n_in; i++) {
    if (n->in[i] == OX_NONE || lone(g, n->in[i])) continue;
    if (!turned_back(g, n->in[i])) return false;
    n_turned++;
  }
  return n_turned > 0;
}

static ox_status *wise_apply(ox_graph *g, const ox_match *m) {
  const ox_node *n = &g->nodes[m->node[0]];
  ox_id in[MAX_IN] = {0}, old[MAX_IN], copy;
  uint32_t n_in = n->n_in;
  for (uint32_t i = 0; i < n_in; i++) {
    old[i] = OX_NONE, in[i] = n->in[i];
    if (in[i] == OX_NONE || lone(g, in[i])) continue;
    old[i] = g->values[in[i]].producer, in[i] = g->nodes[old[i]].in[0];
  }
  OX_TRY(turn_output(g, m->node[0], n->domain, in, to_first, to_last, &copy));
  for (uint32_t i = 0; i < n_in; i++)
    if (old[i] != OX_NONE) OX_TRY(ox_dce_from(g, old[i]));
  return NULL;
}

static const ox_rule rules[] = {
    {"channels-last-conv", OX_LEVEL_ALL, OX_PATTERN(conv), conv_guard, conv_apply, true},
    {"channels-last-move", OX_LEVEL_ALL, OX_PATTERN(wise), wise_guard, wise_apply, true},
    {"channels-last-move", OX_LEVEL_ALL, OX_PATTERN(wise_ms), wise_guard, wise_apply, true},
};
const ox_rule_set ox_rules_channels_last = {rules, OX_COUNT(rules)};

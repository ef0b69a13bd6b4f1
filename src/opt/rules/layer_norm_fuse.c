/* SPDX-License-Identifier: Apache-2.0
 * opt/rules/layer_norm_fuse.c - layer and RMS normalization out of their primitive operators. Each removes five nodes
 * or more. d = x - mean(x);  n = d / sqrt(mean(d^2) + eps);  y = n * scale [+ bias]      => LayerNormalization n = x /
 * sqrt(mean(x^2) + eps);  y = n * scale                                 => SimplifiedLayerNormalization */
#include <string.h>

#include "opt/match.h"

typedef struct norm {
  ox_id x, scale, bias; /* bias may be OX_NONE */
  bool rms;
  int n_axes; /* normalized over the last n_axes dimensions */
  double eps;
} norm;

/* The input of a ReduceMean over the last dimensions that keeps them, or OX_NONE. */
static ox_id mean_of(const ox_graph *g, ox_id v, int *n_axes) {
  ox_id node = ox_up(g, v, "ReduceMean");
  int64_t axes[OX_MAX_RANK];
  int n;
  if (node == OX_NONE || !ox_attr_i(&g->nodes[node], "keepdims", 1)) return OX_NONE;
  ox_id x = g->nodes[node].in[0];
  int rank = ox_shape_at(g, x)->rank;
  if (rank < 1 || !ox_list_of(g, node, "axes", 1, axes, OX_MAX_RANK, &n) || n < 1 || n > rank) return OX_NONE;
  uint32_t set = 0;
  for (int i = 0; i < n; i++) set |= 1u << (axes[i] < 0 ? axes[i] + rank : axes[i]);
  if (set != ((1u << rank) - 1) - ((1u << (rank - n)) - 1)) return OX_NONE;
  *n_axes = n;
  return x;
}

/* The value that |v| is the square of, or OX_NONE. */
static ox_id square_of(const ox_graph *g, ox_id v) {
  ox_id pow = ox_up1(g, v, "Pow"), mul = ox_up1(g, v, "Mul");
  if (pow != OX_NONE) return ox_const_near(g, g->nodes[pow].in[1], 2) ? g->nodes[pow].in[0] : OX_NONE;
  if (mul != OX_NONE && g->nodes[mul].in[0] == g->nodes[mul].in[1]) return g->nodes[mul].in[0];
  return OX_NONE;
}

/* What sqrt(mean(d^2) + eps) is taken of: d; or OX_NONE. */
static ox_id deviation_of(const ox_graph *g, ox_id v, norm *r) {
  ox_id root = ox_up1(g, v, "Sqrt"), add = root == OX_NONE ? OX_NONE : ox_up1(g, g->nodes[root].in[0], "Add");
  if (add == OX_NONE) return OX_NONE;
  for (int i = 0; i < 2; i++) {
    if (!ox_const_scalar(g, g->nodes[add].in[i], &r->eps)) continue;
    ox_id mean = g->nodes[add].in[1 - i];
    if (ox_graph_use_count(g, mean) != 1) return OX_NONE;
    ox_id squared = mean_of(g, mean, &r->n_axes);
    return squared == OX_NONE ? OX_NONE : square_of(g, squared);
  }
  return OX_NONE;
}

/* |v| = d / deviation, in any of the ways to write it; gives d, or OX_NONE. Only one node reads |v|, if not |is_root|.
 */
static ox_id normalized_of(const ox_graph *g, ox_id v, bool is_root, norm *r) {
  ox_id div = is_root ? ox_up(g, v, "Div") : ox_up1(g, v, "Div"),
        mul = is_root ? ox_up(g, v, "Mul") : ox_up1(g, v, "Mul");
  if (div != OX_NONE) {
    ox_id d = deviation_of(g, g->nodes[div].in[1], r);
    return d == g->nodes[div].in[0] ? d : OX_NONE;
  }
  for (int i = 0; mul != OX_NONE && i < 2; i++) { /* times a reciprocal */
    ox_id rec = ox_up1(g, g->nodes[mul].in[i], "Reciprocal"), one = ox_up1(g, g->nodes[mul].in[i], "Div");
    ox_id root = rec != OX_NONE ? g->nodes[rec].in[0] : OX_NONE;
    if (one != OX_NONE && ox_const_near(g, g->nodes[one].in[0], 1)) root = g->nodes[one].in[1];
    ox_id d = root == OX_NONE ? OX_NONE : deviation_of(g, root, r);
    if (d != OX_NONE && d == g->nodes[mul].in[1 - i]) return d;
  }
  return OX_NONE;
}

/* Whether |d| = x - mean(x) over the same dimensions. */
static bool centred(const ox_graph *g, ox_id d, norm *r) {
  int n_axes;
  ox_id sub = ox_up(g, d, "Sub");
  if (sub == OX_NONE || mean_of(g, g->nodes[sub].in[1], &n_axes) != g->nodes[sub].in[0]) return false;
  r->x = g->nodes[sub].in[0];
  return n_axes == r->n_axes;
}

/* Scale and bias have exactly the shape of the normalized dimensions. */
static bool parameter(const ox_graph *g, ox_id v, const norm *r) {
  const ox_shape *s = ox_shape_at(g, v), *x = ox_shape_at(g, r->x);
  if (s->rank != r->n_axes || x->rank < s->rank) return false;
  for (int i = 0; i < s->rank; i++)
    if (s->dim[i] < 1 || s->dim[i] != x->dim[x->rank - s->rank + i]) return false;
  return true;
}

/* |v| = normalized * scale. */
static bool scaled(const ox_graph *g, ox_id v, bool inner, norm *r) {
  ox_id mul = inner ? ox_up1(g, v, "Mul") : ox_up(g, v, "Mul");
  for (int i = 0; mul != OX_NONE && i < 2; i++) {
    ox_id d = normalized_of(g, g->nodes[mul].in[i], false, r);
    if (d == OX_NONE) continue;
    r->scale = g->nodes[mul].in[1 - i];
    r->rms = !centred(g, d, r);
    if (r->rms) r->x = d;
    if (parameter(g, r->scale, r)) return true;
  }
  return false;
}

static bool find(const ox_graph *g, ox_id root, norm *r) {
  const ox_node *n = &g->nodes[root];
  r->bias = OX_NONE;
  if (ox_node_is(n, "Mul", NULL)) {
    if (!scaled(g, n->out[0], false, r)) return false;
    if (r->rms) return true;
    ox_id user = ox_only_user(g, n->out[0]); /* a bias may follow: its Add is the better root */
    if (user == OX_NONE || !ox_node_is(&g->nodes[user], "Add", NULL)) return true;
    const ox_node *add = &g->nodes[user];
    return !parameter(g, add->in[add->in[0] == n->out[0]], r);
  }
  for (int i = 0; i < 2; i++)
    if (scaled(g, n->in[i], true, r) && !r->rms && parameter(g, n->in[1 - i], r)) {
      r->bias = n->in[1 - i];
      return true;
    }
  return false;
}

static const char *op_of(const norm *r) { return r->rms ? "SimplifiedLayerNormalization" : "LayerNormalization"; }

static const ox_pat scaled_root[] = {{.op = "Add|Mul", .types = OX_BIT(OX_F32)}};

static bool guard(const ox_graph *g, const ox_match *m) {
  norm r;
  return find(g, m->node[0], &r) && ox_op_serves(g, "", op_of(&r), ox_dtype_of(g, r.x)) &&
         ox_dtype_of(g, r.scale) == OX_F32;
}

/* |root| becomes the normalization. */
static ox_status *make(ox_graph *g, ox_id root, const norm *r) {
  ox_id in[3] = {r->x, r->scale, r->bias}, old[2] = {g->nodes[root].in[0], g->nodes[root].in[1]};
  OX_TRY(ox_node_remake(g, root, "", op_of(r), in, r->bias == OX_NONE ? 2 : 3));
  OX_TRY(ox_node_set_int(g, root, "axis", -r->n_axes));
  OX_TRY(ox_node_set_float(g, root, "epsilon", (float)r->eps));
  for (int i = 0; i < 2; i++)
    if (g->values[old[i]].producer != OX_NONE) OX_TRY(ox_dce_from(g, g->values[old[i]].producer));
  return NULL;
}

static ox_status *apply(ox_graph *g, const ox_match *m) {
  norm r;
  find(g, m->node[0], &r);
  return make(g, m->node[0], &r);
}

/* ---- without scale: after the rule above has had its turn ---- */

static const ox_pat bare[] = {{.op = "Div|Mul", .types = OX_BIT(OX_F32)}};

static bool bare_find(const ox_graph *g, ox_id root, norm *r) {
  r->bias = r->scale = OX_NONE;
  ox_id d = normalized_of(g, g->nodes[root].out[0], true, r);
  if (d == OX_NONE) return false;
  r->rms = !centred(g, d, r);
  if (r->rms) r->x = d;
  const ox_shape *x = ox_shape_at(g, r->x);
  for (int i = x->rank - r->n_axes; i < x->rank; i++)
    if (x->dim[i] < 1) return false;
  return true;
}

static bool bare_guard(const ox_graph *g, const ox_match *m) {
  norm r;
  return bare_find(g, m->node[0], &r) && ox_op_serves(g, "", op_of(&r), ox_dtype_of(g, r.x));
}

static ox_status *bare_apply(ox_graph *g, const ox_match *m) {
  norm r;
  float *ones;
  bare_find(g, m->node[0], &r);
  const ox_shape *x = ox_shape_at(g, r.x);
  int64_t n = ox_shape_span(x, x->rank - r.n_axes, x->rank);
  OX_TRY(ox_graph_f32_room(g, NULL, r.n_axes, x->dim + x->rank - r.n_axes, &ones, &r.scale));
  for (int64_t i = 0; i < n; i++) ones[i] = 1;
  return make(g, m->node[0], &r);
}

static const ox_rule rules[] = {{"layer-norm", OX_LEVEL_EXTENDED, OX_PATTERN(scaled_root), guard, apply, false},
                                {"layer-norm-bare", OX_LEVEL_EXTENDED, OX_PATTERN(bare), bare_guard, bare_apply, true}};
const ox_rule_set ox_rules_layer_norm_fuse = {rules, OX_COUNT(rules)};

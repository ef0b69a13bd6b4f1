/* SPDX-License-Identifier: Apache-2.0
 * opt/rules/attention_fuse.c - softmax(scale * Q K^T + mask) V, as exporters write it => ai.onyx.Attention, which is
 * the standard's Attention for models of any operator set. Heads that were split by Reshape and Transpose are handed
 * over unsplit; a key/value cache that is appended by Concat becomes past and present. Removes four nodes or more. */
#include <math.h>
#include <string.h>

#include "opt/match.h"

static const char onyx[] = "ai.onyx";

/* One of Q, K, V: where its 4-D [batch, heads, rows, width] form is, and what it was transposed from. */
typedef struct operand {
  ox_id bhsd;   /* [batch, heads, rows, width], with the cache */
  ox_id bshd;   /* [batch, rows, heads, width] without the cache, or OX_NONE */
  ox_id past;   /* cache, or OX_NONE */
  ox_id concat; /* the node that appends to it */
} operand;

typedef struct found {
  operand q, k, v;
  ox_id mask;
  double scale;
  ox_id last; /* the Transpose behind the product, or OX_NONE: heads stay split */
} found;

static bool has_perm(const ox_graph *g, ox_id node, int a, int b, int c, int d) {
  const ox_attr *p = node == OX_NONE ? NULL : ox_node_attr(&g->nodes[node], "perm");
  if (!p || p->v.kind != OX_ATTR_INTS_KIND || p->v.n != 4) return false;
  return p->v.ints[0] == a && p->v.ints[1] == b && p->v.ints[2] == c && p->v.ints[3] == d;
}

/* Peels products with and quotients by a positive constant off |v|. */
static ox_id unscale(const ox_graph *g, ox_id v, double *scale) {
  for (int left = 3; left > 0; left--) {
    ox_id n = ox_up1(g, v, "Mul|Div");
    double c;
    if (n == OX_NONE) return v;
    bool div = ox_node_is(&g->nodes[n], "Div", NULL);
    if (ox_const_scalar(g, g->nodes[n].in[1], &c) && c > 0) {
      *scale = div ? *scale / c : *scale * c, v = g->nodes[n].in[0];
    } else if (!div && ox_const_scalar(g, g->nodes[n].in[0], &c) && c > 0) {
      *scale *= c, v = g->nodes[n].in[1];
    } else {
      return v;
    }
  }
  return v;
}

/* Follows a value in [batch, heads, rows, width] form to its source. */
static operand follow(const ox_graph *g, ox_id v) {
  operand o = {v, OX_NONE, OX_NONE, OX_NONE};
  ox_id concat = ox_up(g, v, "Concat"), fresh = v;
  if (concat != OX_NONE && g->nodes[concat].n_in == 2) {
    int64_t axis = ox_attr_i(&g->nodes[concat], "axis", 0);
    if (axis == 2 || axis == -2) o.concat = concat, o.past = g->nodes[concat].in[0], fresh = g->nodes[concat].in[1];
  }
  ox_id t = ox_up(g, fresh, "Transpose");
  if (has_perm(g, t, 0, 2, 1, 3)) o.bshd = g->nodes[t].in[0];
  return o;
}

/* K comes as [batch, heads, width, rows]. */
static bool follow_key(const ox_graph *g, ox_id v, double *scale, operand *k) {
  v = unscale(g, v, scale);
  ox_id t = ox_up(g, v, "Transpose");
  if (has_perm(g, t, 0, 2, 3, 1)) { /* both transposes in one */
    *k = (operand){OX_NONE, g->nodes[t].in[0], OX_NONE, OX_NONE};
    return true;
  }
  if (!has_perm(g, t, 0, 1, 3, 2)) return false;
  *k = follow(g, unscale(g, g->nodes[t].in[0], scale));
  return true;
}

static int64_t dim4(const ox_graph *g, ox_id v, int i) {
  const ox_shape *s = ox_shape_at(g, v);
  return s->rank == 4 ? s->dim[i] : -1;
}

/* Heads and width of an operand; false if they are not known. */
static bool sizes(const ox_graph *g, const operand *o, int64_t *heads, int64_t *width) {
  *heads = o->bshd != OX_NONE ? dim4(g, o->bshd, 2) : dim4(g, o->bhsd, 1);
  *width = o->bshd != OX_NONE ? dim4(g, o->bshd, 3) : dim4(g, o->bhsd, 3);
  return *heads > 0 && *width > 0;
}

/* The kernel broadcasts all but the last dimension of a mask, and takes a shorter one as masked out. */
static bool mask_ok(const ox_graph *g, ox_id mask, ox_id scores) {
  const ox_shape *m = ox_shape_at(g, mask), *s = ox_shape_at(g, scores);
  if (m->rank < 2 || m->rank > 4 || s->rank != 4 || ox_dtype_of(g, mask) != OX_F32) return false;
  int64_t last = m->dim[m->rank - 1], want = s->dim[3];
  return last == want ? last != -1 : last < -1 || (last > 1 && want < 0);
}

/* From the Softmax's input back to Q and K. */
static bool find_scores(const ox_graph *g, ox_id v, found *f) {
  ox_id add = ox_up1(g, v, "Add"), product = OX_NONE;
  f->mask = OX_NONE, f->scale = 1;
  for (int i = 0; i < 2 && product == OX_NONE; i++) {
    ox_id scores = add == OX_NONE ? v : g->nodes[add].in[i];
    f->scale = 1;
    product = ox_up1(g, unscale(g, scores, &f->scale), "MatMul");
    if (add == OX_NONE) break;
    f->mask = g->nodes[add].in[1 - i];
    if (product != OX_NONE && !mask_ok(g, f->mask, scores)) product = OX_NONE;
  }
  if (product == OX_NONE) return false;
  const ox_node *qk = &g->nodes[product];
  f->q = follow(g, unscale(g, qk->in[0], &f->scale));
  return f->q.concat == OX_NONE && follow_key(g, qk->in[1], &f->scale, &f->k);
}

/* The cache is only handed over whole: K and V both, and unsplit heads. */
static bool layout_ok(const ox_graph *g, found *f) {
  int64_t heads[3], width[3];
  const operand *all[] = {&f->q, &f->k, &f->v};
  for (int i = 0; i < 3; i++)
    if (!sizes(g, all[i], &heads[i], &width[i])) return false;
  if (heads[0] != heads[1] || heads[0] != heads[2] || width[0] != width[1]) return false;
  bool flat = f->last != OX_NONE && f->q.bshd != OX_NONE && f->k.bshd != OX_NONE && f->v.bshd != OX_NONE;
  if (flat && (f->k.past == OX_NONE) != (f->v.past == OX_NONE)) flat = false;
  if (!flat) f->last = OX_NONE;
  return flat || f->k.bhsd != OX_NONE;
}

static bool find(const ox_graph *g, ox_id root, found *f) {
  const ox_node *n = &g->nodes[root];
  ox_id softmax = ox_up1(g, n->in[0], "Softmax");
  if (softmax == OX_NONE) return false;
  int64_t opset = ox_model_opset(g->model, ""), axis = ox_attr_i(&g->nodes[softmax], "axis", opset < 13 ? 1 : -1);
  if ((axis != -1 && axis != 3) || ox_shape_at(g, n->out[0])->rank != 4) return false;
  f->v = follow(g, n->in[1]);
  ox_id user = ox_only_user(g, n->out[0]);
  f->last = user != OX_NONE && ox_node_is(&g->nodes[user], "Transpose", NULL) && has_perm(g, user, 0, 2, 1, 3)
                ? user
                : OX_NONE;
  return find_scores(g, g->nodes[softmax].in[0], f) && layout_ok(g, f);
}

static const ox_pat product[] = {{.op = "MatMul", .types = OX_BIT(OX_F32)}};

static bool guard(const ox_graph *g, const ox_match *m) {
  found f;
  return find(g, m->node[0], &f) && ox_op_serves(g, onyx, "Attention", OX_F32);
}

/* [batch, rows, heads, width] => [batch, rows, heads * width]: the same bytes. */
static ox_status *unsplit(ox_graph *g, ox_id v, ox_id *out) {
  int64_t to[3] = {0, 0, dim4(g, v, 2) * dim4(g, v, 3)};
  ox_id shape, node;
  OX_TRY(ox_graph_add_const_copy(g, NULL, OX_I64, 1, (int64_t[]){3}, to, &shape));
  return ox_graph_emit(g, "Reshape", "", (ox_id[]){v, shape}, 2, &node, out);
}

/* The present outputs take the place of the Concats that appended to the cache. */
static ox_status *hand_over_cache(ox_graph *g, ox_id node, const operand *o, uint32_t slot) {
  ox_id present;
  OX_TRY(ox_graph_add_value(g, NULL, &present));
  g->values[present].type = g->values[g->nodes[o->concat].out[0]].type;
  OX_TRY(ox_node_set_output(g, node, slot, present));
  return ox_graph_replace_uses(g, g->nodes[o->concat].out[0], present);
}

/* Heads stay together: the product's place is taken by Attention on 3-D tensors, the Transpose's by a Reshape. */
static ox_status *apply_flat(ox_graph *g, ox_id root, const found *f) {
  ox_id in[6] = {OX_NONE, OX_NONE, OX_NONE, f->mask, f->k.past, f->v.past}, out, node, shape, last = f->last;
  int64_t heads = dim4(g, f->q.bshd, 2), split[4] = {0, 0, heads, dim4(g, f->v.bshd, 3)};
  OX_TRY(unsplit(g, f->q.bshd, &in[0]));
  OX_TRY(unsplit(g, f->k.bshd, &in[1]));
  OX_TRY(unsplit(g, f->v.bshd, &in[2]));
  uint32_t n_in = f->k.past != OX_NONE ? 6 : f->mask != OX_NONE ? 4 : 3;
  OX_TRY(ox_graph_add_value(g, NULL, &out));
  OX_TRY(ox_graph_add_node(g, "Attention", onyx, g->nodes[root].name, in, n_in, &out, 1, &node));
  OX_TRY(ox_node_set_int(g, node, "q_num_heads", heads));
  OX_TRY(ox_node_set_int(g, node, "kv_num_heads", heads));
  OX_TRY(ox_node_set_float(g, node, "scale", (float)f->scale));
  if (f->k.past != OX_NONE) {
    OX_TRY(hand_over_cache(g, node, &f->k, 1));
    OX_TRY(hand_over_cache(g, node, &f->v, 2));
  }
  OX_TRY(ox_infer_node(g, node));
  OX_TRY(ox_graph_add_const_copy(g, NULL, OX_I64, 1, (int64_t[]){4}, split, &shape));
  return ox_node_remake(g, last, "", "Reshape", (ox_id[]){out, shape}, 2);
}

static ox_status *apply_split(ox_graph *g, ox_id root, const found *f) {
  ox_id in[4] = {f->q.bhsd, f->k.bhsd, f->v.bhsd, f->mask};
  OX_TRY(ox_node_remake(g, root, onyx, "Attention", in, f->mask == OX_NONE ? 3 : 4));
  return ox_node_set_float(g, root, "scale", (float)f->scale);
}

static ox_status *apply(ox_graph *g, const ox_match *m) {
  found f;
  ox_id softmax = g->values[g->nodes[m->node[0]].in[0]].producer;
  find(g, m->node[0], &f);
  OX_TRY(f.last == OX_NONE ? apply_split(g, m->node[0], &f) : apply_flat(g, m->node[0], &f));
  OX_TRY(ox_dce_from(g, m->node[0]));
  return ox_dce_from(g, softmax);
}

static const ox_rule rules[] = {{"attention", OX_LEVEL_EXTENDED, OX_PATTERN(product), guard, apply, false}};
const ox_rule_set ox_rules_attention_fuse = {rules, OX_COUNT(rules)};

/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu/rules/attention_fuse.c - softmax(scale * Q K^T + mask) V, as exporters write it => ai.onyx.Attention, which is
 * the standard's Attention for models of any operator set. Heads that were split by Reshape and Transpose are handed
 * over unsplit; a key/value cache that is appended by Concat becomes past and present. Removes four nodes or more. */
#include "base/status.h"
#include "ep/cpu/attention_scores.h"

static const char onyx[] = "ai.onyx";

/* One of Q, K, V: where its 4-D [batch, heads, rows, width] form is, and what it was transposed from. */
typedef struct operand {
  ox_id bhsd;     /* [batch, heads, rows, width], with the cache */
  ox_id bshd;     /* [batch, rows, heads, width] without the cache, or OX_NONE */
  ox_id past;     /* cache, or OX_NONE */
  ox_id concat;   /* the node that appends to it */
  ox_id merged;   /* if there is neither form: batch and heads in one dimension, [batch * heads, rows, width] or ... */
  int rows_first; /* ... [rows, batch * heads, width]; dims: split, 0 where it is not known */
  int64_t dims[4];
} operand;

typedef struct found {
  operand q, k, v;
  ox_scores scores; /* with the scales of Q and K */
  ox_id softmax;
  ox_id weights; /* the node that makes the product's first input: the Softmax, or the Where behind it */
  int guarded;   /* that Where makes weights that are NaN 0 */
  ox_id last;    /* the Transpose behind the product, or OX_NONE: heads stay split */
} found;

static int has_perm(const ox_rewrite *g, ox_id node, int a, int b, int c, int d) {
  const ox_attr_view *p = ox_attr_ints(g, node, "perm");
  return p && p->n == 4 && p->ints[0] == a && p->ints[1] == b && p->ints[2] == c && p->ints[3] == d;
}

/* Follows a value in [batch, heads, rows, width] form to its source. */
static operand follow(const ox_rewrite *g, ox_id v) {
  operand o = {v, OX_NONE, OX_NONE, OX_NONE, OX_NONE, 0, {0}};
  ox_id concat = ox_up(g, v, "Concat"), fresh = v;
  int64_t axis = ox_attr_i(g, concat, "axis", 0);
  if (ox_n_in(g, concat) == 2 && (axis == 2 || axis == -2))
    o.concat = concat, o.past = ox_in(g, concat, 0), fresh = ox_in(g, concat, 1);
  ox_id t = ox_up(g, fresh, "Transpose");
  if (has_perm(g, t, 0, 2, 1, 3)) o.bshd = ox_in(g, t, 0);
  return o;
}

/* PyTorch's newer exporter transposes K while batch and heads are one dimension: |v| = Reshape(Transpose(Reshape(K))).
 * Where the first Reshape is gone, K is split again, for which no more than one dimension may be unknown. */
static int follow_merged_key(const ox_rewrite *g, ox_id v, operand *k) {
  ox_id split = ox_up(g, v, "Reshape"), t = split == OX_NONE ? OX_NONE : ox_up(g, ox_in(g, split, 0), "Transpose");
  const ox_attr_view *p = ox_attr_ints(g, t, "perm");
  if (!p || p->n != 3 || p->ints[1] != 2 || p->ints[0] == 2) return 0; /* to [batch * heads, width, rows] */
  ox_id from = ox_in(g, t, 0), merge = ox_up(g, from, "Reshape");
  const ox_shape *out = ox_shape_at(g, v), *y = ox_shape_at(g, from);
  const ox_shape *x = ox_shape_at(g, merge == OX_NONE ? OX_NONE : ox_in(g, merge, 0));
  int rows_first = p->ints[0] == 1, unknown = 0;
  if (out->rank != 4 || y->rank != 3 || !ox_dims_equal(out, 2, y, 2) || !ox_dims_equal(out, 3, y, rows_first ? 0 : 1))
    return 0;
  if (!rows_first && x->rank == 4 && ox_dims_equal(x, 0, out, 0) && ox_dims_equal(x, 1, out, 1) &&
      ox_dims_equal(x, 2, out, 3) && ox_dims_equal(x, 3, out, 2)) {
    *k = follow(g, ox_in(g, merge, 0));
    return 1;
  }
  *k = (operand){OX_NONE, OX_NONE, OX_NONE, OX_NONE, from, rows_first, {0}};
  const int order[4] = {0, 1, 3, 2};
  for (int i = 0; i < 4; i++) {
    k->dims[i] = out->dim[order[i]];
    if (k->dims[i] < 1) k->dims[i] = -1, unknown++;
  }
  return unknown <= 1;
}

/* K comes as [batch, heads, width, rows]. */
static int follow_key(const ox_rewrite *g, ox_id v, double *scale, operand *k) {
  v = ox_scores_unscale(g, v, scale);
  ox_id t = ox_up(g, v, "Transpose");
  if (has_perm(g, t, 0, 2, 3, 1)) { /* both transposes in one */
    *k = (operand){OX_NONE, ox_in(g, t, 0), OX_NONE, OX_NONE, OX_NONE, 0, {0}};
    return 1;
  }
  if (t == OX_NONE) return follow_merged_key(g, v, k);
  if (!has_perm(g, t, 0, 1, 3, 2)) return 0;
  *k = follow(g, ox_scores_unscale(g, ox_in(g, t, 0), scale));
  return 1;
}

static int64_t dim4(const ox_rewrite *g, ox_id v, int i) {
  const ox_shape *s = ox_shape_at(g, v);
  return s->rank == 4 ? s->dim[i] : -1;
}

/* Heads and width of an operand; 0 if they are not known. */
static int sizes(const ox_rewrite *g, const operand *o, int64_t *heads, int64_t *width) {
  *heads = o->dims[1], *width = o->dims[3];
  if (o->merged != OX_NONE) return *heads > 0 && *width > 0;
  *heads = o->bshd != OX_NONE ? dim4(g, o->bshd, 2) : dim4(g, o->bhsd, 1);
  *width = o->bshd != OX_NONE ? dim4(g, o->bshd, 3) : dim4(g, o->bhsd, 3);
  return *heads > 0 && *width > 0;
}

/* Whether |v| is read on the way to the product |last| alone. What else read a cache might be what masks are made from:
 * a node that hands it over would wait for itself. */
static int leads_to(const ox_rewrite *g, ox_id v, ox_id last) {
  for (int left = 5; left > 0; left--) {
    if (ox_uses(g, v) != 1 + (uint32_t)ox_is_output(g, v)) return 0;
    ox_id user = g->api->user(g, v, 0, NULL);
    if (user == last || user == OX_NONE) return user == last;
    v = ox_out(g, user, 0);
  }
  return 0;
}

static int has_cache(const ox_rewrite *g, const operand *o, ox_id product) {
  return o->past != OX_NONE && leads_to(g, ox_out(g, o->concat, 0), product);
}

/* The cache is only handed over whole: K and V both, and unsplit heads. */
static int layout_ok(const ox_rewrite *g, ox_id root, found *f) {
  int64_t heads[3], width[3];
  const operand *all[] = {&f->q, &f->k, &f->v};
  for (int i = 0; i < 3; i++)
    if (!sizes(g, all[i], &heads[i], &width[i])) return 0;
  if (heads[0] != heads[1] || heads[0] != heads[2] || width[0] != width[1]) return 0;
  int flat = f->last != OX_NONE && f->q.bshd != OX_NONE && f->k.bshd != OX_NONE && f->v.bshd != OX_NONE;
  if (flat && (f->k.past != OX_NONE || f->v.past != OX_NONE))
    flat = has_cache(g, &f->k, f->scores.product) && has_cache(g, &f->v, root);
  if (!flat) f->last = OX_NONE;
  return 1;
}

/* The Softmax that makes the weights |v|. PyTorch's newer exporter puts Where(IsNaN(w), 0, w) behind it, so that rows
 * that see no key are 0; the kernel makes such rows 0 anyway, and those of other NaN if nan_to_zero is set. */
static ox_id softmax_of(const ox_rewrite *g, ox_id v) {
  ox_id where = ox_up1(g, v, "Where"), nan = where == OX_NONE ? OX_NONE : ox_up1(g, ox_in(g, where, 0), "IsNaN");
  if (nan == OX_NONE) return ox_up1(g, v, "Softmax");
  ox_id w = ox_in(g, where, 2);
  if (ox_in(g, nan, 0) != w || ox_uses(g, w) != 2) return OX_NONE;
  return ox_const_near(g, ox_in(g, where, 1), 0) ? ox_up(g, w, "Softmax") : OX_NONE;
}

/* The Softmax of rows that makes the weights |w| of the product |root|. */
static int find_softmax(const ox_rewrite *g, ox_id root, ox_id w, found *f) {
  f->weights = ox_producer(g, w);
  f->softmax = softmax_of(g, w);
  if (f->softmax == OX_NONE) return 0;
  f->guarded = f->weights != f->softmax;
  int64_t axis = ox_attr_i(g, f->softmax, "axis", ox_opset_of(g, "") < 13 ? 1 : -1);
  return (axis == -1 || axis == 3) && ox_shape_at(g, ox_out(g, root, 0))->rank == 4;
}

/* The scores that the Softmax works on, and Q. */
static int find_query(const ox_rewrite *g, found *f) {
  if (!ox_scores_find(g, ox_in(g, f->softmax, 0), &f->scores)) return 0;
  f->q = follow(g, ox_scores_unscale(g, ox_in(g, f->scores.product, 0), &f->scores.scale));
  return 1;
}

static int find(const ox_rewrite *g, ox_id root, found *f) {
  ox_id y = ox_out(g, root, 0);
  if (!find_softmax(g, root, ox_in(g, root, 0), f)) return 0;
  f->v = follow(g, ox_in(g, root, 1));
  f->last = ox_only_user(g, y);
  if (!ox_is(g, f->last, "Transpose") || !has_perm(g, f->last, 0, 2, 1, 3)) f->last = OX_NONE;
  return find_query(g, f) && f->q.concat == OX_NONE &&
         follow_key(g, ox_in(g, f->scores.product, 1), &f->scores.scale, &f->k) && layout_ok(g, root, f);
}

static const ox_pat product[] = {{.op = "MatMul", .types = OX_BIT(OX_F32)}};

static int guard(const ox_rewrite *g, ox_match *m) {
  return find(g, m->node[0], OX_CAPTURE(m, found)) && ox_op_serves(g, onyx, "Attention", OX_F32);
}

/* [batch, rows, heads, width] => [batch, rows, heads * width]: the same bytes. */
static ox_status *unsplit(const ox_rewrite *g, ox_id v, ox_id *out) {
  int64_t to[3] = {0, 0, dim4(g, v, 2) * dim4(g, v, 3)};
  ox_id shape, node;
  OX_TRY(ox_i64_const(g, to, 3, &shape));
  return ox_emit(g, NULL, "Reshape", (ox_id[]){v, shape}, 2, &node, out);
}

/* The present outputs take the place of the Concats that appended to the cache. */
static ox_status *hand_over_cache(const ox_rewrite *g, ox_id node, const operand *o, uint32_t slot) {
  ox_id present, whole = ox_out(g, o->concat, 0);
  OX_TRY(g->api->add_value(g, NULL, g->api->value_type(g, whole), &present));
  OX_TRY(g->api->set_out(g, node, slot, present));
  return ox_replace(g, whole, present);
}

static ox_status *set_numbers(const ox_rewrite *g, ox_id node, const found *f) {
  if (f->guarded) OX_TRY(ox_set_int(g, node, "nan_to_zero", 1));
  return ox_set_float(g, node, "scale", (float)f->scores.scale);
}

enum { PAST_K = 4, PAST_V };

/* Heads stay together: the product's place is taken by Attention on 3-D tensors, the Transpose's by a Reshape. */
static ox_status *apply_flat(const ox_rewrite *g, ox_id root, const found *f) {
  ox_id in[OX_SCORES_INPUTS], out, node, shape;
  uint32_t n_in;
  int64_t heads = dim4(g, f->q.bshd, 2), split[4] = {0, 0, heads, dim4(g, f->v.bshd, 3)};
  OX_TRY(unsplit(g, f->q.bshd, &in[0]));
  OX_TRY(unsplit(g, f->k.bshd, &in[1]));
  OX_TRY(unsplit(g, f->v.bshd, &in[2]));
  OX_TRY(ox_scores_masks(g, &f->scores, in, &n_in));
  in[PAST_K] = f->k.past, in[PAST_V] = f->v.past;
  if (f->k.past != OX_NONE && n_in <= PAST_V) n_in = PAST_V + 1;
  OX_TRY(g->api->add_value(g, NULL, NULL, &out));
  OX_TRY(g->api->add_node(g, onyx, "Attention", ox_name_of(g, root), in, n_in, &out, 1, &node));
  OX_TRY(ox_set_int(g, node, "q_num_heads", heads));
  OX_TRY(ox_set_int(g, node, "kv_num_heads", heads));
  OX_TRY(set_numbers(g, node, f));
  if (f->k.past != OX_NONE) {
    OX_TRY(hand_over_cache(g, node, &f->k, 1));
    OX_TRY(hand_over_cache(g, node, &f->v, 2));
  }
  OX_TRY(g->api->infer(g, node));
  OX_TRY(ox_i64_const(g, split, 4, &shape));
  return ox_remake(g, f->last, NULL, "Reshape", (ox_id[]){out, shape}, 2);
}

/* [batch, heads, rows, width] out of |o|'s one dimension of both. */
static ox_status *split_merged(const ox_rewrite *g, const operand *o, ox_id *out) {
  static const int64_t perm[3] = {1, 0, 2};
  ox_id v = o->merged, node, shape;
  if (o->rows_first) {
    OX_TRY(g->api->add_value(g, NULL, NULL, &v));
    OX_TRY(g->api->add_node(g, NULL, "Transpose", "", &o->merged, 1, &v, 1, &node));
    OX_TRY(ox_set_ints(g, node, "perm", perm, 3));
    OX_TRY(g->api->infer(g, node));
  }
  OX_TRY(ox_i64_const(g, o->dims, 4, &shape));
  return ox_emit(g, NULL, "Reshape", (ox_id[]){v, shape}, 2, &node, out);
}

/* K in [batch, heads, rows, width] form. */
static ox_status *split_key(const ox_rewrite *g, const operand *k, ox_id *out) {
  static const int64_t perm[4] = {0, 2, 1, 3};
  ox_id node;
  *out = k->bhsd;
  if (k->merged != OX_NONE) return split_merged(g, k, out);
  if (k->bhsd != OX_NONE) return NULL;
  OX_TRY(g->api->add_value(g, NULL, NULL, out));
  OX_TRY(g->api->add_node(g, NULL, "Transpose", "", &k->bshd, 1, out, 1, &node));
  OX_TRY(ox_set_ints(g, node, "perm", perm, 4));
  return g->api->infer(g, node);
}

static ox_status *apply_split(const ox_rewrite *g, ox_id root, const found *f) {
  ox_id in[OX_SCORES_INPUTS] = {f->q.bhsd, OX_NONE, f->v.bhsd};
  uint32_t n_in;
  OX_TRY(split_key(g, &f->k, &in[1]));
  OX_TRY(ox_scores_masks(g, &f->scores, in, &n_in));
  OX_TRY(ox_remake(g, root, onyx, "Attention", in, n_in));
  return set_numbers(g, root, f);
}

static ox_status *apply(const ox_rewrite *g, const ox_match *m) {
  const found *f = OX_CAPTURED(m, found);
  OX_TRY(f->last == OX_NONE ? apply_split(g, m->node[0], f) : apply_flat(g, m->node[0], f));
  OX_TRY(ox_remove_unused(g, m->node[0]));
  return ox_remove_unused(g, f->weights);
}

/* ---- pixels last: V softmax(scale * Q^T K + mask)^T, as behind convolutions ---- */

static int find_turned(const ox_rewrite *g, ox_id root, found *f) {
  ox_id turn = ox_up1(g, ox_in(g, root, 1), "Transpose");
  if (!has_perm(g, turn, 0, 1, 3, 2) || !find_softmax(g, root, ox_in(g, turn, 0), f)) return 0;
  if (!find_query(g, f) || f->scores.window_mask != OX_NONE) return 0;
  f->k.bhsd = ox_scores_unscale(g, ox_in(g, f->scores.product, 1), &f->scores.scale), f->v.bhsd = ox_in(g, root, 0);
  const ox_shape *q = ox_shape_at(g, f->q.bhsd), *k = ox_shape_at(g, f->k.bhsd), *v = ox_shape_at(g, f->v.bhsd);
  if (q->rank != 4 || k->rank != 4 || v->rank != 4 || q->dim[3] < 1 || v->dim[2] < 1) return 0;
  for (int i = 0; i < 2; i++)
    if (!ox_dims_equal(q, i, k, i) || !ox_dims_equal(q, i, v, i)) return 0;
  return q->dim[1] > 0 && ox_dims_equal(q, 3, k, 2) && ox_dims_equal(k, 3, v, 3);
}

static int guard_turned(const ox_rewrite *g, ox_match *m) {
  return find_turned(g, m->node[0], OX_CAPTURE(m, found)) && ox_op_serves(g, onyx, "Attention", OX_F32);
}

static const int64_t swap_last[4] = {0, 1, 3, 2};

static ox_status *swapped(const ox_rewrite *g, ox_id v, ox_id *out) {
  ox_id node;
  OX_TRY(g->api->add_value(g, NULL, NULL, out));
  OX_TRY(g->api->add_node(g, NULL, "Transpose", "", &v, 1, out, 1, &node));
  OX_TRY(ox_set_ints(g, node, "perm", swap_last, 4));
  return g->api->infer(g, node);
}

/* Rows of a few channels are turned instead of the weights, which are never stored. */
static ox_status *apply_turned(const ox_rewrite *g, const ox_match *m) {
  const found *f = OX_CAPTURED(m, found);
  ox_id root = m->node[0], in[OX_SCORES_INPUTS] = {f->q.bhsd}, out, node, turn;
  uint32_t n_in;
  turn = ox_producer(g, ox_in(g, root, 1));
  OX_TRY(swapped(g, f->k.bhsd, &in[1]));
  OX_TRY(swapped(g, f->v.bhsd, &in[2]));
  OX_TRY(ox_scores_masks(g, &f->scores, in, &n_in));
  OX_TRY(g->api->add_value(g, NULL, NULL, &out));
  OX_TRY(g->api->add_node(g, onyx, "Attention", ox_name_of(g, root), in, n_in, &out, 1, &node));
  OX_TRY(set_numbers(g, node, f));
  OX_TRY(g->api->infer(g, node));
  OX_TRY(ox_remake(g, root, NULL, "Transpose", &out, 1));
  OX_TRY(ox_set_ints(g, root, "perm", swap_last, 4));
  return ox_remove_unused(g, turn);
}

static const ox_rule rules[] = {
    {OX_RULE("attention", OX_OPTIMIZE_EXTENDED, product, guard, apply)},
    {OX_RULE("attention-turned", OX_OPTIMIZE_EXTENDED, product, guard_turned, apply_turned)},
};
const ox_rule_set ox_cpu_rules_attention_fuse = OX_OWNED_RULE_SET("cpu", rules);

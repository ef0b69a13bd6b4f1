/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu/rules/layer_norm_fuse.c - layer and RMS normalization out of their primitive operators. Each removes five
 * nodes or more. d = x - mean(x);  n = d / sqrt(mean(d^2) + eps);  y = n * scale [+ bias]   => LayerNormalization n = x
 * / sqrt(mean(x^2) + eps);  y = n * scale                              => SimplifiedLayerNormalization */
#include "base/status.h"
#include "onyx/rewrite.h"

typedef struct norm {
  ox_id x, scale, bias; /* bias may be OX_NONE */
  int rms;
  int n_axes; /* normalized over the last n_axes dimensions */
  double eps;
} norm;

/* The input of a ReduceMean over the last dimensions that keeps them, or OX_NONE. */
static ox_id mean_of(const ox_rewrite *g, ox_id v, int *n_axes) {
  ox_id node = ox_up(g, v, "ReduceMean");
  int64_t axes[OX_MAX_RANK];
  int n;
  if (node == OX_NONE || !ox_attr_i(g, node, "keepdims", 1)) return OX_NONE;
  ox_id x = ox_in(g, node, 0);
  int rank = ox_shape_at(g, x)->rank;
  if (rank < 1 || !ox_list_of(g, node, "axes", 1, axes, OX_MAX_RANK, &n) || n < 1 || n > rank) return OX_NONE;
  uint32_t set = 0;
  for (int i = 0; i < n; i++) {
    if (axes[i] < -rank || axes[i] >= rank) return OX_NONE;
    set |= 1u << (axes[i] < 0 ? axes[i] + rank : axes[i]);
  }
  if (set != ((1u << rank) - 1) - ((1u << (rank - n)) - 1)) return OX_NONE;
  *n_axes = n;
  return x;
}

/* The value that |v| is the square of, or OX_NONE. */
static ox_id square_of(const ox_rewrite *g, ox_id v) {
  ox_id pow = ox_up1(g, v, "Pow"), mul = ox_up1(g, v, "Mul");
  if (pow != OX_NONE) return ox_const_near(g, ox_in(g, pow, 1), 2) ? ox_in(g, pow, 0) : OX_NONE;
  return ox_in(g, mul, 0) == ox_in(g, mul, 1) ? ox_in(g, mul, 0) : OX_NONE;
}

/* What sqrt(mean(d^2) + eps) is taken of: d; or OX_NONE. */
static ox_id deviation_of(const ox_rewrite *g, ox_id v, norm *r) {
  ox_id root = ox_up1(g, v, "Sqrt"), add = ox_up1(g, ox_in(g, root, 0), "Add");
  for (uint32_t i = 0; add != OX_NONE && i < 2; i++) {
    if (!ox_const_scalar(g, ox_in(g, add, i), &r->eps)) continue;
    ox_id mean = ox_in(g, add, 1 - i);
    if (ox_uses(g, mean) != 1) return OX_NONE;
    return square_of(g, mean_of(g, mean, &r->n_axes));
  }
  return OX_NONE;
}

/* |v| = d / deviation, in any of the ways to write it; gives d, or OX_NONE. Only one node reads |v|, if not |is_root|.
 */
static ox_id normalized_of(const ox_rewrite *g, ox_id v, int is_root, norm *r) {
  ox_id div = is_root ? ox_up(g, v, "Div") : ox_up1(g, v, "Div");
  ox_id mul = is_root ? ox_up(g, v, "Mul") : ox_up1(g, v, "Mul");
  if (div != OX_NONE) {
    ox_id d = deviation_of(g, ox_in(g, div, 1), r);
    return d == ox_in(g, div, 0) ? d : OX_NONE;
  }
  for (uint32_t i = 0; mul != OX_NONE && i < 2; i++) { /* times a reciprocal */
    ox_id v2 = ox_in(g, mul, i), rec = ox_up1(g, v2, "Reciprocal"), one = ox_up1(g, v2, "Div"), root = ox_in(g, rec, 0);
    if (one != OX_NONE && ox_const_near(g, ox_in(g, one, 0), 1)) root = ox_in(g, one, 1);
    ox_id d = deviation_of(g, root, r);
    if (d != OX_NONE && d == ox_in(g, mul, 1 - i)) return d;
  }
  return OX_NONE;
}

/* Whether |d| = x - mean(x) over the same dimensions. */
static int centred(const ox_rewrite *g, ox_id d, norm *r) {
  int n_axes;
  ox_id sub = ox_up(g, d, "Sub"), x = ox_in(g, sub, 0);
  if (sub == OX_NONE || mean_of(g, ox_in(g, sub, 1), &n_axes) != x) return 0;
  r->x = x;
  return n_axes == r->n_axes;
}

static void settle_input(const ox_rewrite *g, ox_id d, norm *r) {
  r->rms = !centred(g, d, r);
  if (r->rms) r->x = d;
}

/* Scale and bias have exactly the shape of the normalized dimensions. */
static int parameter(const ox_rewrite *g, ox_id v, const norm *r) {
  const ox_shape *s = ox_shape_at(g, v), *x = ox_shape_at(g, r->x);
  if (s->rank != r->n_axes || x->rank < s->rank) return 0;
  for (int i = 0; i < s->rank; i++)
    if (s->dim[i] < 1 || s->dim[i] != x->dim[x->rank - s->rank + i]) return 0;
  return 1;
}

/* |v| = normalized * scale. */
static int scaled(const ox_rewrite *g, ox_id v, int inner, norm *r) {
  ox_id mul = inner ? ox_up1(g, v, "Mul") : ox_up(g, v, "Mul");
  for (uint32_t i = 0; mul != OX_NONE && i < 2; i++) {
    ox_id d = normalized_of(g, ox_in(g, mul, i), 0, r);
    if (d == OX_NONE) continue;
    r->scale = ox_in(g, mul, 1 - i);
    settle_input(g, d, r);
    if (parameter(g, r->scale, r)) return 1;
  }
  return 0;
}

static int find(const ox_rewrite *g, ox_id root, norm *r) {
  r->bias = OX_NONE;
  if (ox_is(g, root, "Mul")) {
    ox_id y = ox_out(g, root, 0);
    if (!scaled(g, y, 0, r)) return 0;
    if (r->rms) return 1;
    ox_id user = ox_only_user(g, y); /* a bias may follow: its Add is the better root */
    return !ox_is(g, user, "Add") || !parameter(g, ox_in(g, user, ox_in(g, user, 0) == y), r);
  }
  for (uint32_t i = 0; i < 2; i++)
    if (scaled(g, ox_in(g, root, i), 1, r) && !r->rms && parameter(g, ox_in(g, root, 1 - i), r)) {
      r->bias = ox_in(g, root, 1 - i);
      return 1;
    }
  return 0;
}

static const char *op_of(const norm *r) { return r->rms ? "SimplifiedLayerNormalization" : "LayerNormalization"; }

static int serves(const ox_rewrite *g, const norm *r) { return ox_op_serves(g, NULL, op_of(r), ox_dtype_of(g, r->x)); }

static const ox_pat scaled_root[] = {{.op = "Add|Mul", .types = OX_BIT(OX_F32)}};

static int guard(const ox_rewrite *g, ox_match *m) {
  norm *r = OX_CAPTURE(m, norm);
  return find(g, m->node[0], r) && serves(g, r) && ox_dtype_of(g, r->scale) == OX_F32;
}

/* |root| becomes the normalization. */
static ox_status *make(const ox_rewrite *g, ox_id root, const norm *r) {
  ox_id in[3] = {r->x, r->scale, r->bias}, old[2] = {ox_in(g, root, 0), ox_in(g, root, 1)};
  OX_TRY(ox_remake(g, root, NULL, op_of(r), in, r->bias == OX_NONE ? 2 : 3));
  OX_TRY(ox_set_int(g, root, "axis", -r->n_axes));
  OX_TRY(ox_set_float(g, root, "epsilon", (float)r->eps));
  for (int i = 0; i < 2; i++) OX_TRY(ox_remove_unused(g, ox_producer(g, old[i])));
  return NULL;
}

static ox_status *apply(const ox_rewrite *g, const ox_match *m) { return make(g, m->node[0], OX_CAPTURED(m, norm)); }

/* ---- without scale: after the rule above has had its turn ---- */

static const ox_pat bare[] = {{.op = "Div|Mul", .types = OX_BIT(OX_F32)}};

static int bare_guard(const ox_rewrite *g, ox_match *m) {
  norm *r = OX_CAPTURE(m, norm);
  r->bias = r->scale = OX_NONE;
  ox_id d = normalized_of(g, ox_out(g, m->node[0], 0), 1, r);
  if (d == OX_NONE) return 0;
  settle_input(g, d, r);
  const ox_shape *x = ox_shape_at(g, r->x);
  if (x->rank < r->n_axes) return 0; /* unknown */
  for (int i = x->rank - r->n_axes; i < x->rank; i++)
    if (x->dim[i] < 1) return 0;
  return serves(g, r);
}

static ox_status *bare_apply(const ox_rewrite *g, const ox_match *m) {
  norm r = *OX_CAPTURED(m, norm);
  float *ones;
  const ox_shape *x = ox_shape_at(g, r.x);
  int64_t n = ox_elements_of(x, x->rank - r.n_axes, x->rank);
  OX_TRY(ox_f32_room(g, NULL, r.n_axes, x->dim + x->rank - r.n_axes, &ones, &r.scale));
  for (int64_t i = 0; i < n; i++) ones[i] = 1;
  return make(g, m->node[0], &r);
}

static const ox_rule rules[] = {
    {OX_RULE("layer-norm", OX_OPTIMIZE_EXTENDED, scaled_root, guard, apply)},
    {OX_RULE("layer-norm-bare", OX_OPTIMIZE_EXTENDED, bare, bare_guard, bare_apply), .late = 1}};
const ox_rule_set ox_cpu_rules_layer_norm_fuse = OX_OWNED_RULE_SET("cpu", rules);

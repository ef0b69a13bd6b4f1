/* SPDX-License-Identifier: Apache-2.0
 * opt/rules/gated_act.c - x times a gate of x, written as many little operators: GELU by erf and by tanh, SiLU,
 * HardSwish. Exporters order and associate the products as they like, so a product is flattened into its factors first:
 * a tree of Mul (and Div by constants) that nobody else reads. Each removes three nodes or more, SiLU one. */
#include <math.h>
#include <string.h>

#include "opt/match.h"

enum { MAX_FACTORS = 4 };

/* |scale| times the product of |v|. */
typedef struct product {
  double scale;
  ox_id v[MAX_FACTORS];
  uint32_t n;
} product;

/* Multiplies |p| by the value |v|, looking through up to |depth| products that only this one reads. */
static bool flatten(const ox_graph *g, ox_id v, int depth, bool root, product *p) {
  double c;
  if (ox_const_scalar(g, v, &c)) {
    p->scale *= c;
    return true;
  }
  ox_id mul = depth > 0 ? (root ? ox_up(g, v, "Mul|Div") : ox_up1(g, v, "Mul|Div")) : OX_NONE;
  if (mul != OX_NONE) {
    const ox_node *n = &g->nodes[mul];
    if (ox_node_is(n, "Div", NULL)) {
      if (ox_const_scalar(g, n->in[1], &c) && c != 0) {
        p->scale /= c;
        return flatten(g, n->in[0], depth - 1, false, p);
      }
    } else {
      return flatten(g, n->in[0], depth - 1, false, p) && flatten(g, n->in[1], depth - 1, false, p);
    }
  }
  if (p->n == MAX_FACTORS) return false;
  p->v[p->n++] = v;
  return true;
}

static bool product_of(const ox_graph *g, ox_id v, int depth, product *p) {
  *p = (product){.scale = 1};
  return flatten(g, v, depth, true, p);
}

static bool near(double got, double want) { return fabs(got - want) <= 1e-3 * fabs(want); }

/* |v| = |want| * x. */
static bool is_scaled(const ox_graph *g, ox_id v, ox_id x, double want) {
  product p;
  return product_of(g, v, 2, &p) && p.n == 1 && p.v[0] == x && near(p.scale, want);
}

/* The other operand of the Add behind |v| if one is the constant |c| (and only one node reads |v|), or OX_NONE. */
static ox_id add_const(const ox_graph *g, ox_id v, double c) {
  ox_id add = ox_up1(g, v, "Add");
  if (add == OX_NONE) return OX_NONE;
  const ox_node *n = &g->nodes[add];
  return ox_const_near(g, n->in[1], c) ? n->in[0] : ox_const_near(g, n->in[0], c) ? n->in[1] : OX_NONE;
}

/* |v| = |scale| * x^|power|, power 2 or 3, by Pow or by products. */
static bool is_power(const ox_graph *g, ox_id v, ox_id x, int power, double scale) {
  product p;
  if (!product_of(g, v, 3, &p) || !near(p.scale, scale)) return false;
  int have = 0;
  for (uint32_t i = 0; i < p.n; i++) {
    double e;
    ox_id pow = ox_up1(g, p.v[i], "Pow");
    if (p.v[i] == x)
      have++;
    else if (pow != OX_NONE && g->nodes[pow].in[0] == x && ox_const_scalar(g, g->nodes[pow].in[1], &e))
      have += (int)e;
    else
      return false;
  }
  return have == power;
}

/* |v| = sqrt(2/pi) * (x + 0.044715 x^3), or with x factored out. */
static bool is_tanh_arg(const ox_graph *g, ox_id v, ox_id x) {
  static const double root = 0.7978845608028654, cube = 0.044715;
  product p;
  if (!product_of(g, v, 3, &p) || !near(p.scale, root)) return false;
  if (p.n == 1) {
    ox_id add = ox_up1(g, p.v[0], "Add");
    if (add == OX_NONE) return false;
    const ox_node *n = &g->nodes[add];
    return (n->in[0] == x && is_power(g, n->in[1], x, 3, cube)) || (n->in[1] == x && is_power(g, n->in[0], x, 3, cube));
  }
  if (p.n != 2) return false;
  ox_id rest = p.v[0] == x ? p.v[1] : p.v[1] == x ? p.v[0] : OX_NONE;
  ox_id square = rest == OX_NONE ? OX_NONE : add_const(g, rest, 1);
  return square != OX_NONE && is_power(g, square, x, 2, cube);
}

typedef enum gate { NO_GATE, GELU, FAST_GELU, QUICK_GELU, HARD_SWISH } gate;

/* What |v| times x makes, given the other factors' product |scale|. */
static gate gate_of(const ox_graph *g, ox_id v, ox_id x, double scale, double *alpha) {
  ox_id inner = near(scale, 0.5) ? add_const(g, v, 1) : OX_NONE, up;
  if ((up = ox_up1(g, inner, "Erf")) != OX_NONE)
    return is_scaled(g, g->nodes[up].in[0], x, 0.7071067811865476) ? GELU : NO_GATE;
  if ((up = ox_up1(g, inner, "Tanh")) != OX_NONE) return is_tanh_arg(g, g->nodes[up].in[0], x) ? FAST_GELU : NO_GATE;
  if ((up = ox_up1(g, v, "Sigmoid")) != OX_NONE && near(scale, 1)) {
    product p;
    *alpha = 1;
    if (g->nodes[up].in[0] == x) return QUICK_GELU;
    if (!product_of(g, g->nodes[up].in[0], 2, &p) || p.n != 1 || p.v[0] != x) return NO_GATE;
    *alpha = p.scale;
    return QUICK_GELU;
  }
  if ((up = ox_up1(g, v, "HardSigmoid")) != OX_NONE && near(scale, 1)) {
    const ox_node *n = &g->nodes[up];
    bool fits = near((double)ox_attr_f(n, "alpha", 0.2f), 1.0 / 6) && ox_attr_f(n, "beta", 0.5f) == 0.5f;
    return fits && n->in[0] == x ? HARD_SWISH : NO_GATE;
  }
  if ((up = ox_up1(g, v, "Clip")) != OX_NONE && near(scale, 1.0 / 6)) {
    const ox_node *n = &g->nodes[up];
    bool lo = n->n_in > 1 ? ox_const_near(g, n->in[1], 0) : ox_attr_f(n, "min", NAN) == 0;
    bool hi = n->n_in > 2 ? ox_const_near(g, n->in[2], 6) : ox_attr_f(n, "max", NAN) == 6;
    return lo && hi && add_const(g, n->in[0], 3) == x ? HARD_SWISH : NO_GATE;
  }
  return NO_GATE;
}

/* The whole: root = scale * x * gate(x). */
static gate find(const ox_graph *g, ox_id root, ox_id *x, double *alpha) {
  product p;
  if (!product_of(g, g->nodes[root].out[0], 3, &p) || p.n != 2) return NO_GATE;
  for (int i = 0; i < 2; i++) {
    *x = p.v[1 - i];
    gate k = gate_of(g, p.v[i], *x, p.scale, alpha);
    if (k) return k;
  }
  return NO_GATE;
}

static const struct {
  const char *op, *domain;
} made[] = {[GELU] = {"Gelu", "com.microsoft"},
            [FAST_GELU] = {"FastGelu", "com.microsoft"},
            [QUICK_GELU] = {"QuickGelu", "com.microsoft"},
            [HARD_SWISH] = {"HardSwish", ""}};

enum { FLOATS = OX_BIT(OX_F32) | OX_BIT(OX_F64) | OX_T_FLOAT16S };
static const ox_pat mul[] = {{.op = "Mul|Div", .types = FLOATS}};

static bool guard(const ox_graph *g, const ox_match *m) {
  ox_id x, y = g->nodes[m->node[0]].out[0];
  double alpha;
  gate k = find(g, m->node[0], &x, &alpha);
  return k && ox_shape_at(g, x)->rank >= 0 && ox_shape_equal(ox_shape_at(g, x), ox_shape_at(g, y)) &&
         ox_op_serves(g, made[k].domain, made[k].op, ox_dtype_of(g, y));
}

static ox_status *apply(ox_graph *g, const ox_match *m) {
  ox_id x, in[2] = {g->nodes[m->node[0]].in[0], g->nodes[m->node[0]].in[1]};
  double alpha = 1;
  gate k = find(g, m->node[0], &x, &alpha);
  OX_TRY(ox_node_remake(g, m->node[0], made[k].domain, made[k].op, &x, 1));
  if (k == QUICK_GELU) OX_TRY(ox_node_set_float(g, m->node[0], "alpha", (float)alpha));
  for (int i = 0; i < 2; i++)
    if (g->values[in[i]].producer != OX_NONE) OX_TRY(ox_dce_from(g, g->values[in[i]].producer));
  return NULL;
}

static const ox_rule rules[] = {{"gated-activation", OX_LEVEL_EXTENDED, OX_PATTERN(mul), guard, apply, false}};
const ox_rule_set ox_rules_gated_act = {rules, OX_COUNT(rules)};

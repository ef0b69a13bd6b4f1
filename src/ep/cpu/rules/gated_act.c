/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu/rules/gated_act.c - x times a gate of x, written as many little operators: GELU by erf and by tanh, SiLU,
 * HardSwish. Exporters order and associate the products as they like, so a product is flattened into its factors first:
 * a tree of Mul (and Div by constants) without other readers. Each removes three nodes or more, SiLU one. */
#include "base/status.h"
#include "graph/dtype.h"
#include "onyx/rewrite.h"

enum { MAX_FACTORS = 4 };

/* |scale| times the product of |v|. */
typedef struct product {
  double scale;
  ox_id v[MAX_FACTORS];
  uint32_t n;
} product;

/* Multiplies |p| by the value |v|, looking through up to |depth| products that only this one reads. */
static int flatten(const ox_rewrite *g, ox_id v, int depth, int root, product *p) {
  double c;
  if (ox_const_scalar(g, v, &c)) {
    p->scale *= c;
    return 1;
  }
  ox_id mul = depth > 0 ? (root ? ox_up(g, v, "Mul|Div") : ox_up1(g, v, "Mul|Div")) : OX_NONE;
  if (ox_is(g, mul, "Mul"))
    return flatten(g, ox_in(g, mul, 0), depth - 1, 0, p) && flatten(g, ox_in(g, mul, 1), depth - 1, 0, p);
  if (mul != OX_NONE && ox_const_scalar(g, ox_in(g, mul, 1), &c) && c != 0) {
    p->scale /= c;
    return flatten(g, ox_in(g, mul, 0), depth - 1, 0, p);
  }
  if (p->n == MAX_FACTORS) return 0;
  p->v[p->n++] = v;
  return 1;
}

static int product_of(const ox_rewrite *g, ox_id v, int depth, product *p) {
  *p = (product){.scale = 1};
  return flatten(g, v, depth, 1, p);
}

/* |want|, or its inverse where it divides, in some digits of float32 or in all of a 16-bit type: exporters write 1.4142
 * and 0.044715. What is further off is another function. */
static int near(double got, double want) {
  if (fabs(got - want) <= 3e-5 * fabs(want)) return 1;
  for (int i = 0; i < 2; i++, got = 1 / got, want = 1 / want) {
    double half = ox_f16_to_f32(ox_f16_from_f32((float)want)), brain = ox_bf16_to_f32(ox_bf16_from_f32((float)want));
    if (fabs(got - half) <= 1e-6 * fabs(half) || fabs(got - brain) <= 1e-6 * fabs(brain)) return 1;
  }
  return 0;
}

/* |v| = |want| * x. */
static int is_scaled(const ox_rewrite *g, ox_id v, ox_id x, double want) {
  product p;
  return product_of(g, v, 2, &p) && p.n == 1 && p.v[0] == x && near(p.scale, want);
}

/* The other operand of the Add behind |v| if one is the constant |c| (and only one node reads |v|), or OX_NONE. */
static ox_id add_const(const ox_rewrite *g, ox_id v, double c) {
  ox_id add = ox_up1(g, v, "Add"), a = ox_in(g, add, 0), b = ox_in(g, add, 1);
  return ox_const_near(g, b, c) ? a : ox_const_near(g, a, c) ? b : OX_NONE;
}

/* |v| = |scale| * x^|power|, power 2 or 3, by Pow or by products. */
static int is_power(const ox_rewrite *g, ox_id v, ox_id x, int power, double scale) {
  product p;
  if (!product_of(g, v, 3, &p) || !near(p.scale, scale)) return 0;
  int have = 0;
  for (uint32_t i = 0; i < p.n; i++) {
    double e;
    ox_id pow = ox_up1(g, p.v[i], "Pow");
    if (p.v[i] == x)
      have++;
    else if (ox_in(g, pow, 0) == x && ox_const_scalar(g, ox_in(g, pow, 1), &e) && (e == 2 || e == 3))
      have += (int)e;
    else
      return 0;
  }
  return have == power;
}

/* |v| = sqrt(2/pi) * (x + 0.044715 x^3), or with x factored out. */
static int is_tanh_arg(const ox_rewrite *g, ox_id v, ox_id x) {
  static const double root = 0.7978845608028654, cube = 0.044715;
  product p;
  if (!product_of(g, v, 3, &p) || !near(p.scale, root)) return 0;
  if (p.n == 1) {
    ox_id add = ox_up1(g, p.v[0], "Add"), a = ox_in(g, add, 0), b = ox_in(g, add, 1);
    return add != OX_NONE && ((a == x && is_power(g, b, x, 3, cube)) || (b == x && is_power(g, a, x, 3, cube)));
  }
  if (p.n != 2) return 0;
  ox_id rest = p.v[0] == x ? p.v[1] : p.v[1] == x ? p.v[0] : OX_NONE;
  ox_id square = add_const(g, rest, 1);
  return square != OX_NONE && is_power(g, square, x, 2, cube);
}

typedef enum gate { NO_GATE, GELU, FAST_GELU, QUICK_GELU, HARD_SWISH } gate;

/* What |v| times x makes, given the other factors' product |scale|. */
static gate gate_of(const ox_rewrite *g, ox_id v, ox_id x, double scale, double *alpha) {
  ox_id inner = near(scale, 0.5) ? add_const(g, v, 1) : OX_NONE, up;
  if ((up = ox_up1(g, inner, "Erf")) != OX_NONE)
    return is_scaled(g, ox_in(g, up, 0), x, 0.7071067811865476) ? GELU : NO_GATE;
  if ((up = ox_up1(g, inner, "Tanh")) != OX_NONE) return is_tanh_arg(g, ox_in(g, up, 0), x) ? FAST_GELU : NO_GATE;
  if ((up = ox_up1(g, v, "Sigmoid")) != OX_NONE && near(scale, 1)) {
    product p;
    *alpha = 1;
    if (ox_in(g, up, 0) == x) return QUICK_GELU;
    if (!product_of(g, ox_in(g, up, 0), 2, &p) || p.n != 1 || p.v[0] != x) return NO_GATE;
    *alpha = p.scale;
    return QUICK_GELU;
  }
  if ((up = ox_up1(g, v, "HardSigmoid")) != OX_NONE && near(scale, 1)) {
    int fits = near((double)ox_attr_f(g, up, "alpha", 0.2f), 1.0 / 6) && ox_attr_f(g, up, "beta", 0.5f) == 0.5f;
    return fits && ox_in(g, up, 0) == x ? HARD_SWISH : NO_GATE;
  }
  if ((up = ox_up1(g, v, "Clip")) != OX_NONE && near(scale, 1.0 / 6)) {
    uint32_t n = ox_n_in(g, up);
    int lo = n > 1 ? ox_const_near(g, ox_in(g, up, 1), 0) : ox_attr_f(g, up, "min", NAN) == 0;
    int hi = n > 2 ? ox_const_near(g, ox_in(g, up, 2), 6) : ox_attr_f(g, up, "max", NAN) == 6;
    return lo && hi && add_const(g, ox_in(g, up, 0), 3) == x ? HARD_SWISH : NO_GATE;
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

typedef struct found {
  gate kind;
  ox_id x;
  double alpha;
} found;

/* The whole: root = scale * x * gate(x). */
static int find(const ox_rewrite *g, ox_id y, found *f) {
  product p;
  *f = (found){NO_GATE, OX_NONE, 1};
  if (!product_of(g, y, 3, &p) || p.n != 2) return 0;
  for (int i = 0; i < 2 && !f->kind; i++) f->x = p.v[1 - i], f->kind = gate_of(g, p.v[i], f->x, p.scale, &f->alpha);
  return f->kind != NO_GATE;
}

static int guard(const ox_rewrite *g, ox_match *m) {
  found *f = OX_CAPTURE(m, found);
  ox_id y = ox_out(g, m->node[0], 0);
  return find(g, y, f) && ox_shape_at(g, f->x)->rank >= 0 && ox_same_shape(ox_shape_at(g, f->x), ox_shape_at(g, y)) &&
         ox_op_serves(g, made[f->kind].domain, made[f->kind].op, ox_dtype_of(g, y));
}

static ox_status *apply(const ox_rewrite *g, const ox_match *m) {
  const found *f = OX_CAPTURED(m, found);
  ox_id root = m->node[0], old[2] = {ox_in(g, root, 0), ox_in(g, root, 1)};
  OX_TRY(ox_remake(g, root, made[f->kind].domain, made[f->kind].op, &f->x, 1));
  if (f->kind == QUICK_GELU) OX_TRY(ox_set_float(g, root, "alpha", (float)f->alpha));
  for (int i = 0; i < 2; i++) OX_TRY(ox_remove_unused(g, ox_producer(g, old[i])));
  return NULL;
}

static const ox_rule rules[] = {{OX_RULE("gated-activation", OX_OPTIMIZE_EXTENDED, mul, guard, apply)}};
const ox_rule_set ox_cpu_rules_gated_act = OX_OWNED_RULE_SET("cpu", rules);

/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu/rules/linear.c - MatMul and Gemm take in transposes, a scale, bias, residual and activation:
 * ai.onyx.Linear(A, B, bias, residual) = activation(alpha * A @ B + bias + residual). Each removes a node. */
#include "base/status.h"
#include "ep/cpu/activation.h"
#include "ep/cpu/linear.h"

static const char onyx[] = "ai.onyx";
static const char product_ops[] = "MatMul|Gemm";
enum { A, B, BIAS, RESIDUAL };
enum { FLOATS = OX_BIT(OX_F32) | OX_T_FLOAT16S };
enum { PRODUCT, AFTER };

/* |node| is or can become a Linear that is still open at its end. */
static int open_end(const ox_rewrite *g, ox_id node) {
  if (!ox_activation_free(g, node) || !ox_op_serves(g, onyx, "Linear", ox_dtype_of(g, ox_out(g, node, 0)))) return 0;
  return ox_linear_can(g, node);
}

static ox_status *take_over(const ox_rewrite *g, ox_id node, ox_id after) {
  OX_TRY(ox_linear_become(g, node));
  return ox_give_way(g, after, ox_out(g, node, 0));
}

/* ---- activation ---- */

#define PRODUCT_THEN(ops, dom)                                                            \
  {                                                                                       \
    [PRODUCT] = {.op = ops, .domain = dom, .single_use = 1, .types = FLOATS}, [AFTER] = { \
      .activation = 1,                                                                    \
      .in = {OX_FROM(PRODUCT)}                                                            \
    }                                                                                     \
  }
static const ox_pat act_plain[] = PRODUCT_THEN(product_ops, NULL);
static const ox_pat act_linear[] = PRODUCT_THEN("Linear", onyx);

static int act_guard(const ox_rewrite *g, ox_match *m) {
  return ox_activation_of(g, m->node[AFTER], OX_CAPTURE(m, ox_activation)) && open_end(g, m->node[PRODUCT]);
}

static ox_status *act_apply(const ox_rewrite *g, const ox_match *m) {
  OX_TRY(ox_activation_set(g, m->node[PRODUCT], OX_CAPTURED(m, ox_activation)));
  return take_over(g, m->node[PRODUCT], m->node[AFTER]);
}

/* ---- bias and residual ---- */

#define THEN_ADD(ops, dom)                                                                \
  {                                                                                       \
    [PRODUCT] = {.op = ops, .domain = dom, .single_use = 1, .types = FLOATS}, [AFTER] = { \
      .op = "Add",                                                                        \
      .in = {OX_FROM(PRODUCT), OX_ARG(0)},                                                \
      .commutative = 1                                                                    \
    }                                                                                     \
  }
static const ox_pat add_plain[] = THEN_ADD(product_ops, NULL);
static const ox_pat add_linear[] = THEN_ADD("Linear", onyx);

/* |term| broadcasts to |y| without widening it, as far as shapes are known: they must be. */
static int fits(const ox_shape *term, const ox_shape *y) {
  if (term->rank < 0 || y->rank < 1 || term->rank > y->rank) return 0;
  for (int i = 0; i < term->rank; i++) {
    int64_t t = term->dim[i], d = y->dim[y->rank - term->rank + i];
    if (t != 1 && (t != d || t == -1)) return 0;
  }
  return 1;
}

static int arg_fits(const ox_rewrite *g, const ox_match *m) {
  return fits(ox_shape_at(g, m->arg[0]), ox_shape_at(g, ox_out(g, m->node[PRODUCT], 0)));
}

static uint32_t free_slot(const ox_rewrite *g, ox_id node) {
  if (ox_in(g, node, BIAS) == OX_NONE) return BIAS;
  return ox_in(g, node, RESIDUAL) == OX_NONE ? RESIDUAL : OX_NONE;
}

static int add_guard(const ox_rewrite *g, ox_match *m) {
  uint32_t slot = *OX_CAPTURE(m, uint32_t) = free_slot(g, m->node[PRODUCT]);
  return slot != OX_NONE && open_end(g, m->node[PRODUCT]) && arg_fits(g, m);
}

static ox_status *add_apply(const ox_rewrite *g, const ox_match *m) {
  OX_TRY(ox_set_in(g, m->node[PRODUCT], *OX_CAPTURED(m, uint32_t), m->arg[0]));
  return take_over(g, m->node[PRODUCT], m->node[AFTER]);
}

/* ---- scale ---- */

#define SCALED(ops, dom, scale_op, both)                                                  \
  {                                                                                       \
    [PRODUCT] = {.op = ops, .domain = dom, .single_use = 1, .types = FLOATS}, [AFTER] = { \
      .op = scale_op,                                                                     \
      .in = {OX_FROM(PRODUCT), OX_CONST(0)},                                              \
      .commutative = both                                                                 \
    }                                                                                     \
  }
static const ox_pat mul_plain[] = SCALED("MatMul", NULL, "Mul", 1);
static const ox_pat div_plain[] = SCALED("MatMul", NULL, "Div", 0);
static const ox_pat mul_linear[] = SCALED("Linear", onyx, "Mul", 1);
static const ox_pat div_linear[] = SCALED("Linear", onyx, "Div", 0);

static int scale_guard(const ox_rewrite *g, ox_match *m) {
  double *s = OX_CAPTURE(m, double);
  ox_id product = m->node[PRODUCT];
  if (ox_in(g, product, BIAS) != OX_NONE || ox_in(g, product, RESIDUAL) != OX_NONE) return 0;
  return ox_const_scalar(g, m->arg[0], s) && isfinite(*s) && *s != 0 && open_end(g, product) && arg_fits(g, m);
}

static ox_status *scale_apply(const ox_rewrite *g, const ox_match *m) {
  double s = *OX_CAPTURED(m, double);
  if (ox_is(g, m->node[AFTER], "Div")) s = 1 / s;
  s *= (double)ox_attr_f(g, m->node[PRODUCT], "alpha", 1);
  OX_TRY(ox_set_float(g, m->node[PRODUCT], "alpha", (float)s));
  return take_over(g, m->node[PRODUCT], m->node[AFTER]);
}

/* The inputs of a product in patterns whose node 0 stands in front of A, or of B. */
#define FEEDS_A \
  { OX_FROM(0) }
#define FEEDS_B \
  { OX_ANY, OX_FROM(0) }

/* ---- a scale of an input ---- */

enum { SCALE, PRODUCT_OF };
#define SCALE_IN(slot_pattern, ops, dom)                                                                             \
  {                                                                                                                  \
    [SCALE] = {.op = "Mul|Div", .single_use = 1, .in = {OX_ARG(0), OX_CONST(1)}, .commutative = 1}, [PRODUCT_OF] = { \
      .op = ops,                                                                                                     \
      .domain = dom,                                                                                                 \
      .in = slot_pattern,                                                                                            \
      .types = OX_BIT(OX_F32)                                                                                        \
    }                                                                                                                \
  }
static const ox_pat scaled_a[] = SCALE_IN(FEEDS_A, "MatMul", NULL);
static const ox_pat scaled_b[] = SCALE_IN(FEEDS_B, "MatMul", NULL);
static const ox_pat scaled_a_linear[] = SCALE_IN(FEEDS_A, "Linear", onyx);
static const ox_pat scaled_b_linear[] = SCALE_IN(FEEDS_B, "Linear", onyx);

/* Saves the scaled copy, of a decoder's keys for example; a Transpose in front of the scale then becomes part of the
 * product, too. */
static int scaled_guard(const ox_rewrite *g, ox_match *m) {
  double *s = OX_CAPTURE(m, double);
  ox_id scale = m->node[SCALE];
  int div = ox_is(g, scale, "Div");
  if (!ox_const_scalar(g, m->arg[1], s) || !isfinite(*s) || *s == 0) return 0;
  if (div && ox_in(g, scale, 1) != m->arg[1]) return 0;
  if (div) *s = 1 / *s;
  return ox_shape_at(g, m->arg[0])->rank >= ox_const_type(g, m->arg[1])->shape.rank &&
         ox_op_serves(g, onyx, "Linear", OX_F32);
}

static ox_status *scaled_apply(const ox_rewrite *g, const ox_match *m) {
  ox_id product = m->node[PRODUCT_OF];
  double s = *OX_CAPTURED(m, double) * (double)ox_attr_f(g, product, "alpha", 1);
  OX_TRY(ox_set_float(g, product, "alpha", (float)s));
  OX_TRY(ox_set_in(g, product, ox_in(g, product, A) == ox_out(g, m->node[SCALE], 0) ? A : B, m->arg[0]));
  return ox_linear_become(g, product);
}

/* ---- transposes in front ---- */

enum { TRANSPOSE, TRANSPOSED };
#define BEHIND(slot_pattern, ops, dom) \
  { [TRANSPOSE] = {.op = "Transpose"}, [TRANSPOSED] = {.op = ops, .domain = dom, .in = slot_pattern, .types = FLOATS}, }
static const ox_pat trans_a[] = BEHIND(FEEDS_A, "MatMul", NULL);
static const ox_pat trans_b[] = BEHIND(FEEDS_B, "MatMul", NULL);
static const ox_pat trans_a_linear[] = BEHIND(FEEDS_A, "Linear", onyx);
static const ox_pat trans_b_linear[] = BEHIND(FEEDS_B, "Linear", onyx);

/* The Transpose swaps the last two dimensions and leaves the others. */
static int swaps_last(const ox_rewrite *g, ox_id node) {
  const ox_attr_view *a = ox_attr_of(g, node, "perm");
  if (!a || a->kind != OX_ATTR_INTS_KIND) return !a && ox_shape_at(g, ox_in(g, node, 0))->rank == 2;
  int n = (int)a->n;
  for (int i = 0; i + 2 < n; i++)
    if (a->ints[i] != i) return 0;
  return n >= 2 && a->ints[n - 2] == n - 1 && a->ints[n - 1] == n - 2;
}

static int trans_guard(const ox_rewrite *g, ox_match *m) {
  return swaps_last(g, m->node[TRANSPOSE]) &&
         ox_op_serves(g, onyx, "Linear", ox_dtype_of(g, ox_out(g, m->node[TRANSPOSED], 0)));
}

static ox_status *untranspose(const ox_rewrite *g, const ox_match *m, uint32_t slot, const char *flag) {
  ox_id node = m->node[TRANSPOSED];
  OX_TRY(ox_set_int(g, node, flag, !ox_attr_i(g, node, flag, 0)));
  OX_TRY(ox_set_in(g, node, slot, ox_in(g, m->node[TRANSPOSE], 0)));
  return ox_linear_become(g, node);
}

static ox_status *trans_a_apply(const ox_rewrite *g, const ox_match *m) { return untranspose(g, m, A, "transA"); }
static ox_status *trans_b_apply(const ox_rewrite *g, const ox_match *m) { return untranspose(g, m, B, "transB"); }

#define LATE(name, pattern, guard, apply) \
  { OX_RULE(name, OX_OPTIMIZE_EXTENDED, pattern, guard, apply), .late = 1 }
static const ox_rule rules[] = {
    LATE("linear-activation", act_plain, act_guard, act_apply),
    LATE("linear-activation", act_linear, act_guard, act_apply),
    LATE("linear-add", add_plain, add_guard, add_apply),
    LATE("linear-add", add_linear, add_guard, add_apply),
    LATE("linear-scale", mul_plain, scale_guard, scale_apply),
    LATE("linear-scale", div_plain, scale_guard, scale_apply),
    LATE("linear-scale", mul_linear, scale_guard, scale_apply),
    LATE("linear-scale", div_linear, scale_guard, scale_apply),
    LATE("linear-scaled", scaled_a, scaled_guard, scaled_apply),
    LATE("linear-scaled", scaled_b, scaled_guard, scaled_apply),
    LATE("linear-scaled", scaled_a_linear, scaled_guard, scaled_apply),
    LATE("linear-scaled", scaled_b_linear, scaled_guard, scaled_apply),
    LATE("linear-transpose", trans_a, trans_guard, trans_a_apply),
    LATE("linear-transpose", trans_b, trans_guard, trans_b_apply),
    LATE("linear-transpose", trans_a_linear, trans_guard, trans_a_apply),
    LATE("linear-transpose", trans_b_linear, trans_guard, trans_b_apply),
};
const ox_rule_set ox_cpu_rules_linear = OX_OWNED_RULE_SET("cpu", rules);

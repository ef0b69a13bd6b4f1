/* SPDX-License-Identifier: Apache-2.0
 * opt/rules/linear.c - MatMul and Gemm take in transposes, a scale, bias, residual and activation:
 * ai.onyx.Linear(A, B, bias, residual) = activation(alpha * A @ B + bias + residual). Each removes a node. */
#include <math.h>
#include <string.h>

#include "opt/activation.h"

static const char onyx[] = "ai.onyx";
static const char product_ops[] = "MatMul|Gemm";
enum { A, B, BIAS, RESIDUAL };
enum { FLOATS = OX_BIT(OX_F32) | OX_T_FLOAT16S };
enum { PRODUCT, AFTER };

/* |node| is or can become a Linear that is still open at its end. */
static bool open_end(const ox_graph *g, ox_id node) {
  const ox_node *n = &g->nodes[node];
  if (!ox_activation_free(n) || !ox_op_serves(g, onyx, "Linear", ox_dtype_of(g, n->out[0]))) return false;
  if (ox_node_is(n, "Gemm", NULL)) /* C is unidirectionally broadcast, as a bias is */
    return ox_attr_f(n, "beta", 1) == 1 && ox_attr_i(n, "broadcast", 1) == 1;
  return true;
}

/* Alpha, transA and transB mean the same everywhere; only Gemm's beta must go. */
static ox_status *to_linear(ox_graph *g, ox_id node) {
  ox_node_remove_attr(g, node, "beta");
  ox_node_remove_attr(g, node, "broadcast");
  return ox_node_become(g, node, onyx, "Linear");
}

static ox_status *take_over(ox_graph *g, ox_id node, ox_id after) {
  OX_TRY(to_linear(g, node));
  OX_TRY(ox_graph_replace_uses(g, g->nodes[after].out[0], g->nodes[node].out[0]));
  ox_graph_remove_node(g, after);
  return NULL;
}

/* ---- activation ---- */

#define PRODUCT_THEN(ops, dom, act_ops, act_domain)                                          \
  {                                                                                          \
    [PRODUCT] = {.op = ops, .domain = dom, .single_use = true, .types = FLOATS}, [AFTER] = { \
      .op = act_ops,                                                                         \
      .domain = act_domain,                                                                  \
      .in = {OX_FROM(PRODUCT)}                                                               \
    }                                                                                        \
  }
static const ox_pat act_plain[] = PRODUCT_THEN(product_ops, NULL, OX_ACTIVATION_OPS, NULL);
static const ox_pat act_linear[] = PRODUCT_THEN("Linear", onyx, OX_ACTIVATION_OPS, NULL);
static const ox_pat act_plain_ms[] = PRODUCT_THEN(product_ops, NULL, OX_ACTIVATION_OPS_MS, "com.microsoft");
static const ox_pat act_linear_ms[] = PRODUCT_THEN("Linear", onyx, OX_ACTIVATION_OPS_MS, "com.microsoft");

static bool act_guard(const ox_graph *g, const ox_match *m) {
  ox_activation a;
  return ox_activation_of(g, m->node[AFTER], &a) && open_end(g, m->node[PRODUCT]);
}

static ox_status *act_apply(ox_graph *g, const ox_match *m) {
  ox_activation a;
  ox_activation_of(g, m->node[AFTER], &a);
  OX_TRY(ox_activation_set(g, m->node[PRODUCT], &a));
  return take_over(g, m->node[PRODUCT], m->node[AFTER]);
}

/* ---- bias and residual ---- */

static const ox_pat add_plain[] = {[PRODUCT] = {.op = product_ops, .single_use = true, .types = FLOATS},
                                   [AFTER] = {.op = "Add", .in = {OX_FROM(PRODUCT), OX_ARG(0)}, .commutative = true}};
static const ox_pat add_linear[] = {[PRODUCT] = {.op = "Linear", .domain = onyx, .single_use = true, .types = FLOATS},
                                    [AFTER] = {.op = "Add", .in = {OX_FROM(PRODUCT), OX_ARG(0)}, .commutative = true}};

/* |term| broadcasts to |y| without widening it, as far as shapes are known: they must be. */
static bool fits(const ox_shape *term, const ox_shape *y) {
  if (term->rank < 0 || y->rank < 1 || term->rank > y->rank) return false;
  for (int i = 0; i < term->rank; i++) {
    int64_t t = term->dim[i], d = y->dim[y->rank - term->rank + i];
    if (t != 1 && (t != d || t == -1)) return false;
  }
  return true;
}

static uint32_t free_slot(const ox_graph *g, ox_id node) {
  if (ox_in(g, node, BIAS) == OX_NONE) return BIAS;
  return ox_in(g, node, RESIDUAL) == OX_NONE ? RESIDUAL : OX_NONE;
}

static bool add_guard(const ox_graph *g, const ox_match *m) {
  const ox_node *n = &g->nodes[m->node[PRODUCT]];
  return free_slot(g, m->node[PRODUCT]) != OX_NONE && open_end(g, m->node[PRODUCT]) &&
         fits(ox_shape_at(g, m->arg[0]), ox_shape_at(g, n->out[0]));
}

static ox_status *add_apply(ox_graph *g, const ox_match *m) {
  uint32_t slot = free_slot(g, m->node[PRODUCT]);
  OX_TRY(ox_node_set_input(g, m->node[PRODUCT], slot, m->arg[0]));
  return take_over(g, m->node[PRODUCT], m->node[AFTER]);
}

/* ---- scale ---- */

#define SCALED(ops, dom, scale_op, both)                                                     \
  {                                                                                          \
    [PRODUCT] = {.op = ops, .domain = dom, .single_use = true, .types = FLOATS}, [AFTER] = { \
      .op = scale_op,                                                                        \
      .in = {OX_FROM(PRODUCT), OX_CONST(0)},                                                 \
      .commutative = both                                                                    \
    }                                                                                        \
  }
static const ox_pat mul_plain[] = SCALED("MatMul", NULL, "Mul", true);
static const ox_pat div_plain[] = SCALED("MatMul", NULL, "Div", false);
static const ox_pat mul_linear[] = SCALED("Linear", onyx, "Mul", true);
static const ox_pat div_linear[] = SCALED("Linear", onyx, "Div", false);

static bool scale_guard(const ox_graph *g, const ox_match *m) {
  double s;
  const ox_shape *y = ox_shape_at(g, g->nodes[m->node[PRODUCT]].out[0]);
  if (free_slot(g, m->node[PRODUCT]) != BIAS || ox_in(g, m->node[PRODUCT], RESIDUAL) != OX_NONE) return false;
  return ox_const_scalar(g, m->arg[0], &s) && isfinite(s) && s != 0 && open_end(g, m->node[PRODUCT]) &&
         fits(ox_shape_at(g, m->arg[0]), y);
}

static ox_status *scale_apply(ox_graph *g, const ox_match *m) {
  double s;
  ox_const_scalar(g, m->arg[0], &s);
  if (ox_node_is(&g->nodes[m->node[AFTER]], "Div", NULL)) s = 1 / s;
  s *= (double)ox_attr_f(&g->nodes[m->node[PRODUCT]], "alpha", 1);
  OX_TRY(ox_node_set_float(g, m->node[PRODUCT], "alpha", (float)s));
  return take_over(g, m->node[PRODUCT], m->node[AFTER]);
}

/* ---- transposes in front ---- */

#define TRANSPOSED(slot_pattern, ops, dom) \
  { {.op = "Transpose"}, {.op = ops, .domain = dom, .in = slot_pattern, .types = FLOATS}, }
#define IN_A \
  { OX_FROM(0) }
#define IN_B \
  { {OX_PAT_ANY, 0, 0}, OX_FROM(0) }
static const ox_pat trans_a[] = TRANSPOSED(IN_A, "MatMul", NULL);
static const ox_pat trans_b[] = TRANSPOSED(IN_B, "MatMul", NULL);
static const ox_pat trans_a_linear[] = TRANSPOSED(IN_A, "Linear", onyx);
static const ox_pat trans_b_linear[] = TRANSPOSED(IN_B, "Linear", onyx);

/* The Transpose swaps the last two dimensions and leaves the others. */
static bool swaps_last(const ox_graph *g, ox_id node) {
  const ox_attr *a = ox_node_attr(&g->nodes[node], "perm");
  const ox_shape *s = ox_shape_at(g, g->nodes[node].in[0]);
  if (!a || a->v.kind != OX_ATTR_INTS_KIND) return !a && s->rank == 2;
  int n = (int)a->v.n;
  for (int i = 0; i + 2 < n; i++)
    if (a->v.ints[i] != i) return false;
  return n >= 2 && a->v.ints[n - 2] == n - 1 && a->v.ints[n - 1] == n - 2;
}

static bool trans_guard(const ox_graph *g, const ox_match *m) {
  return swaps_last(g, m->node[0]) && ox_op_serves(g, onyx, "Linear", ox_dtype_of(g, g->nodes[m->node[1]].out[0]));
}

static ox_status *untranspose(ox_graph *g, const ox_match *m, uint32_t slot, const char *flag) {
  ox_id node = m->node[1];
  OX_TRY(ox_node_set_int(g, node, flag, !ox_attr_i(&g->nodes[node], flag, 0)));
  OX_TRY(ox_node_set_input(g, node, slot, g->nodes[m->node[0]].in[0]));
  return to_linear(g, node);
}

static ox_status *trans_a_apply(ox_graph *g, const ox_match *m) { return untranspose(g, m, A, "transA"); }
static ox_status *trans_b_apply(ox_graph *g, const ox_match *m) { return untranspose(g, m, B, "transB"); }

static const ox_rule rules[] = {
    {"linear-activation", OX_LEVEL_EXTENDED, OX_PATTERN(act_plain), act_guard, act_apply, true},
    {"linear-activation", OX_LEVEL_EXTENDED, OX_PATTERN(act_linear), act_guard, act_apply, true},
    {"linear-activation", OX_LEVEL_EXTENDED, OX_PATTERN(act_plain_ms), act_guard, act_apply, true},
    {"linear-activation", OX_LEVEL_EXTENDED, OX_PATTERN(act_linear_ms), act_guard, act_apply, true},
    {"linear-add", OX_LEVEL_EXTENDED, OX_PATTERN(add_plain), add_guard, add_apply, true},
    {"linear-add", OX_LEVEL_EXTENDED, OX_PATTERN(add_linear), add_guard, add_apply, true},
    {"linear-scale", OX_LEVEL_EXTENDED, OX_PATTERN(mul_plain), scale_guard, scale_apply, true},
    {"linear-scale", OX_LEVEL_EXTENDED, OX_PATTERN(div_plain), scale_guard, scale_apply, true},
    {"linear-scale", OX_LEVEL_EXTENDED, OX_PATTERN(mul_linear), scale_guard, scale_apply, true},
    {"linear-scale", OX_LEVEL_EXTENDED, OX_PATTERN(div_linear), scale_guard, scale_apply, true},
    {"linear-transpose", OX_LEVEL_EXTENDED, OX_PATTERN(trans_a), trans_guard, trans_a_apply, true},
    {"linear-transpose", OX_LEVEL_EXTENDED, OX_PATTERN(trans_b), trans_guard, trans_b_apply, true},
    {"linear-transpose", OX_LEVEL_EXTENDED, OX_PATTERN(trans_a_linear), trans_guard, trans_a_apply, true},
    {"linear-transpose", OX_LEVEL_EXTENDED, OX_PATTERN(trans_b_linear), trans_guard, trans_b_apply, true},
};
const ox_rule_set ox_rules_linear = {rules, OX_COUNT(rules)};

/* SPDX-License-Identifier: Apache-2.0
 * rule.c - a rewrite rule and a pass in a shared library; clone it for your own.
 *
 *   cc -std=c11 -O2 -shared -fPIC rule.c $(pkg-config --cflags onyx) -o librule.so
 *   onyx optimize model.onnx --plugin ./librule.so --verify -o fast.onnx
 *
 * The rule makes x / c into x * (1 / c) where that changes no bit: c is a power of two. The pass removes Abs of what
 * cannot be negative. Both are switched off by name: --no-rule div-to-mul. */
#include <onyx/plugin.h>
#include <onyx/rewrite.h>

/* ---- a rule: a pattern, a guard for what it cannot say, an edit ---- */

enum { DIV };
static const ox_pat div_by_constant[] = {
    [DIV] = {.op = "Div", .in = {OX_ARG(0), OX_CONST(1)}, .types = OX_BIT(OX_F32)}, /* the last entry is the root */
};

typedef struct {
  float factor;
} found; /* what the guard works out and the edit needs */

static int is_power_of_two(const ox_rewrite *g, ox_match *m) {
  int exponent;
  double divisor;
  if (!ox_const_scalar(g, m->arg[1], &divisor) || fabs(frexp(divisor, &exponent)) != 0.5) return 0;
  if (exponent < -120 || exponent > 120) return 0; /* 1 / c is to be a normal number, too */
  if (ox_shape_at(g, m->arg[1])->rank > ox_shape_at(g, m->arg[0])->rank) return 0; /* or the output would lose rank */
  OX_CAPTURE(m, found)->factor = (float)(1 / divisor);
  return 1;
}

static ox_status *multiply(const ox_rewrite *g, const ox_match *m) {
  float *data;
  ox_id factor;
  ox_status *st = ox_f32_room(g, "factor", 0, NULL, &data, &factor);
  if (st) return st;
  *data = OX_CAPTURED(m, found)->factor;
  st = ox_set_in(g, m->node[DIV], 1, factor);
  return st ? st : ox_become(g, m->node[DIV], NULL, "Mul"); /* the name, the other input and the output stay */
}

static const ox_rule rules[] = {{OX_RULE("div-to-mul", OX_OPTIMIZE_BASIC, div_by_constant, is_power_of_two, multiply)}};

/* ---- a pass: the whole graph at once, here what flows along its edges ---- */

static ox_status *drop_abs(const ox_rewrite *g, uint32_t *out_changes) {
  const ox_id *nodes;
  uint32_t n;
  ox_status *st = g->api->order(g, &nodes, &n); /* producers first */
  if (st) return st;
  char *positive = g->api->scratch(g, g->api->value_count(g) + 1); /* by value; zeroed */
  if (!positive) return ox_no_memory(g);
  for (uint32_t i = 0; i < n && !st; i++) {
    ox_id a = ox_in(g, nodes[i], 0), b = ox_in(g, nodes[i], 1), out = ox_out(g, nodes[i], 0);
    int a_is = a != OX_NONE && positive[a], b_is = b != OX_NONE && positive[b];
    if (out != OX_NONE)
      positive[out] = ox_is(g, nodes[i], "Abs|Exp|Sigmoid|Softmax") || (ox_is(g, nodes[i], "Add|Mul") && a_is && b_is);
    if (!ox_is(g, nodes[i], "Abs") || !a_is || !ox_can_replace(g, out, a)) continue;
    st = ox_bypass(g, nodes[i]); /* who read the output reads the input */
    (*out_changes)++;
  }
  return st;
}

static const ox_pass passes[] = {
    {.struct_size = sizeof(ox_pass), .level = OX_OPTIMIZE_BASIC, .name = "drop-abs", .run = drop_abs}};

/* ---- the tables ---- */

static const ox_rule_set set = {.struct_size = sizeof set,
                                .place = OX_RULES_WITH, /* together with the standard rules */
                                .rules = rules,
                                .n_rules = 1,
                                .passes = passes,
                                .n_passes = 1};
static const ox_rule_set *const sets[] = {&set};

static const ox_plugin plugin = {
    .struct_size = sizeof plugin, .abi_major = OX_EP_ABI_MAJOR, .name = "rule", .rule_sets = sets, .n_rule_sets = 1};

const ox_plugin *ox_plugin_query(uint32_t host_abi_major) { return host_abi_major == OX_EP_ABI_MAJOR ? &plugin : NULL; }

/* SPDX-License-Identifier: Apache-2.0
 * ops/activation_test.c - which nodes are activations, under which name and with which parameters; and patterns that
 * stand for any of them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "graph/node_activation.h"
#include "opt/match.h"
#include "opt/opt.h"
#include "support/check.h"
#include "support/run_graph.h"

static const struct {
  int opset;
  const char *node, *want; /* NULL: none */
} cases[] = {
    {17, "Relu(x)", "Relu"},
    {17, "Sigmoid(x)", "Sigmoid"},
    {17, "Tanh(x)", "Tanh"},
    {17, "HardSwish(x)", "HardSwish"},
    {17, "LeakyRelu(x)", "LeakyRelu 0.01"},
    {17, "LeakyRelu<alpha = 0.25>(x)", "LeakyRelu 0.25"},
    {17, "Elu(x)", "Elu 1"},
    {17, "HardSigmoid(x)", "HardSigmoid 0.2 0.5"},
    {17, "HardSigmoid<beta = 0.75>(x)", "HardSigmoid 0.2 0.75"},
    {20, "Gelu(x)", "Gelu"},
    {20, "Gelu<approximate = \"tanh\">(x)", "FastGelu"},
    {20, "Gelu<approximate = \"none\">(x)", "Gelu"},
    {24, "Swish(x)", "Silu"},
    {24, "Swish<alpha = 2.0>(x)", "QuickGelu 2"},
    {17, "com.microsoft.Gelu(x)", "Gelu"},
    {17, "com.microsoft.FastGelu(x)", "FastGelu"},
    {17, "com.microsoft.FastGelu(x, x)", NULL}, /* with a bias */
    {17, "com.microsoft.QuickGelu(x)", "QuickGelu 1.702"},
    {17, "com.microsoft.QuickGelu<alpha = 1.0>(x)", "Silu"},
    {6, "Clip(x)", "Clip -inf inf"},
    {6, "Clip<min = -1.0, max = 6.0>(x)", "Clip -1 6"},
    {6, "Clip<min = 2.0, max = 1.0>(x)", NULL},
    {11, "Clip(x)", "Clip -inf inf"},
    {11, "Clip(x, zero, six)", "Clip 0 6"},
    {11, "Clip(x, , six)", "Clip -inf 6"},
    {11, "Clip(x, six, zero)", NULL},
    {11, "Clip(x, s)", NULL}, /* not constant */
    {11, "Clip(x, odd)", NULL},
    {11, "Clip(x, fourth)", "Clip 0.25 inf"},
    {11, "Clip(x, tenth)", NULL}, /* no float */
    {17, "Abs(x)", NULL},
    {17, "Selu(x)", NULL},
    {17, "nobody.Relu(x)", NULL},
};

static ox_model *model_of(size_t i) {
  char text[512];
  snprintf(text, sizeof text,
           "<ir_version: 8, opset_import: [\"\" : %d, \"com.microsoft\" : 1, \"nobody\" : 1]>"
           "g (float[2] x, float s) => (y) <float zero = {0}, float six = {6}, float odd = {nan}, double fourth = "
           "{0.25}, double tenth = {0.1}> { y = %s }",
           cases[i].opset, cases[i].node);
  return rg_read(text);
}

static void test_names_and_parameters(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(cases); i++) {
    ox_model *m = model_of(i);
    ox_activation a;
    char got[64] = "";
    if (ox_activation_read(m->graph, &m->graph->nodes[0], &a)) {
      int at = snprintf(got, sizeof got, "%s", a.name);
      for (uint32_t k = 0; k < a.n_params; k++)
        at += snprintf(got + at, sizeof got - (size_t)at, " %.4g", (double)a.params[k]);
    }
    if (strcmp(got, cases[i].want ? cases[i].want : "") != 0)
      fail_msg("%s: '%s', wanted '%s'", cases[i].node, got, cases[i].want ? cases[i].want : "");
    ox_model_destroy(m);
  }
}

/* A pattern takes whatever may be one: whether it is, its guard asks. */
static void test_patterns(void **state) {
  (void)state;
  static const ox_pat pat[] = {{.activation = 1, .in = {OX_ARG(0)}}};
  const ox_rule rule = {OX_RULE("any", OX_OPTIMIZE_BASIC, pat, NULL, NULL)};
  for (size_t i = 0; i < OX_COUNT(cases); i++) {
    ox_match match;
    ox_model *m = model_of(i);
    const char *op = m->graph->nodes[0].op;
    bool may_be = cases[i].want || strcmp(op, "Clip") == 0 || strcmp(op, "FastGelu") == 0;
    const ox_schema *schema = ox_node_schema(m, &m->graph->nodes[0], NULL);
    if (ox_rule_match(m->graph, &rule, 0, schema, &match) != may_be) fail_msg("%s", cases[i].node);
    if (may_be) assert_int_equal(match.arg[0], m->graph->nodes[0].in[0]);
    ox_model_destroy(m);
  }
}

static ox_status *apply(const ox_rewrite *g, const ox_match *m) {
  (void)g, (void)m;
  return NULL;
}

static void test_a_pattern_names_operators_or_is_an_activation(void **state) {
  (void)state;
  static const ox_pat both[] = {{.op = "Relu", .activation = 1}}, domain[] = {{.domain = "d", .activation = 1}};
  static const ox_pat neither[] = {{.domain = "d"}}, fine[] = {{.activation = 1}};
  const ox_rule rules[] = {{OX_RULE("r", OX_OPTIMIZE_BASIC, both, NULL, apply)},
                           {OX_RULE("r", OX_OPTIMIZE_BASIC, domain, NULL, apply)},
                           {OX_RULE("r", OX_OPTIMIZE_BASIC, neither, NULL, apply)},
                           {OX_RULE("r", OX_OPTIMIZE_BASIC, fine, NULL, apply)}};
  for (size_t i = 0; i < OX_COUNT(rules); i++) {
    const ox_rule_set set = {.struct_size = sizeof set, .rules = &rules[i], .n_rules = 1};
    if (i == 3)
      CHECK_OK(ox_rule_set_check(&set));
    else
      CHECK_FAILS(ox_rule_set_check(&set), OX_INVALID_ARGUMENT, "rule 'r'");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_names_and_parameters),
      cmocka_unit_test(test_patterns),
      cmocka_unit_test(test_a_pattern_names_operators_or_is_an_activation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

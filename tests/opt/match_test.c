/* SPDX-License-Identifier: Apache-2.0
 * opt/match_test.c - patterns: swapped inputs, values that must be the same, shared nodes, uses and types. */
#include "opt/match.h"

#include <string.h>

#include "base/macros.h"
#include "onyx/rewrite.h"
#include "opt/rewriter.h"
#include "support/build_graph.h"
#include "support/run_graph.h"

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17]> g "

static ox_id named(const ox_graph *g, const char *out) { return g->values[ox_graph_find(g, out)].producer; }

static bool matches(const char *text, const ox_pat *pat, uint32_t n, ox_match *m) {
  ox_model *model = rg_read(text);
  CHECK_OK(ox_infer_graph(model->graph, NULL, false));
  ox_rule rule = {.name = "test", .pat = pat, .n_pat = n};
  ox_id root = named(model->graph, "y");
  const ox_schema *schema = ox_node_schema(model, &model->graph->nodes[root], NULL);
  bool found = ox_rule_match(model->graph, &rule, root, schema, m);
  ox_model_destroy(model);
  return found;
}

enum { SQUARE, TIMES, SUM };
/* (x * x) * c + (x * x), both products and the sum in any order */
static const ox_pat both[] = {
    [SQUARE] = {.op = "Mul", .in = {OX_ARG(0), OX_ARG(0)}, .uses = 2},
    [TIMES] = {.op = "Mul", .in = {OX_FROM(SQUARE), OX_CONST(1)}, .single_use = 1, .commutative = 1},
    [SUM] = {.op = "Add|Sum", .in = {OX_FROM(TIMES), OX_FROM(SQUARE)}, .commutative = 1}};

static void test_swapped_inputs_and_shared_nodes(void **state) {
  (void)state;
  static const struct {
    const char *text;
    bool found;
  } rows[] = {
      {HEAD "(float[2] x) => (float[2] y) <float c = {2}> { s = Mul (x, x) t = Mul (s, c) y = Add (t, s) }", true},
      {HEAD "(float[2] x) => (float[2] y) <float c = {2}> { s = Mul (x, x) t = Mul (c, s) y = Add (s, t) }", true},
      {HEAD "(float[2] x) => (float[2] y) <float c = {2}> { s = Mul (x, x) t = Mul (c, s) y = Sum (t, s) }", true},
      {HEAD "(float[2] x, float[2] z) => (float[2] y) <float c = {2}> { s = Mul (x, z) t = Mul (s, c) y = Add (t, s) }",
       false},
      {HEAD "(float[2] x, float c) => (float[2] y) { s = Mul (x, x) t = Mul (s, c) y = Add (t, s) }", false},
      {HEAD "(float[2] x) => (float[2] y, float[2] t) <float c = {2}> { s = Mul (x, x) t = Mul (s, c) y = Add (t, s) }",
       false},
      {HEAD "(float[2] x) => (float[2] y, float[2] z) <float c = {2}> { s = Mul (x, x) t = Mul (s, c) y = Add (t, s) "
            "z = Neg (s) }",
       false},
      {HEAD
       "(float[2] x) => (float[2] y) <float c = {2}> { s = Mul (x, x) q = Mul (x, x) t = Mul (s, c) y = Add (t, q) }",
       false},
      {HEAD "(float[2] x) => (float[2] y) <float c = {2}> { s = Mul (x, x) t = Mul (s, c) y = Sub (t, s) }", false},
  };
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    ox_match m;
    if (matches(rows[i].text, both, OX_COUNT(both), &m) != rows[i].found) fail_msg("row %zu: %s", i, rows[i].text);
  }
}

static void test_types_domains_and_absence(void **state) {
  (void)state;
  static const ox_pat typed[] = {{.op = "Relu", .types = OX_BIT(OX_F32)}};
  static const ox_pat foreign[] = {{.op = "Relu", .domain = "com.microsoft"}};
  static const ox_pat bare[] = {{.op = "Clip", .in = {OX_ARG(0), OX_ABSENT, OX_ARG(1)}}};
  ox_match m;
  assert_true(matches(HEAD "(float[2] x) => (float[2] y) { y = Relu (x) }", typed, 1, &m));
  assert_false(matches(HEAD "(double[2] x) => (double[2] y) { y = Relu (x) }", typed, 1, &m));
  assert_false(matches(HEAD "(float[2] x) => (float[2] y) { y = Relu (x) }", foreign, 1, &m));
  assert_true(matches(HEAD "(float[2] x, float h) => (float[2] y) { y = Clip (x, , h) }", bare, 1, &m));
  assert_false(matches(HEAD "(float[2] x, float h) => (float[2] y) { y = Clip (x, h, h) }", bare, 1, &m));
}

static void test_questions(void **state) {
  (void)state;
  ox_model *model =
      rg_read(HEAD
              "(float[2] x) => (float[2] y) <float c = {0.70710678}, int64[2] l = {3, -1}, float one = {1.0001}> "
              "{ a = Relu (x) b = Neg (a) y = Add (a, b) }");
  ox_graph *g = model->graph;
  ox_rewriter h;
  const ox_rewrite *rw = &h.rw;
  ox_rewriter_init(&h, g, NULL);
  ox_id a = ox_graph_find(g, "a"), b = ox_graph_find(g, "b"), c = ox_graph_find(g, "c"), l = ox_graph_find(g, "l");
  int64_t list[4];
  int n;
  assert_int_equal(ox_up(rw, a, "Neg|Relu"), named(g, "a"));
  assert_int_equal(ox_up1(rw, a, "Relu"), OX_NONE);
  assert_int_equal(ox_up1(rw, b, "Neg"), named(g, "b"));
  assert_int_equal(ox_up(rw, OX_NONE, "Neg"), OX_NONE);
  assert_int_equal(ox_only_user(rw, b), named(g, "y"));
  assert_int_equal(ox_only_user(rw, a), OX_NONE);
  assert_true(ox_const_near(rw, c, 0.7071) && !ox_const_near(rw, c, 0.72));
  assert_false(ox_const_near(rw, ox_graph_find(g, "one"), 1)); /* neutral elements must be exact */
  assert_true(ox_const_ints(rw, l, list, 4, &n) && n == 2 && list[1] == -1);
  assert_false(ox_const_ints(rw, l, list, 1, &n) || ox_const_ints(rw, c, list, 4, &n) ||
               ox_const_ints(rw, a, list, 4, &n));
  assert_true(ox_op_serves(rw, "", "Relu", OX_F32) && !ox_op_serves(rw, "", "NoSuch", OX_F32));
  /* what counts is the type that a node computes with, not that of a condition in front of it */
  assert_true(ox_op_serves(rw, "", "Where", OX_F32) && ox_op_serves(rw, "", "Where", OX_I64));
  assert_false(ox_op_serves(rw, "", "MatMulInteger", OX_F32));
  ox_rewriter_deinit(&h);
  ox_model_destroy(model);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_swapped_inputs_and_shared_nodes),
      cmocka_unit_test(test_types_domains_and_absence),
      cmocka_unit_test(test_questions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

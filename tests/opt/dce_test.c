/* SPDX-License-Identifier: Apache-2.0
 * opt/dce_test.c - outputs that nobody reads and that may be left out are; others stay, and so do the places of all. */
#include "base/macros.h"
#include "support/build_graph.h"
#include "support/run_graph.h"

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17]> g "
#define MS "<ir_version: 8, opset_import: [\"\" : 17, \"com.microsoft\" : 1]> g "
#define POOL "MaxPool <kernel_shape = [2, 2]> (x)"
#define LSTM_IN "(float[3, 1, 4] x, float[1, 8, 4] w, float[1, 8, 2] r) => "

/* |outs|: "Op:10 Op:1", the outputs that each node has, of its places. */
static const struct {
  const char *text, *outs;
} rows[] = {
    {HEAD "(float[1, 2, 4, 4] x) => (float[1, 2, 3, 3] y) { y, i = " POOL " }", "MaxPool:10"},
    {HEAD "(float[1, 2, 4, 4] x) => (float[1, 2, 3, 3] y, int64[1, 2, 3, 3] i) { y, i = " POOL " }", "MaxPool:11"},
    {HEAD "(float[1, 2, 4, 4] x) => (float[1, 2, 3, 3] y, int64[1, 2, 3, 3] j) { y, i = " POOL " j = Neg (i) }",
     "MaxPool:11 Neg:1"},
    /* who read it was not read either */
    {HEAD "(float[1, 2, 4, 4] x) => (float[1, 2, 3, 3] y) { y, i = " POOL " j = Neg (i) }", "MaxPool:10"},
    {HEAD LSTM_IN "(float[3, 1, 1, 2] y) { y, h, c = LSTM <hidden_size = 2> (x, w, r) }", "LSTM:100"},
    {HEAD LSTM_IN "(float[1, 1, 2] h) { y, h, c = LSTM <hidden_size = 2> (x, w, r) }", "LSTM:010"},
    {HEAD LSTM_IN "(float[1, 1, 2] c) { y, h, c = LSTM <hidden_size = 2> (x, w, r) }", "LSTM:001"},
    {HEAD "(float[2, 6] x) => (float[2, 6] y) <float[6] s = {1, 2, 3, 4, 5, 6}> "
          "{ y, m, d = LayerNormalization (x, s) }",
     "LayerNormalization:100"},
    {HEAD "(float[2, 6] x) => (float[2, 6] y, float[2, 1] d) <float[6] s = {1, 2, 3, 4, 5, 6}> "
          "{ y, m, d = LayerNormalization (x, s) }",
     "LayerNormalization:101"},
    {MS "(float[2, 6] x) => (float[2, 6] y) <float[6] s = {1, 2, 3, 4, 5, 6}> "
        "{ y, m, d, sum = com.microsoft.SkipLayerNormalization (x, x, s) }",
     "SkipLayerNormalization:1000"},
    {HEAD "(float[6] x) => (float[n] y) { y, i, v, k = Unique (x) }", "Unique:1000"},
    {HEAD "(float[6] x, float r, bool t) => (float[6] y) { y, m = Dropout <seed = 5> (x, r, t) }", "Dropout:10"},
    {HEAD "(float[2, 6] x) => (int64[2, 1] i) <int64[1] k = {1}> { v, i = TopK (x, k) }", "TopK:11"}, /* required */
    {HEAD "(float[2, 6] x) => (float[2, 2] b) { a, b, c = Split <axis = 1> (x) }", "Split:111"}, /* of any number */
    {HEAD "(float[2, 6] x) => (float[2, 6] y) { y, z = Unheard (x) }", "Unheard:11"},
};

static const char body[] = HEAD
    "(bool t, float[1, 2, 4, 4] x) => (float[1, 2, 3, 3] y) { y = If <then_branch = b () => (float[1, 2, 3, 3] u) "
    "{ u, i = " POOL " }, else_branch = c () => (float[1, 2, 3, 3] v) { v, k = " POOL " l = Neg (k) }> (t) }";

/* What a body reads is read. */
static const char read_in_body[] = HEAD
    "(bool t, float[1, 2, 4, 4] x) => (float[1, 2, 3, 3] y, int64[1, 2, 3, 3] z) { y, i = " POOL
    " z = If <then_branch = b () => (int64[1, 2, 3, 3] u) { u = Neg (i) }, "
    "else_branch = c () => (int64[1, 2, 3, 3] v) { v = Abs (i) }> (t) }";

static const char *outs_of(const ox_graph *g, char *text) {
  char *at = text;
  *at = 0;
  for (ox_id i = 0; i < g->n_nodes; i++) {
    const ox_node *n = &g->nodes[i];
    if (n->dead) continue;
    at += sprintf(at, "%s%s:", at == text ? "" : " ", n->op);
    for (uint32_t k = 0; k < n->n_out; k++) at += sprintf(at, "%d", n->out[k] != OX_NONE);
  }
  return text;
}

static ox_model *optimized(const char *text, uint32_t level) {
  ox_model *m = rg_read(text);
  ox_opt_options o = rg_options(level);
  CHECK_OK(ox_optimize(m, &o));
  return m;
}

static void test_unread_outputs_are_omitted(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    char text[256];
    ox_model *m = optimized(rows[i].text, OX_OPTIMIZE_BASIC);
    assert_string_equal(outs_of(m->graph, text), rows[i].outs);
    ox_model_destroy(m);
    if (!strstr(rows[i].text, "Unheard")) rg_check(rows[i].text, OX_OPTIMIZE_BASIC, NULL, NULL, 0);
  }
}

static void test_bodies(void **state) {
  (void)state;
  char text[256];
  ox_model *m = optimized(body, OX_OPTIMIZE_BASIC);
  for (uint32_t k = 0; k < 2; k++)
    assert_string_equal(outs_of(ox_node_body(&m->graph->nodes[0], k), text), "MaxPool:10");
  ox_model_destroy(m);
  m = optimized(read_in_body, OX_OPTIMIZE_BASIC);
  assert_string_equal(outs_of(m->graph, text), "MaxPool:11 If:1");
  ox_model_destroy(m);
  rg_check(body, OX_OPTIMIZE_ALL, "dce", NULL, 0);
  rg_check(read_in_body, OX_OPTIMIZE_ALL, NULL, NULL, 0);
}

static void test_without_optimization_all_stay(void **state) {
  (void)state;
  char text[256];
  ox_model *m = optimized(rows[0].text, OX_OPTIMIZE_NONE);
  assert_string_equal(outs_of(m->graph, text), "MaxPool:11");
  ox_model_destroy(m);
}

static void test_other_owners_nodes_stay(void **state) {
  (void)state;
  for (uint16_t owner = 1; owner <= 2; owner++) {
    char text[256];
    uint32_t n = 0;
    ox_model *m = rg_read(rows[0].text);
    rg_own_all(m, 1);
    CHECK_OK(ox_dce_graph(m->graph, owner, &n));
    assert_string_equal(outs_of(m->graph, text), owner == 1 ? "MaxPool:10" : "MaxPool:11");
    assert_int_equal(n, owner == 1);
    ox_model_destroy(m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_unread_outputs_are_omitted), cmocka_unit_test(test_bodies),
      cmocka_unit_test(test_without_optimization_all_stay), cmocka_unit_test(test_other_owners_nodes_stay)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

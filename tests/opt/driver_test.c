/* SPDX-License-Identifier: Apache-2.0
 * opt/driver_test.c - levels, switching rules off, counting, bodies, running out of memory, and near-linear time. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/macros.h"
#include "onnx/text.h"
#include "support/build_graph.h"
#include "support/counting_alloc.h"
#include "support/run_graph.h"

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17]> g "

static const char chain[] = HEAD
    "(float[2, 3] x) => (float[2, 3] y)\n"
    "{ a = Identity (x) b = Relu (a) c = Identity (b) y = Identity (c) }";

static void log_line(void *ctx, int level, const char *text) {
  (void)level;
  bg_put(ctx, text);
}

static void test_levels(void **state) {
  (void)state;
  rg_check(chain, OX_OPTIMIZE_NONE, "!identity", "Identity Relu Identity Identity", 0);
  rg_check(chain, OX_OPTIMIZE_BASIC, "identity", "Relu", 0);
}

static void test_rules_can_be_disabled(void **state) {
  (void)state;
  ox_model *m = rg_read(chain);
  const char *off[] = {"identity"};
  char ops[256];
  ox_opt_options o = rg_options(OX_OPTIMIZE_BASIC);
  o.disabled = off, o.n_disabled = 1;
  CHECK_OK(ox_optimize(m, &o));
  assert_string_equal(bg_ops(m->graph, ops), "Identity Relu Identity Identity");
  ox_model_destroy(m);
}

static void test_counts_and_dumps_are_reported(void **state) {
  (void)state;
  static char text[16384];
  text[0] = 0;
  ox_log log = {log_line, text, OX_LOG_INFO};
  ox_model *m = rg_read(chain);
  ox_opt_options o = rg_options(OX_OPTIMIZE_BASIC);
  o.log = &log, o.dump_after = "identity";
  CHECK_OK(ox_optimize(m, &o));
  assert_non_null(strstr(text, "identity x 3"));
  assert_non_null(strstr(text, "= Relu(x)"));
  ox_model_destroy(m);
}

static void test_built_in_passes_can_be_disabled(void **state) {
  (void)state;
  static const struct {
    const char *text, *pass, *with, *without;
  } rows[] = {
      {HEAD "(float[3] x) => (float[3] y) <float[3] a = {1, 2, 3}> { d = Tanh (a) y = Add (x, d) }", "fold", "Add",
       "Tanh Add"},
      {HEAD "(float[3] x) => (float[3] y) { a = Tanh (x) b = Tanh (x) y = Add (a, b) }", "cse", "Tanh Add",
       "Tanh Tanh Add"},
      {HEAD "(float[3] x) => (float[3] y) { a = Tanh (x) y = Floor (x) }", "dce", "Floor", "Tanh Floor"},
      {HEAD "(float[2, 3] x) => (int64[2] y) { s = Shape (x) y = Neg (s) }", "infer-const", "Neg", "Shape Neg"},
      {HEAD "(float[3] x, int64 n) => (float[3] y) <bool go = {1}> { z = Loop <body = b (int64 i, bool c, float[3] k) =>"
            " (bool c, float[3] l) { l = Identity (k) }> (n, go, x) y = Neg (z) }",
       "invariant", "Neg", "Loop Neg"},
      /* without an output left a node cannot run */
      {HEAD "(float[2, 3] x) => (int64[2] y) { s = Shape (x) y = Neg (s) }", "dce", "Neg", "Neg"},
  };
  for (size_t i = 0; i < OX_COUNT(rows); i++)
    for (int off = 0; off < 2; off++) {
      ox_model *m = rg_read(rows[i].text);
      ox_opt_options o = rg_options(OX_OPTIMIZE_BASIC);
      char ops[64];
      o.disabled = &rows[i].pass, o.n_disabled = (uint32_t)off;
      CHECK_OK(rg_optimize(m, &o));
      assert_string_equal(bg_ops(m->graph, ops), off ? rows[i].without : rows[i].with);
      ox_model_destroy(m);
    }
}

static void test_unknown_names_are_reported(void **state) {
  (void)state;
  static const char *const names[] = {"identity", "no-such-rule", "attention", "dce"};
  static char text[16384];
  ox_log log = {log_line, text, OX_LOG_WARNING};
  ox_model *m = rg_read(chain);
  ox_opt_options o = rg_options(OX_OPTIMIZE_ALL);
  o.log = &log, o.disabled = names, o.n_disabled = OX_COUNT(names), o.dump_before = "fold", o.dump_after = "nobody";
  CHECK_OK(rg_optimize(m, &o));
  assert_string_equal(
      text, "disabled: there is no rule or pass 'no-such-rule'\ndump after: there is no rule or pass 'nobody'\n");
  ox_model_destroy(m);
}

/* Titles, and the models as ONNX's textual syntax. */
static ox_status *take_text(void *ctx, const void *bytes, size_t n) {
  strncat(ctx, bytes, n);
  return NULL;
}

static ox_status *take_dump(void *ctx, const ox_model *m, const char *title) {
  strcat(strcat(ctx, title), ":");
  return ox_text_write_short(m, 4, (ox_sink){take_text, ctx});
}

static ox_status *refuse_dump(void *ctx, const ox_model *m, const char *title) {
  (void)ctx, (void)m, (void)title;
  return ox_fail(OX_FAIL, "the disk is full");
}

static void test_dumps_before_and_after(void **state) {
  (void)state;
  static const char *const names[] = {"identity", "linear-add", "fold"};
  for (size_t i = 0; i < OX_COUNT(names); i++) {
    static char text[1 << 16];
    text[0] = 0;
    ox_model *m =
        rg_read(HEAD
                "(float[2, 3] x) => (float[2, 4] y) <float[3, 4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3}, "
                "float[4] b = {1, 2, 3, 4}> { c = Neg (b) h = MatMul (x, w) i = Add (h, c) y = Identity (i) }");
    ox_opt_options o = rg_options(OX_OPTIMIZE_EXTENDED);
    o.dump_before = o.dump_after = names[i], o.dump = take_dump, o.dump_ctx = text;
    CHECK_OK(rg_optimize(m, &o));
    char before[32], after[32];
    snprintf(before, sizeof before, "before '%s':<ir", names[i]),
        snprintf(after, sizeof after, "after '%s':<ir", names[i]);
    const char *b = strstr(text, before), *a = strstr(text, after);
    static const char *const gone[] = {"Identity (", "MatMul (", "Neg ("};
    assert_true(b && a && a > b);
    assert_true(strstr(b, gone[i]) && strstr(b, gone[i]) < a && !strstr(a, gone[i]));
    ox_model_destroy(m);
    m = rg_read(chain);
    o = rg_options(OX_OPTIMIZE_EXTENDED); /* counts lie with the model */
    o.dump = refuse_dump, o.dump_after = "identity";
    CHECK_FAILS(rg_optimize(m, &o), OX_FAIL, "the disk is full");
    ox_model_destroy(m);
  }
}

static void test_bodies_are_improved(void **state) {
  (void)state;
  ox_model *m = rg_read(
      "<ir_version: 8, opset_import: [\"\" : 17]> g (bool c, float[2] x) => (float[2] y) {\n"
      "  h = Identity (x)\n"
      "  y = If (c) <then_branch = t () => (float[2] p) { a = Identity (h) p = Neg (a) },\n"
      "              else_branch = e () => (float[2] q) { q = Relu (h) }>\n}");
  ox_opt_options o = rg_options(OX_OPTIMIZE_BASIC);
  CHECK_OK(ox_optimize(m, &o));
  char ops[256];
  assert_string_equal(bg_ops(m->graph, ops), "If");
  assert_string_equal(bg_ops(ox_node_body(&m->graph->nodes[0], 0), ops), "Neg");
  CHECK_OK(ox_graph_verify(m->graph));
  ox_model_destroy(m);
}

static void test_an_input_that_is_an_output_keeps_its_identity(void **state) {
  (void)state;
  rg_check("<ir_version: 8, opset_import: [\"\" : 17]> g (float[2] x) => (float[2] y) { y = Identity (x) }",
           OX_OPTIMIZE_ALL, "!identity", "Identity", 0);
}

static void test_out_of_memory_leaks_nothing(void **state) {
  (void)state;
  for (long n = 0;; n++) {
    counting_alloc c = {.fail_at = -1};
    ox_model *m;
    CHECK_OK(ox_model_create(counting_alloc_of(&c), ox_ops_cpu(), &m));
    CHECK_OK(ox_model_set_opset(m, "", 17));
    bg_input(m->graph, "x", OX_F32, "2,N");
    bg_node(m->graph, "a = Identity(x)"), bg_node(m->graph, "b = Shape(a)"), bg_node(m->graph, "y = Reshape(a, b)");
    bg_output(m->graph, "y");
    c.calls = 0;
    c.fail_at = n;
    ox_opt_options o = rg_options(OX_OPTIMIZE_ALL);
    ox_status *st = rg_optimize(m, &o);
    ox_model_destroy(m);
    assert_int_equal(c.live, 0);
    if (!st) break;
    assert_int_equal(ox_status_code(st), OX_OUT_OF_MEMORY);
    ox_status_free(st);
    assert_true(n < 10000);
  }
}

/* 100 000 nodes: 10 us each would be a second. */
static void test_large_graphs_take_little_time(void **state) {
  (void)state;
  enum { N = 100000 };
  ox_model *m = bg_model(17);
  ox_graph *g = m->graph;
  ox_id v = bg_input(g, "x", OX_F32, "2,3"), x = v, next, n;
  for (int i = 0; i < N; i++) {
    static const char *const ops[] = {"Relu", "Identity", "Add", "Neg"};
    CHECK_OK(ox_graph_add_value(g, "v", &next));
    CHECK_OK(ox_graph_add_node(g, ops[i % 4], "", "", (ox_id[]){v, x}, i % 4 == 2 ? 2 : 1, &next, 1, &n));
    v = next;
  }
  CHECK_OK(ox_graph_add_output(g, v));
  ox_opt_options o = rg_options(OX_OPTIMIZE_ALL);
  o.verify = false, o.eval = NULL;
  clock_t start = clock();
  CHECK_OK(rg_optimize(m, &o));
  double s = (double)(clock() - start) / CLOCKS_PER_SEC;
  print_message("%d nodes: %.2f us each\n", N, s * 1e6 / N);
  if (s > 5) fail_msg("%d nodes took %.2f s", N, s);
  ox_model_destroy(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_levels),
      cmocka_unit_test(test_rules_can_be_disabled),
      cmocka_unit_test(test_counts_and_dumps_are_reported),
      cmocka_unit_test(test_built_in_passes_can_be_disabled),
      cmocka_unit_test(test_unknown_names_are_reported),
      cmocka_unit_test(test_dumps_before_and_after),
      cmocka_unit_test(test_bodies_are_improved),
      cmocka_unit_test(test_an_input_that_is_an_output_keeps_its_identity),
      cmocka_unit_test(test_out_of_memory_leaks_nothing),
      cmocka_unit_test(test_large_graphs_take_little_time),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

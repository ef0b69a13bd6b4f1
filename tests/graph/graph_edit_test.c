/* SPDX-License-Identifier: Apache-2.0
 * graph/graph_edit_test.c - replacing uses, output names, folding, ordering, compaction, verification, printing. */
#include <string.h>
#include <time.h>

#include "graph/graph.h"
#include "support/check.h"

static ox_model *new_model(void) {
  ox_model *m;
  CHECK_OK(ox_model_create(ox_alloc_heap(), NULL, &m));
  ox_id x;
  CHECK_OK(ox_graph_add_value(m->graph, "x", &x));
  CHECK_OK(ox_graph_add_input(m->graph, x));
  return m;
}

static ox_id node(ox_graph *g, const char *op, const char *in, const char *out) {
  ox_id i, o, n;
  CHECK_OK(ox_graph_resolve(g, in, true, &i));
  CHECK_OK(ox_graph_resolve(g, out, true, &o));
  CHECK_OK(ox_graph_add_node(g, op, "", out, &i, 1, &o, 1, &n));
  return n;
}

static void output(ox_graph *g, const char *name) { CHECK_OK(ox_graph_add_output(g, ox_graph_find(g, name))); }

static void test_output_names_survive(void **state) {
  (void)state;
  ox_model *m = new_model();
  ox_graph *g = m->graph;
  node(g, "Relu", "x", "a");
  ox_id n = node(g, "Identity", "a", "y");
  output(g, "y");
  assert_true(ox_graph_can_replace(g, ox_graph_find(g, "y"), ox_graph_find(g, "a")));
  CHECK_OK(ox_graph_bypass(g, n));
  CHECK_OK(ox_graph_verify(g));
  assert_string_equal(g->values[g->outputs[0]].name, "y");
  assert_string_equal(g->nodes[g->values[g->outputs[0]].producer].op, "Relu");
  /* an input cannot take the output's name: an Identity steps in */
  assert_false(ox_graph_can_replace(g, g->outputs[0], ox_graph_find(g, "x")));
  CHECK_OK(ox_graph_bypass(g, 0));
  CHECK_OK(ox_graph_verify(g));
  assert_string_equal(g->values[g->outputs[0]].name, "y");
  assert_string_equal(g->nodes[g->values[g->outputs[0]].producer].op, "Identity");
  ox_model_destroy(m);
}

static void test_output_listed_twice(void **state) {
  (void)state;
  ox_model *m = new_model();
  ox_graph *g = m->graph;
  node(g, "Relu", "x", "a");
  ox_id n = node(g, "Identity", "a", "y");
  output(g, "y"), output(g, "y");
  CHECK_OK(ox_graph_bypass(g, n));
  CHECK_OK(ox_graph_compact(g));
  CHECK_OK(ox_graph_verify(g));
  assert_int_equal(g->outputs[0], g->outputs[1]);
  assert_int_equal(g->n_nodes, 1);
  ox_model_destroy(m);
}

static ox_graph *add_body(ox_graph *g, const char *reads, const char *also) {
  ox_graph *b;
  CHECK_OK(ox_graph_create(g->model, g, "body", &b));
  node(b, "Neg", reads, "p");
  if (also) node(b, "Neg", also, "q");
  output(b, "p");
  ox_id n = node(g, "If", "x", "y");
  CHECK_OK(ox_node_set_attr(g, n, &(ox_attr){.name = "then_branch", .v.kind = OX_ATTR_GRAPH_KIND, .graph = b}));
  return b;
}

static void test_bodies_follow_replacements(void **state) {
  (void)state;
  for (int merged = 0; merged < 2; merged++) {
    ox_model *m = new_model();
    ox_graph *g = m->graph;
    node(g, "Relu", "x", "a");
    ox_id n = node(g, "Identity", "a", "b");
    ox_graph *body = add_body(g, "b", merged ? "a" : NULL);
    output(g, "y");
    CHECK_OK(ox_graph_bypass(g, n));
    CHECK_OK(ox_graph_verify(g));
    ox_id a = ox_graph_find(g, "a");
    assert_int_equal(body->values[body->nodes[0].in[0]].outer, a);
    assert_int_equal(g->values[a].n_inner_uses, 1);
    CHECK_OK(ox_graph_compact(g));
    CHECK_OK(ox_graph_verify(g));
    assert_int_equal(body->values[body->nodes[0].in[0]].outer, ox_graph_find(g, "a"));
    ox_model_destroy(m);
  }
}

static void test_folding_detaches_the_producer(void **state) {
  (void)state;
  ox_model *m = new_model();
  ox_graph *g = m->graph;
  ox_id n = node(g, "Relu", "x", "a");
  node(g, "Neg", "a", "y");
  output(g, "y");
  float data[2] = {1, 2};
  ox_shape s = ox_shape_of(1, (int64_t[]){2});
  ox_tensor t = ox_tensor_view(OX_F32, &s, data);
  CHECK_OK(ox_graph_make_const(g, ox_graph_find(g, "a"), &t));
  assert_int_equal(g->nodes[n].out[0], OX_NONE);
  ox_graph_remove_node(g, n);
  CHECK_OK(ox_graph_compact(g));
  CHECK_OK(ox_graph_verify(g));
  assert_int_equal(g->n_nodes, 1);
  assert_ptr_equal(ox_graph_const(g, ox_graph_find(g, "a"))->data, data);
  ox_model_destroy(m);
}

static void test_cycles_are_named(void **state) {
  (void)state;
  ox_model *m = new_model();
  ox_graph *g = m->graph;
  node(g, "Relu", "c", "a"), node(g, "Neg", "a", "b"), node(g, "Abs", "b", "c");
  CHECK_FAILS(ox_graph_verify(g), OX_INVALID_MODEL, "cycle");
  CHECK_FAILS(ox_graph_compact(g), OX_INVALID_MODEL, "cycle");
  ox_model_destroy(m);
  m = new_model(), g = m->graph;
  node(g, "Relu", "self", "self");
  CHECK_FAILS(ox_graph_verify(g), OX_INVALID_MODEL, "cycle");
  ox_model_destroy(m);
}

static void test_cycles_through_bodies_are_found(void **state) {
  (void)state;
  ox_model *m = new_model();
  ox_graph *g = m->graph;
  node(g, "Relu", "y", "a");
  add_body(g, "a", NULL);
  CHECK_FAILS(ox_graph_verify(g), OX_INVALID_MODEL, "cycle");
  ox_model_destroy(m);
}

static void test_undefined_values_are_found(void **state) {
  (void)state;
  ox_model *m = new_model();
  node(m->graph, "Relu", "nobody", "a");
  CHECK_FAILS(ox_graph_verify(m->graph), OX_INVALID_MODEL, "nothing defines");
  ox_model_destroy(m);
}

static void test_order_sorts_and_keeps(void **state) {
  (void)state;
  ox_model *m = new_model();
  ox_graph *g = m->graph;
  node(g, "C", "b", "c"), node(g, "A", "x", "a"), node(g, "B", "a", "b"), node(g, "D", "x", "d");
  output(g, "c");
  CHECK_OK(ox_graph_compact(g));
  CHECK_OK(ox_graph_verify(g));
  const char *want[] = {"A", "B", "C", "D"};
  for (int i = 0; i < 4; i++) assert_string_equal(g->nodes[i].op, want[i]);
  ox_id b = ox_graph_find(g, "b");
  assert_string_equal(g->nodes[g->values[b].producer].op, "B");
  CHECK_OK(ox_graph_compact(g));
  CHECK_OK(ox_graph_verify(g));
  ox_model_destroy(m);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* 100 000 nodes in reverse order, all reading one value: nothing may be quadratic, nor recurse. */
static void test_large_graphs_are_linear(void **state) {
  (void)state;
  enum { N = 100000 };
  double start = now();
  ox_model *m = new_model();
  ox_graph *g = m->graph;
  ox_id x = ox_graph_find(g, "x"), first, n;
  CHECK_OK(ox_graph_add_value(g, "v", &first));
  for (ox_id i = 1; i <= N; i++) {
    ox_id v;
    CHECK_OK(ox_graph_add_value(g, "v", &v));
    CHECK_OK(ox_graph_add_node(g, "Add", "", "n", (ox_id[]){i == N ? x : v, x}, 2, (ox_id[]){first + i - 1}, 1, &n));
  }
  CHECK_OK(ox_graph_add_output(g, first));
  CHECK_OK(ox_graph_verify(g));
  CHECK_OK(ox_graph_compact(g));
  CHECK_OK(ox_graph_verify(g));
  assert_int_equal(g->nodes[0].in[0], ox_graph_find(g, "x"));
  for (ox_id i = 0; i < N; i += 2) CHECK_OK(ox_graph_bypass(g, i));
  CHECK_OK(ox_graph_compact(g));
  CHECK_OK(ox_graph_verify(g));
  assert_int_equal(g->n_nodes, N / 2);
  ox_model_destroy(m);
  if (now() - start > 5) fail_msg("took %.1f s", now() - start);
}

static void keep(void *ctx, const char *text) { strcat(strcat(ctx, text), "\n"); }

static void test_print(void **state) {
  (void)state;
  ox_model *m = new_model();
  ox_graph *g = m->graph;
  add_body(g, "x", NULL);
  CHECK_OK(ox_node_set_ints(g, 0, "axes", (int64_t[]){1, -1}, 2));
  ox_id x = ox_graph_find(g, "x"), y = ox_graph_find(g, "y");
  ox_shape s = ox_shape_of(2, (int64_t[]){-1, 3});
  g->values[x].type = ox_type_tensor(OX_F32, &s);
  CHECK_OK(ox_graph_add_output(g, y));
  char text[1000] = "";
  ox_graph_print(g, keep, text);
  assert_string_equal(text,
                      "input x:float32[?,3]\n0: y = If(x) then_branch=... axes=[1,-1] # y\n  outer x\n"
                      "  0: p = Neg(x) # p\n  output p\noutput y\n");
  ox_model_destroy(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_output_names_survive),       cmocka_unit_test(test_output_listed_twice),
      cmocka_unit_test(test_bodies_follow_replacements), cmocka_unit_test(test_folding_detaches_the_producer),
      cmocka_unit_test(test_cycles_are_named),           cmocka_unit_test(test_cycles_through_bodies_are_found),
      cmocka_unit_test(test_undefined_values_are_found), cmocka_unit_test(test_order_sorts_and_keeps),
      cmocka_unit_test(test_large_graphs_are_linear),    cmocka_unit_test(test_print),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

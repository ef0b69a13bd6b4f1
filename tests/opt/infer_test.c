/* SPDX-License-Identifier: Apache-2.0
 * opt/infer_test.c - inference over whole graphs: propagation, declarations, bodies, contents of small tensors. */
#include <stdio.h>
#include <stdlib.h>

#include "opt/opt.h"
#include "support/build_graph.h"

static char buf[OX_SHAPE_TEXT];

static void test_symbols_travel_through_reshape(void **state) {
  (void)state;
  ox_model *m = bg_model(13);
  ox_graph *g = m->graph;
  bg_input(g, "x", OX_F32, "batch,seq,768");
  bg_i64(g, "zero", 0), bg_i64s(g, "axis", 1, (int64_t[]){0}), bg_i64s(g, "rest", 3, (int64_t[]){-1, 12, 64});
  bg_node(g, "s = Shape(x)"), bg_node(g, "b = Gather(s, zero)"), bg_node(g, "b1 = Unsqueeze(b, axis)");
  ox_id n = bg_node(g, "to = Concat(b1, rest)");
  CHECK_OK(ox_node_set_int(g, n, "axis", 0));
  bg_node(g, "y = Reshape(x, to)"), bg_node(g, "z = Relu(y)");
  bg_output(g, "z");
  CHECK_OK(ox_infer_graph(g, NULL, true));
  assert_string_equal(bg_shape(g, "z", buf), "[s0,s1,12,64]");
  assert_null(ox_graph_const(g, ox_graph_find(g, "to")));
  ox_model_destroy(m);
}

static void test_known_shapes_become_constants(void **state) {
  (void)state;
  ox_model *m = bg_model(13);
  ox_graph *g = m->graph;
  bg_input(g, "x", OX_F32, "2,3");
  bg_i64s(g, "two", 1, (int64_t[]){2});
  bg_node(g, "s = Shape(x)"), bg_node(g, "d = Mul(s, two)");
  bg_node(g, "y = ConstantOfShape(d)");
  bg_output(g, "y");
  CHECK_OK(ox_infer_graph(g, NULL, true));
  assert_string_equal(bg_shape(g, "y", buf), "[4,6]");
  const ox_tensor *d = ox_graph_const(g, ox_graph_find(g, "d"));
  assert_non_null(d);
  assert_int_equal(((const int64_t *)d->data)[1], 6);
  CHECK_OK(ox_graph_verify(g));
  ox_model_destroy(m);
}

static void test_declarations_fill_gaps(void **state) {
  (void)state;
  ox_model *m = bg_model(13);
  ox_graph *g = m->graph;
  bg_input(g, "x", OX_F32, "?,3");
  bg_node(g, "h = Mystery(x)"), bg_node(g, "y = Relu(h)"), bg_node(g, "z = Relu(x)");
  bg_output(g, "z");
  g->values[ox_graph_find(g, "h")].type = bg_type(g, OX_F32, "N,7");
  g->values[ox_graph_find(g, "z")].type = bg_type(g, OX_F32, "rows,?");
  CHECK_OK(ox_infer_graph(g, NULL, false));
  assert_string_equal(bg_shape(g, "y", buf), "[s0,7]");
  assert_string_equal(bg_shape(g, "z", buf), "[s1,3]");
  ox_model_destroy(m);
}

static void test_contradictions_are_named(void **state) {
  (void)state;
  ox_model *m = bg_model(13);
  ox_graph *g = m->graph;
  bg_input(g, "x", OX_F32, "2,3");
  bg_node(g, "y = Relu(x)");
  g->values[ox_graph_find(g, "y")].type = bg_type(g, OX_F32, "2,4");
  CHECK_FAILS(ox_infer_graph(g, NULL, false), OX_INVALID_MODEL, "node 'y' (Relu): tensor 'y' is declared as [2,4]");
  ox_opt_options lenient = {.lenient_shapes = true};
  CHECK_OK(ox_infer_graph(g, &lenient, false));
  assert_string_equal(bg_shape(g, "y", buf), "[2,3]");
  g->values[ox_graph_find(g, "y")].type = bg_type(g, OX_I64, "2,3");
  CHECK_FAILS(ox_infer_graph(g, NULL, false), OX_INVALID_MODEL, "declared as int64, but its type is float32");
  g->values[ox_graph_find(g, "y")].is_output = true; /* promised to the caller */
  CHECK_FAILS(ox_infer_graph(g, &lenient, false), OX_INVALID_MODEL, "declared as int64, but its type is float32");
  g->values[ox_graph_find(g, "y")].is_output = false;
  CHECK_OK(ox_infer_graph(g, &lenient, false));
  assert_int_equal(g->values[ox_graph_find(g, "y")].type.dtype, OX_F32);
  bg_input(g, "w", OX_F32, "5");
  bg_node(g, "bad = Add(x, w)");
  g->values[ox_graph_find(g, "y")].type = ox_type_unknown();
  CHECK_FAILS(ox_infer_graph(g, NULL, false), OX_SHAPE_MISMATCH, "node 'bad' (Add)");
  ox_model_destroy(m);
}

static ox_graph *branch(ox_graph *g, ox_id node, const char *attr, const char *const *lines, int n) {
  ox_graph *b;
  CHECK_OK(ox_graph_create(g->model, g, attr, &b));
  for (int i = 0; i < n; i++) bg_node(b, lines[i]);
  CHECK_OK(ox_node_set_attr(g, node, &(ox_attr){.name = attr, .v.kind = OX_ATTR_GRAPH_KIND, .graph = b}));
  return b;
}

static void test_branches(void **state) {
  (void)state;
  ox_model *m = bg_model(13);
  ox_graph *g = m->graph;
  bg_input(g, "x", OX_F32, "2,N"), bg_input(g, "c", OX_BOOL, ""), bg_input(g, "five", OX_F32, "5");
  bg_input(g, "four", OX_F32, "4");
  bg_node(g, "h = Relu(x)");
  ox_id n = bg_node(g, "y = If(c)");
  bg_output(branch(g, n, "then_branch", (const char *[]){"p = Neg(h)"}, 1), "p");
  bg_output(branch(g, n, "else_branch", (const char *[]){"p = Transpose(h)"}, 1), "p");
  /* a branch that cannot work is only an error when it runs */
  ox_id bad = bg_node(g, "z = If(c)");
  bg_output(branch(g, bad, "then_branch", (const char *[]){"p = Add(four, five)"}, 1), "p");
  bg_output(branch(g, bad, "else_branch", (const char *[]){"p = Neg(five)"}, 1), "p");
  CHECK_OK(ox_infer_graph(g, NULL, false));
  assert_string_equal(bg_shape(g, "y", buf), "[s1,s2]"); /* not known, and not the same */
  assert_int_equal(g->values[ox_graph_find(g, "y")].type.dtype, OX_F32);
  ox_model_destroy(m);
}

static void test_loops(void **state) {
  (void)state;
  ox_model *m = bg_model(13);
  ox_graph *g = m->graph, *b;
  bg_input(g, "n", OX_I64, ""), bg_input(g, "c", OX_BOOL, ""), bg_input(g, "x", OX_F32, "2,3");
  ox_id n = bg_node(g, "y rows = Loop(n, c, x)");
  CHECK_OK(ox_graph_create(m, g, "body", &b));
  bg_input(b, "i", OX_UNDEFINED, ""), bg_input(b, "go", OX_UNDEFINED, NULL), bg_input(b, "s", OX_UNDEFINED, NULL);
  bg_node(b, "s2 = Relu(s)"), bg_node(b, "row = Neg(x)"), bg_node(b, "go2 = Identity(go)");
  bg_output(b, "go2"), bg_output(b, "s2"), bg_output(b, "row");
  CHECK_OK(ox_node_set_attr(g, n, &(ox_attr){.name = "body", .v.kind = OX_ATTR_GRAPH_KIND, .graph = b}));
  CHECK_OK(ox_infer_graph(g, NULL, false));
  assert_int_equal(b->values[ox_graph_find(b, "s2")].type.dtype, OX_F32);
  assert_int_equal(b->values[ox_graph_find(b, "i")].type.dtype, OX_I64);
  assert_string_equal(bg_shape(g, "y", buf), "[...]");
  assert_string_equal(bg_shape(g, "rows", buf), "[s0,2,3]");
  ox_model_destroy(m);
}

/* What nobody knows is a symbol without a name: equal where it follows, another one for each value that makes it. */
static void test_unknown_dimensions_become_symbols(void **state) {
  (void)state;
  ox_model *m = bg_model(13);
  ox_graph *g = m->graph;
  bg_input(g, "x", OX_F32, "2,N"), bg_input(g, "z", OX_F32, "2,N");
  bg_node(g, "i = NonZero(x)"), bg_node(g, "k = NonZero(z)");
  bg_node(g, "j = Neg(i)"), bg_node(g, "a = Add(i, j)"), bg_node(g, "b = Add(i, k)");
  CHECK_OK(ox_infer_graph(g, NULL, false));
  CHECK_OK(ox_infer_graph(g, NULL, false)); /* and stays it */
  assert_string_equal(bg_shape(g, "i", buf), "[2,s1]");
  assert_string_equal(bg_shape(g, "k", buf), "[2,s2]");
  assert_string_equal(bg_shape(g, "a", buf), "[2,s1]");
  assert_string_equal(bg_shape(g, "b", buf), "[2,s3]");
  assert_null(ox_model_symbol_name(m, g->values[ox_graph_find(g, "i")].type.shape.dim[1]));
  ox_model_destroy(m);
}

/* A branch runs once in a run, a loop may find another number each time; so may a branch in it. */
static void test_unknown_dimensions_in_bodies(void **state) {
  (void)state;
  ox_model *m = bg_model(13);
  ox_graph *g = m->graph, *b;
  bg_input(g, "n", OX_I64, ""), bg_input(g, "c", OX_BOOL, ""), bg_input(g, "x", OX_F32, "2,N");
  ox_id n = bg_node(g, "y = If(c)");
  ox_graph *then = branch(g, n, "then_branch", (const char *[]){"p = NonZero(x)", "q = Neg(p)"}, 2);
  bg_output(branch(g, n, "else_branch", (const char *[]){"q = NonZero(x)"}, 1), "q"), bg_output(then, "q");
  ox_id loop = bg_node(g, "rows = Loop(n, c)");
  CHECK_OK(ox_graph_create(m, g, "body", &b));
  bg_input(b, "i", OX_I64, ""), bg_input(b, "go", OX_BOOL, "");
  bg_node(b, "p = NonZero(x)"), bg_node(b, "go2 = Identity(go)");
  bg_output(b, "go2"), bg_output(b, "p");
  CHECK_OK(ox_node_set_attr(g, loop, &(ox_attr){.name = "body", .v.kind = OX_ATTR_GRAPH_KIND, .graph = b}));
  n = bg_node(b, "z = If(go)");
  ox_graph *inner = branch(b, n, "then_branch", (const char *[]){"q = NonZero(x)"}, 1);
  bg_output(branch(b, n, "else_branch", (const char *[]){"q = NonZero(x)"}, 1), "q"), bg_output(inner, "q");
  CHECK_OK(ox_infer_graph(g, NULL, false));
  assert_string_equal(bg_shape(then, "p", buf), "[2,s1]");
  assert_string_equal(bg_shape(then, "q", buf), "[2,s1]");
  assert_string_equal(bg_shape(b, "p", buf), "[2,?]");
  assert_string_equal(bg_shape(inner, "q", buf), "[2,?]");
  ox_model_destroy(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_unknown_dimensions_become_symbols),
      cmocka_unit_test(test_symbols_travel_through_reshape),
      cmocka_unit_test(test_known_shapes_become_constants),
      cmocka_unit_test(test_declarations_fill_gaps),
      cmocka_unit_test(test_contradictions_are_named),
      cmocka_unit_test(test_branches),
      cmocka_unit_test(test_loops),
      cmocka_unit_test(test_unknown_dimensions_in_bodies),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

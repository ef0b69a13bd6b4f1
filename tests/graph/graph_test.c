/* SPDX-License-Identifier: Apache-2.0
 * graph/graph_test.c - values, nodes, names, use lists, outer values; each step with every allocation failing. */
#include <string.h>

#include "graph/graph.h"
#include "support/check.h"
#include "support/counting_alloc.h"

static ox_model *new_model(void) {
  ox_model *m;
  CHECK_OK(ox_model_create(ox_alloc_heap(), NULL, &m));
  return m;
}

static ox_id value(ox_graph *g, const char *name) {
  ox_id v;
  CHECK_OK(ox_graph_resolve(g, name, true, &v));
  return v;
}

static ox_id input(ox_graph *g, const char *name) {
  ox_id v = value(g, name);
  CHECK_OK(ox_graph_add_input(g, v));
  return v;
}

static ox_id node(ox_graph *g, const char *op, const char *in0, const char *in1, const char *out) {
  ox_id in[2], o = value(g, out), n;
  in[0] = value(g, in0);
  if (in1) in[1] = value(g, in1);
  CHECK_OK(ox_graph_add_node(g, op, "", out, in, in1 ? 2 : 1, &o, 1, &n));
  return n;
}

static void test_names_are_unique(void **state) {
  (void)state;
  ox_model *m = new_model();
  ox_graph *g = m->graph;
  ox_id a, b, c, d;
  CHECK_OK(ox_graph_add_value(g, "x", &a));
  CHECK_OK(ox_graph_add_value(g, "x", &b));
  CHECK_OK(ox_graph_add_value(g, NULL, &c));
  CHECK_OK(ox_graph_add_value(g, "", &d));
  assert_int_equal(ox_graph_find(g, "x"), a);
  assert_string_not_equal(g->values[b].name, "x");
  assert_string_not_equal(g->values[c].name, g->values[d].name);
  assert_int_equal(ox_graph_find(g, g->values[c].name), c);
  assert_int_equal(ox_graph_find(g, "nobody"), OX_NONE);
  CHECK_OK(ox_graph_verify(g));
  ox_model_destroy(m);
}

static void test_outputs_have_one_producer(void **state) {
  (void)state;
  ox_model *m = new_model();
  ox_graph *g = m->graph;
  ox_id x = input(g, "x"), n, y = value(g, "y"), w;
  node(g, "Relu", "x", NULL, "y");
  CHECK_FAILS(ox_graph_add_node(g, "Relu", "", "again", &x, 1, &y, 1, &n), OX_INVALID_MODEL, "another node");
  CHECK_FAILS(ox_graph_add_node(g, "Relu", "", "loop", &y, 1, &x, 1, &n), OX_INVALID_MODEL, "graph input");
  CHECK_OK(ox_graph_add_const_copy(g, "w", OX_F32, 0, NULL, &(float){1}, &w));
  CHECK_FAILS(ox_graph_add_node(g, "Relu", "", "w", &y, 1, &w, 1, &n), OX_INVALID_MODEL, "initializer");
  CHECK_FAILS(ox_graph_add_input(g, x), OX_INVALID_MODEL, "twice");
  CHECK_OK(ox_graph_verify(g));
  ox_model_destroy(m);
}

static void test_use_lists_follow_edits(void **state) {
  (void)state;
  ox_model *m = new_model();
  ox_graph *g = m->graph;
  ox_id x = input(g, "x"), y = input(g, "y");
  ox_id n = node(g, "Add", "x", "x", "s");
  for (int i = 0; i < 5; i++) node(g, "Mul", "x", "y", (char[]){'m', (char)('0' + i), 0});
  assert_int_equal(ox_graph_use_count(g, x), 7);
  CHECK_OK(ox_node_set_input(g, n, 1, y));
  CHECK_OK(ox_node_set_input(g, n, 3, x));
  assert_int_equal(g->nodes[n].n_in, 4);
  assert_int_equal(g->nodes[n].in[2], OX_NONE);
  assert_int_equal(ox_graph_use_count(g, x), 7);
  CHECK_OK(ox_graph_verify(g));
  CHECK_OK(ox_node_set_input(g, n, 0, OX_NONE));
  CHECK_OK(ox_node_set_input(g, n, 9, OX_NONE));
  assert_int_equal(g->nodes[n].n_in, 4);
  CHECK_OK(ox_node_set_output(g, n, 2, value(g, "extra")));
  assert_int_equal(g->nodes[n].n_out, 3);
  CHECK_OK(ox_graph_verify(g));
  ox_graph_remove_node(g, n);
  ox_graph_remove_node(g, n);
  assert_int_equal(ox_graph_use_count(g, x), 5);
  assert_int_equal(ox_graph_use_count(g, y), 5);
  CHECK_OK(ox_graph_verify(g));
  ox_model_destroy(m);
}

/* main: x, c -> If(c) { body: inner { Add(x, k) } } */
static ox_graph *nest(ox_model *m, ox_graph **out_inner) {
  ox_graph *g = m->graph, *body, *inner;
  input(g, "x"), input(g, "c");
  CHECK_OK(ox_graph_create(m, g, "body", &body));
  CHECK_OK(ox_graph_create(m, body, "inner", &inner));
  ox_id in = node(inner, "Neg", "x", NULL, "out"), k;
  CHECK_OK(ox_graph_add_output(inner, inner->nodes[in].out[0]));
  ox_id n = node(body, "If", "c", NULL, "b_out");
  CHECK_OK(ox_node_set_attr(body, n, &(ox_attr){.name = "then_branch", .v.kind = OX_ATTR_GRAPH_KIND, .graph = inner}));
  CHECK_OK(ox_graph_add_output(body, body->nodes[n].out[0]));
  k = node(g, "If", "c", NULL, "y");
  CHECK_OK(ox_node_set_attr(g, k, &(ox_attr){.name = "then_branch", .v.kind = OX_ATTR_GRAPH_KIND, .graph = body}));
  CHECK_OK(ox_graph_add_output(g, g->nodes[k].out[0]));
  *out_inner = inner;
  return body;
}

static void test_bodies_see_outer_values(void **state) {
  (void)state;
  ox_model *m = new_model();
  ox_graph *g = m->graph, *inner, *body = nest(m, &inner);
  ox_id x = ox_graph_find(g, "x"), through = ox_graph_find(body, "x"), deep = ox_graph_find(inner, "x"), none;
  assert_int_equal(body->values[through].outer, x);
  assert_int_equal(inner->values[deep].outer, through);
  assert_int_equal(g->values[x].n_inner_uses, 1);
  assert_int_equal(body->values[through].n_inner_uses, 1);
  CHECK_OK(ox_graph_resolve(inner, "nobody", false, &none));
  assert_int_equal(none, OX_NONE);
  assert_string_equal(ox_graph_value_name(inner, deep), "x");
  assert_null(ox_graph_const(inner, deep));
  CHECK_OK(ox_graph_verify(g));
  ox_graph_remove_node(g, 0);
  assert_true(body->dead && inner->dead);
  assert_int_equal(g->values[x].n_inner_uses, 0);
  CHECK_FAILS(ox_graph_verify(g), OX_INVALID_MODEL, "'y' is used but nothing defines it");
  ox_model_destroy(m);
}

static void test_constants_are_seen_through_bodies(void **state) {
  (void)state;
  ox_model *m = new_model();
  ox_graph *g = m->graph, *body;
  ox_id w, s;
  CHECK_OK(ox_graph_add_const_copy(g, "w", OX_F32, 1, (int64_t[]){2}, (float[]){1, 2}, &w));
  CHECK_OK(ox_graph_create(m, g, "body", &body));
  CHECK_OK(ox_graph_resolve(body, "w", false, &s));
  assert_memory_equal(ox_graph_const(body, s)->data, ((float[]){1, 2}), 8);
  assert_int_equal(body->values[s].type.shape.dim[0], 2);
  CHECK_OK(ox_graph_add_input(g, w)); /* callers may override it now */
  assert_null(ox_graph_const(body, s));
  assert_null(ox_graph_const(g, OX_NONE));
  CHECK_FAILS(ox_graph_add_const_copy(g, "big", OX_F32, 2, (int64_t[]){INT64_MAX, 8}, NULL, &w), OX_LIMIT, "big");
  ox_model_destroy(m);
}

static void test_attributes(void **state) {
  (void)state;
  ox_model *m = new_model();
  ox_graph *g = m->graph;
  input(g, "x");
  ox_id n = node(g, "Op", "x", NULL, "y");
  CHECK_OK(ox_node_set_int(g, n, "i", 1));
  CHECK_OK(ox_node_set_float(g, n, "f", 0.5f));
  CHECK_OK(ox_node_set_str(g, n, "s", "text"));
  CHECK_OK(ox_node_set_ints(g, n, "is", (int64_t[]){1, 2}, 2));
  CHECK_OK(ox_node_set_floats(g, n, "fs", (float[]){3}, 1));
  CHECK_OK(ox_node_set_int(g, n, "i", 7));
  const ox_node *p = ox_graph_node(g, n);
  assert_int_equal(p->n_attrs, 5);
  assert_int_equal(ox_node_attr(p, "i")->v.i, 7);
  assert_int_equal(ox_node_attr(p, "is")->v.ints[1], 2);
  assert_true(ox_node_attr(p, "fs")->v.floats[0] == 3 && ox_node_attr(p, "f")->v.f == 0.5f);
  assert_string_equal(ox_node_attr(p, "s")->v.s.p, "text");
  ox_node_remove_attr(g, n, "f");
  ox_node_remove_attr(g, n, "f");
  assert_null(ox_node_attr(p, "f"));
  assert_int_equal(ox_node_attr(p, "fs")->v.n, 1);
  ox_model_destroy(m);
}

static void test_shapes_are_printed_with_the_names_of_symbols(void **state) {
  (void)state;
  ox_model *m = new_model();
  char text[OX_MODEL_SHAPE_TEXT], word[OX_MODEL_SHAPE_TEXT], cut[OX_MODEL_SHAPE_TEXT];
  int64_t batch, very_long;
  memset(word, 'w', sizeof word - 1), word[sizeof word - 1] = 0;
  cut[0] = '[', memset(cut + 1, 'w', sizeof cut - 2), cut[sizeof cut - 1] = 0;
  CHECK_OK(ox_model_symbol(m, "batch", &batch));
  CHECK_OK(ox_model_symbol(m, word, &very_long));
  const struct {
    ox_shape shape;
    const char *text;
  } rows[] = {{{-1, {0}}, "[...]"},
              {{0, {0}}, "[]"},
              {{1, {0}}, "[0]"},
              {{3, {batch, -1, 7}}, "[batch,?,7]"},
              {{1, {INT64_MIN}}, "[?]"}, /* no symbol of this model */
              {{1, {INT64_MAX}}, "[9223372036854775807]"},
              {{2, {very_long, batch}}, cut}};
  for (size_t i = 0; i < OX_COUNT(rows); i++)
    assert_string_equal(ox_model_shape_text(m, &rows[i].shape, text), rows[i].text);
  ox_model_destroy(m);
}

/* Everything once; the first failing allocation ends it. */
static ox_status *build(ox_alloc alloc) {
  ox_model *m = NULL;
  ox_status *st = NULL;
  ox_id v[40], n, s;
  int64_t dim;
  ox_graph *body;
  OX_TRY(ox_model_create(alloc, NULL, &m));
  OX_TRY_TO(done, st, ox_model_set_opset(m, "ai.onnx", 21));
  OX_TRY_TO(done, st, ox_model_symbol(m, "batch", &dim));
  OX_TRY_TO(done, st, ox_graph_add_value(m->graph, "v", &v[0]));
  OX_TRY_TO(done, st, ox_graph_add_input(m->graph, v[0]));
  for (int i = 1; i < 40; i++) {
    OX_TRY_TO(done, st, ox_graph_add_value(m->graph, "v", &v[i]));
    OX_TRY_TO(done, st, ox_graph_add_node(m->graph, "Add", "", "", (ox_id[]){v[0], v[i - 1]}, 2, &v[i], 1, &n));
    OX_TRY_TO(done, st, ox_node_set_ints(m->graph, n, "big", (int64_t[600]){0}, 600));
  }
  OX_TRY_TO(done, st, ox_graph_create(m, m->graph, "body", &body));
  OX_TRY_TO(done, st, ox_graph_resolve(body, "v", false, &s));
  OX_TRY_TO(done, st, ox_graph_add_output(body, s));
  OX_TRY_TO(done, st, ox_graph_add_output(m->graph, v[39]));
  ox_attr a = {.name = "body", .v.kind = OX_ATTR_GRAPH_KIND, .graph = body};
  OX_TRY_TO(done, st, ox_node_set_attr(m->graph, n, &a));
  OX_TRY_TO(done, st, ox_graph_bypass(m->graph, n));
  OX_TRY_TO(done, st, ox_graph_compact(m->graph));
  OX_TRY_TO(done, st, ox_graph_verify(m->graph));
done:
  ox_model_destroy(m);
  return st;
}

static void test_out_of_memory_is_an_error_and_leaks_nothing(void **state) {
  (void)state;
  for (long n = 0;; n++) {
    counting_alloc c = {.fail_at = n};
    ox_status *st = build(counting_alloc_of(&c));
    assert_int_equal(c.live, 0);
    if (!st) break;
    if (ox_status_code(st) != OX_OUT_OF_MEMORY) fail_msg("step %ld: %s", n, ox_status_message(st));
    ox_status_free(st);
    assert_true(n < 10000);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_names_are_unique),
      cmocka_unit_test(test_outputs_have_one_producer),
      cmocka_unit_test(test_use_lists_follow_edits),
      cmocka_unit_test(test_bodies_see_outer_values),
      cmocka_unit_test(test_constants_are_seen_through_bodies),
      cmocka_unit_test(test_attributes),
      cmocka_unit_test(test_shapes_are_printed_with_the_names_of_symbols),
      cmocka_unit_test(test_out_of_memory_is_an_error_and_leaks_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

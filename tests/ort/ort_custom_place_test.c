/* SPDX-License-Identifier: Apache-2.0
 * Where custom operators run: in place of standard ones, in bodies, in functions, over their inputs. */
#include "ort/times.h"

static void test_standard_operators_are_replaced(void **state) {
  static const struct { const char *domain, *name; } cases[] = {{"", "Relu"}, {"com.microsoft", "Gelu"}};
  (void)state;
  for (size_t i = 0; i < COUNT(cases); i++) {
    op_row row = {.version = 18,
                  .name = cases[i].name,
                  .n_in = 1,
                  .n_out = 1,
                  .in = {F32},
                  .out = {F32},
                  .create = create_times_3,
                  .compute = compute_times};
    op_row *const rows[] = {&row};
    char op[64];
    world w;
    message g = {0};
    snprintf(op, sizeof op, "%s%s%s", cases[i].domain, *cases[i].domain ? ":" : "", cases[i].name);
    graph_input(&g, "x", F32, "N");
    graph_node(&g, "n0", op, "x", "y");
    graph_output(&g, "y", F32, NULL);
    message m = model_of(&g, *cases[i].domain ? cases[i].domain : NULL, 1);
    OK(open_in(&w, cases[i].domain, &m, rows, 1));
    assert_true(first(&w, F32) == 3);
    close_world(&w);
  }
}

/* A graph of one node that reads x of the graph around it, for a body. */
static message body(const char *op, const char *output) {
  message g = {0};
  put_text(&g, 2, "body");
  graph_node(&g, "in_body", op, "x", output);
  graph_output(&g, output, F32, NULL);
  return g;
}

static message graph_attribute(const char *name, const message *graph) {
  message a = attribute(name, A_GRAPH);
  put_message(&a, 6, graph);
  return a;
}

/* y = If(true) { Times(x) } else { Relu(x) } */
static void test_in_a_branch(void **state) {
  static const uint8_t yes[] = {1};
  op_row row = times_row(create_times_3);
  world w;
  (void)state;
  message g = {0}, n = node("if", "If", "c", "y"), a;
  message then = body("t:Times", "a"), otherwise = body("Relu", "b");
  message c = tensor("c", ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL, NULL, 0, yes, 1);
  a = graph_attribute("then_branch", &then);
  put_message(&n, 5, &a);
  a = graph_attribute("else_branch", &otherwise);
  put_message(&n, 5, &a);
  put_message(&g, 1, &n);
  put_message(&g, 5, &c);
  graph_input(&g, "x", F32, "N");
  graph_output(&g, "y", F32, NULL);
  message m = model_of(&g, "t", 1);
  OK(open_world(&w, &m, &row));
  assert_true(first(&w, F32) == 3);
  close_world(&w);
}

/* Loop of three times v = Times(v), from x. */
static void test_in_a_loop(void **state) {
  static const int64_t trips[] = {3};
  op_row row = times_row(create_times_2);
  world w;
  (void)state;
  message g = {0}, b = {0}, n = node("loop", "Loop", "trips,-,x", "y");
  put_text(&b, 2, "body");
  graph_node(&b, "", "t:Times", "v", "v_out");
  graph_node(&b, "", "Identity", "go", "go_out");
  graph_input(&b, "i", I64, "");
  graph_input(&b, "go", ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL, "");
  graph_input(&b, "v", F32, NULL);
  graph_output(&b, "go_out", ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL, "");
  graph_output(&b, "v_out", F32, NULL);
  message a = graph_attribute("body", &b), t = tensor("trips", I64, NULL, 0, trips, 8);
  put_message(&n, 5, &a);
  put_message(&g, 1, &n);
  put_message(&g, 5, &t);
  graph_input(&g, "x", F32, "N");
  graph_output(&g, "y", F32, NULL);
  message m = model_of(&g, "t", 1);
  OK(open_world(&w, &m, &row));
  assert_true(first(&w, F32) == 8);
  assert_int_equal(row.creations, 1);
  assert_int_equal(row.computations, 3);
  close_world(&w);
}

/* y = f.Thrice(x), a function of the model: Times(Times(Times(a))). */
static void test_in_a_function(void **state) {
  op_row row = times_row(create_times_2);
  world w;
  (void)state;
  message g = {0}, f = {0}, opset = {0};
  graph_input(&g, "x", F32, "N");
  graph_node(&g, "n0", "f:Thrice", "x", "y");
  graph_output(&g, "y", F32, NULL);
  message m = model_of(&g, "t", 1);
  put_opset(&m, "f", 1);
  put_text(&f, 1, "Thrice");
  put_text(&f, 4, "a");
  put_text(&f, 5, "d");
  message n = node("", "t:Times", "a", "b");
  put_message(&f, 7, &n);
  n = node("", "t:Times", "b", "c");
  put_message(&f, 7, &n);
  n = node("", "t:Times", "c", "d");
  put_message(&f, 7, &n);
  put_text(&opset, 1, "t");
  put_int(&opset, 2, 1);
  put_message(&f, 9, &opset);
  put_text(&f, 10, "f");
  put_message(&m, 25, &f);
  OK(open_world(&w, &m, &row));
  assert_true(first(&w, F32) == 8);
  close_world(&w);
}

/* ---- overwriting ---- */

static size_t one_pair(int **from, int **to) {
  *from = calloc(1, sizeof **from), *to = calloc(1, sizeof **to);
  return 1;
}

/* x is the caller's and is not overwritten; what is between the nodes may be. A kernel with an alias does not change
 * what it shares, so that one just copies. */
static void test_overwriting_inputs(void **state) {
  (void)state;
  for (int alias = 0; alias < 2; alias++) {
    op_row row = {.version = 18,
                  .name = "Times",
                  .n_in = 1,
                  .n_out = 1,
                  .in = {F32},
                  .out = {F32},
                  .create = alias ? NULL : create_times_2,
                  .compute = compute_times,
                  .inplace = alias ? NULL : one_pair,
                  .alias = alias ? one_pair : NULL};
    world w;
    message g = {0};
    graph_input(&g, "x", F32, "4");
    graph_node(&g, "a", "t:Times", "x", "u");
    graph_node(&g, "b", "t:Times", "u", "v");
    graph_node(&g, "c", "Add", "u,v", "y"); /* u is read again: v may not take its place */
    graph_output(&g, "y", F32, NULL);
    message m = model_of(&g, "t", 1);
    OK(open_world(&w, &m, &row));
    for (int i = 0; i < 2; i++) assert_true(first(&w, F32) == (alias ? 2 : 6));
    assert_true(numbers[0] == 1);
    close_world(&w);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_standard_operators_are_replaced),
      cmocka_unit_test(test_in_a_branch),
      cmocka_unit_test(test_in_a_loop),
      cmocka_unit_test(test_in_a_function),
      cmocka_unit_test(test_overwriting_inputs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 * onnx/text_read_test.c - the textual syntax: what it means, where errors are, damage, failing allocations. */
#include <math.h>

#include "onnx/byte_buf.h"

static const ox_attr *attr(const ox_model *m, const char *name) {
  const ox_attr *a = ox_node_attr(ox_graph_node(m->graph, 0), name);
  assert_non_null(a);
  return a;
}

static void test_defaults_and_comments(void **state) {
  (void)state;
  ox_model *m = model_of_text("# a model\n g # its name\n () => () { # nothing\n } # end");
  assert_int_equal(m->ir_version, 10), assert_int_equal(ox_model_opset(m, ""), 21);
  assert_string_equal(m->graph->name, "g");
  ox_model_destroy(m);
}

static void test_shapes(void **state) {
  (void)state;
  ox_model *m = model_of_text("g (float a, float[] b, float[2,N,?,\"n-1\"] c, d) => () {}");
  const ox_type *a = &m->graph->values[0].type, *b = &m->graph->values[1].type, *c = &m->graph->values[2].type;
  assert_int_equal(a->shape.rank, 0), assert_int_equal(b->shape.rank, -1), assert_int_equal(c->shape.rank, 4);
  assert_int_equal(c->shape.dim[0], 2), assert_int_equal(c->shape.dim[2], -1);
  assert_string_equal(ox_model_symbol_name(m, c->shape.dim[3]), "n-1");
  assert_int_equal(m->graph->values[3].type.dtype, OX_UNDEFINED);
  ox_model_destroy(m);
}

static void test_attributes(void **state) {
  (void)state;
  ox_model *m = model_of_text(
      "g () => () { = Op <i = -3, f = 1.5, e = 2e3, n = -inf, k: float = 7, s = \"a\\\"b\","
      " is = [1, -2], fs: floats = [1, 2.5], ss = [\"x\"], none: strings = [],"
      " t = int64[2] {1, 2}, named = float[1] w = {3}, ts = [float {1}, float {2}],"
      " ty = seq(float[2]), tys = [float, int64[3]], body = b (x) => (y) {y = Neg (x)},"
      " quoted = \"q name\" () => () {}, bodies = [b1 () => () {}, b2 () => () {}]> () }");
  assert_int_equal(attr(m, "i")->v.i, -3), assert_true(attr(m, "f")->v.f == 1.5f);
  assert_true(attr(m, "e")->v.f == 2000), assert_true(isinf(attr(m, "n")->v.f) && attr(m, "n")->v.f < 0);
  assert_int_equal(attr(m, "k")->v.kind, OX_ATTR_FLOAT_KIND);
  assert_string_equal(attr(m, "s")->v.s.p, "a\"b");
  assert_int_equal(attr(m, "is")->v.ints[1], -2), assert_true(attr(m, "fs")->v.floats[0] == 1);
  assert_int_equal(attr(m, "none")->v.kind, OX_ATTR_STRINGS_KIND), assert_int_equal(attr(m, "none")->v.n, 0);
  assert_int_equal(((const ox_i64u *)attr(m, "t")->v.tensor->data)[1], 2);
  assert_int_equal(attr(m, "named")->v.kind, OX_ATTR_TENSOR_KIND), assert_int_equal(attr(m, "ts")->v.n, 2);
  assert_int_equal(attr(m, "ty")->types->kind, OX_SEQUENCE), assert_int_equal(attr(m, "tys")->types[1].dtype, OX_I64);
  assert_string_equal(attr(m, "body")->graph->nodes[0].op, "Neg");
  assert_string_equal(attr(m, "quoted")->graph->name, "q name"), assert_int_equal(attr(m, "bodies")->v.n, 2);
  ox_model_destroy(m);
}

static void test_nodes(void **state) {
  (void)state;
  ox_model *m = model_of_text(
      "g (x) => (y, \"z z\") { [\"a node\"] y, , \"z z\" = com.microsoft.Op:over (x, , x,) <i = 1>"
      " = Sink (,) }");
  const ox_node *n = ox_graph_node(m->graph, 0);
  assert_string_equal(n->name, "a node"), assert_string_equal(n->domain, "com.microsoft");
  assert_string_equal(n->op, "Op"), assert_string_equal(n->overload, "over");
  assert_int_equal(n->n_out, 3), assert_int_equal(n->out[1], OX_NONE);
  assert_int_equal(n->n_in, 3), assert_int_equal(n->in[1], OX_NONE);
  assert_int_equal(ox_node_attr(n, "i")->v.i, 1);
  assert_int_equal(ox_graph_node(m->graph, 1)->n_in, 1);
  ox_model_destroy(m);
}

static void test_constants(void **state) {
  (void)state;
  ox_model *m = model_of_text(
      "g () => () <float16[2] h = {15360, 1.0}, bfloat16[1] b = {1.0}, double[2] d = {0.1, -nan},"
      " uint64 u = {18446744073709551615}, complex64 c = {1, -2}, string[1] s = {\"\\\\\"},"
      " float[0] none = {}> {}");
  const ox_graph_value *v = m->graph->values;
  assert_int_equal(((uint16_t *)v[0].init->data)[0], 0x3c00),
      assert_int_equal(((uint16_t *)v[0].init->data)[1], 0x3c00);
  assert_int_equal(*(uint16_t *)v[1].init->data, 0x3f80);
  assert_true(((ox_f64u *)v[2].init->data)[0] == 0.1), assert_true(isnan(((ox_f64u *)v[2].init->data)[1]));
  assert_true(*(uint64_t *)v[3].init->data == UINT64_MAX), assert_true(((ox_f32u *)v[4].init->data)[1] == -2);
  assert_int_equal(((ox_str *)v[5].init->data)[0].n, 1), assert_int_equal(v[6].init->bytes, 0);
  ox_model_destroy(m);
}

static const struct {
  const char *text, *error;
} bad[] = {
    {"", "1:1: a name expected"},
    {"g", "1:2: '=' expected, but the text ends"},
    {"g () = > () {}", "'=>' expected"},
    {"g () => ()\n{\n  y = (x)\n}", "3:7: a name expected"},
    {"g () => () { y = Op (x }", "1:24: ')' expected, not '}'"},
    {"g () => () { y = Op <a> () }", "1:23: '=' expected"},
    {"g () => () { = Op <a = []> () }", "an empty list needs its kind"},
    {"g () => () { = Op <a = [1, \"s\"]> () }", "int expected, not string"},
    {"g () => () { = Op <a: strange = 1> () }", "'strange' is not an attribute kind"},
    {"g () => () { = Op <a: int = 1.5> () }", "int expected, not float"},
    {"g () => () { = Op <a = 99999999999999999999> () }", "99999999999999999999"},
    {"g () => () { = Op <a = \"open> () }", "does not end"},
    {"g (strange[2] x) => () {}", "')' expected, not '['"},
    {"g (seq(strange) x) => () {}", "'(' expected, not ')'"},
    {"g () => () <float[N] w = {1}> {}", "dimensions are all numbers"},
    {"g () => () <float[2] w = {1}> {}", "tensor 'w'"},
    {"g () => () <int8[1] w = {99999999999}> {}", "does not fit 32 bits"},
    {"g () => () <uint32[1] w = {-1}> {}", "unsigned integer expected"},
    {"g () => () <float[1] w = {1e99}> {}", "1e99"},
    {"<strange: 1> g () => () {}", "unknown key 'strange'"},
    {"<opset_import: [\"\" : 0]> g () => () {}", "version 0"},
    {"<opset_import: [\"\" : 4294967296]> g () => () {}", "version 4294967296"},
    {"g () => (y) {}", "output 'y' is not defined"},
    {"g () => () {} f () => (y) {}", "function 'f'"},
    {"g () => () { y = Op (x) }", "input 0, 'x', is not defined"},
    {"g (float[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1] x) => () {}", "more than 16 dimensions"},
};

static void test_errors(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(bad); i++) {
    ox_model *m;
    CHECK_FAILS(ox_text_read(ox_alloc_heap(), NULL, bad[i].text, strlen(bad[i].text), &m), OX_INVALID_MODEL, bad[i].error);
    assert_null(m);
  }
}

static void test_depth(void **state) {
  (void)state;
  static char text[100000];
  strcpy(text, "g (");
  for (int i = 0; i < 10000; i++) strcpy(text + 3 + 4 * i, "seq(");
  ox_model *m;
  CHECK_FAILS(ox_text_read(ox_alloc_heap(), NULL, text, strlen(text), &m), OX_INVALID_MODEL, "nested deeper");
}

static void read_damaged(const char *text, size_t n) {
  char *copy = malloc(n ? n : 1);
  memcpy(copy, text, n);
  ox_model *m;
  ox_status *st = ox_text_read(ox_alloc_heap(), NULL, copy, n, &m);
  free(copy); /* nothing is borrowed from it */
  if (!st) CHECK_OK(ox_graph_verify(m->graph));
  ox_status_free(st);
  ox_model_destroy(m);
}

static void test_truncated_and_changed_text(void **state) {
  (void)state;
  static const char instead[] = "\"<>(){}[],.:=@#-1e ax\n\\";
  char text[] = RICH_MODEL;
  size_t n = sizeof text - 1;
  for (size_t i = 0; i <= n; i++) read_damaged(text, i);
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < sizeof instead; k++) {
      char was = text[i];
      text[i] = instead[k];
      read_damaged(text, n);
      text[i] = was;
    }
}

static void test_every_failed_allocation_is_clean(void **state) {
  (void)state;
  for (long n = 0;; n++) {
    counting_alloc c = {.fail_at = n};
    ox_model *m;
    ox_status *st = ox_text_read(counting_alloc_of(&c), NULL, RICH_MODEL, sizeof RICH_MODEL - 1, &m);
    ox_model_destroy(m);
    assert_int_equal(c.live, 0);
    if (!st) break;
    assert_int_equal(ox_status_code(st), OX_OUT_OF_MEMORY);
    ox_status_free(st);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_defaults_and_comments),
      cmocka_unit_test(test_shapes),
      cmocka_unit_test(test_attributes),
      cmocka_unit_test(test_nodes),
      cmocka_unit_test(test_constants),
      cmocka_unit_test(test_errors),
      cmocka_unit_test(test_depth),
      cmocka_unit_test(test_truncated_and_changed_text),
      cmocka_unit_test(test_every_failed_allocation_is_clean),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

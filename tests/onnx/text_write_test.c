/* SPDX-License-Identifier: Apache-2.0
 * onnx/text_write_test.c - what is written can be read; names and numbers that need care. */
#include "onnx/byte_buf.h"

static byte_buf text_of(const ox_model *m) {
  byte_buf b = {0};
  CHECK_OK(ox_text_write(m, byte_buf_sink(&b)));
  return b;
}

static void test_layout(void **state) {
  (void)state;
  ox_model *m = model_of_text(
      "<ir_version: 8, opset_import: [\"\" : 17]> g (float[N,2] x, float[2] d = {1, 2}) => (y)"
      "<float[2] w = {0.1, 3}, float[N,2] h> { h = Add (x, w) [n] y = a.b.Op <i = 1, f = 2.0> (h, d) }");
  byte_buf b = text_of(m);
  assert_string_equal((char *)b.p,
                      "<ir_version: 8, opset_import: [\"\" : 17]>\n"
                      "g (float[N,2] x, float[2] d = {1, 2}) => (y) <\n"
                      "  float[2] w = {0.1, 3},\n"
                      "  float[N,2] h>\n"
                      "{\n"
                      "  h = Add (x, w)\n"
                      "  [n] y = a.b.Op <i = 1, f = 2.0> (h, d)\n"
                      "}\n");
  byte_buf_free(&b);
  ox_model_destroy(m);
}

static void check_round_trip(const char *text) {
  ox_model *m = model_of_text(text), *again = NULL;
  byte_buf a = text_of(m);
  ox_status *st = ox_text_read(ox_alloc_heap(), NULL, (char *)a.p, a.n, &again);
  if (st) fail_msg("%s\n%s", ox_status_message(st), (char *)a.p);
  CHECK_OK(ox_graph_verify(again->graph));
  byte_buf b = text_of(again);
  assert_string_equal((char *)a.p, (char *)b.p);
  byte_buf_free(&a), byte_buf_free(&b);
  ox_model_destroy(m), ox_model_destroy(again);
}

static void test_round_trips(void **state) {
  (void)state;
  check_round_trip(RICH_MODEL);
  check_round_trip(
      "\"a graph\" (float \"float\", \"seq\", \"inf\") => () { = \"d-1\".\"a b\":\"o o\" <\"x y\" = 1> (\"float\", "
      "\"\") }");
  check_round_trip(
      "g () => () <float[6] f = {1e38, 1e-45, -0.0, nan, -inf, 16777217}, double[2] d = {1e308, 0.1},"
      " bfloat16[1] b = {1.5}, complex128 c = {1, 2}, int2[3] i = {27}, float6e2m3[5] x = {1, 63, 0, 32, 17}, "
      "float6e3m2 z = {9}, float8e8m0[1] e = {127},"
      " string[2] s = {\"a\\\"\\\\\", \"\n\"}, bool[1] t = {1}> {}");
  check_round_trip("g (optional(seq(map(int64, float[?,N]))) x, sparse_tensor(float[3]) s) => () {}");
}

static void test_large_constants_cut_short(void **state) {
  (void)state;
  ox_model *m = model_of_text("g () => () <int64[4] w = {1, 2, 3, 4}> {}");
  byte_buf b = {0};
  CHECK_OK(ox_text_write_short(m, 2, byte_buf_sink(&b)));
  assert_non_null(strstr((char *)b.p, "w = {1, 2, ...}"));
  byte_buf_free(&b);
  ox_model_destroy(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_layout),
      cmocka_unit_test(test_round_trips),
      cmocka_unit_test(test_large_constants_cut_short),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

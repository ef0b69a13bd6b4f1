/* SPDX-License-Identifier: Apache-2.0
 * onnx/write_test.c - written and read again, a model is the same; a failure leaves nothing behind. */
#include "onnx/write.h"

#include <stdio.h>

#include "onnx/byte_buf.h"

/* Both texts contain all that the IR knows. */
static byte_buf text_of(const ox_model *m) {
  byte_buf b = {0};
  CHECK_OK(ox_text_write(m, byte_buf_sink(&b)));
  return b;
}

static void check_round_trip(const char *text) {
  ox_model *m = model_of_text(text), *again;
  byte_buf bytes = {0}, bytes_again = {0};
  CHECK_OK(ox_model_write(m, byte_buf_sink(&bytes)));
  CHECK_OK(ox_model_read(ox_alloc_heap(), bytes.p, bytes.n, NULL, &again));
  CHECK_OK(ox_graph_verify(again->graph));
  CHECK_OK(ox_model_write(again, byte_buf_sink(&bytes_again)));
  assert_int_equal(bytes.n, bytes_again.n);
  assert_memory_equal(bytes.p, bytes_again.p, bytes.n);
  byte_buf a = text_of(m), b = text_of(again);
  assert_string_equal((char *)a.p, (char *)b.p);
  byte_buf_free(&a), byte_buf_free(&b), byte_buf_free(&bytes), byte_buf_free(&bytes_again);
  ox_model_destroy(m), ox_model_destroy(again);
}

static void test_round_trips(void **state) {
  (void)state;
  check_round_trip(RICH_MODEL);
  check_round_trip("g () => () {}");
  check_round_trip(
      "<ir_version: 3, opset_import: [\"\" : 7]> g (float x) => (float y) <float w = {1}> { y = Add (x, w) }");
  check_round_trip("g (x) => (y) { y = \"my-domain\".\"aten::add\":v2 (x, , \"\") }");
}

static void test_large_constants_are_not_copied(void **state) {
  (void)state;
  counting_alloc c = {.fail_at = -1};
  ox_model *m;
  ox_id v;
  int64_t dim = 1 << 20;
  float *data = calloc((size_t)dim, sizeof *data);
  ox_shape s = ox_shape_of(1, &dim);
  ox_tensor t = ox_tensor_view(OX_F32, &s, data);
  CHECK_OK(ox_model_create(counting_alloc_of(&c), NULL, &m));
  m->ir_version = 8;
  CHECK_OK(ox_model_set_opset(m, "", 17));
  CHECK_OK(ox_graph_add_const(m->graph, "w", &t, &v));
  CHECK_OK(ox_graph_add_output(m->graph, v));
  c.fail_at = atomic_load(&c.calls) + 100; /* a few small blocks are all it may take */
  byte_buf b = {0};
  CHECK_OK(ox_model_write(m, byte_buf_sink(&b)));
  assert_true(b.n > 4u << 20 && c.live_bytes < 1 << 20);
  byte_buf_free(&b);
  ox_model_destroy(m);
  free(data);
}

static ox_status *write_little(void *ctx, const void *bytes, size_t n) {
  size_t *room = ctx;
  (void)bytes;
  if (n > *room) return ox_fail(OX_FAIL, "full");
  *room -= n;
  return NULL;
}

static void test_a_full_sink(void **state) {
  (void)state;
  ox_model *m = model_of_text(RICH_MODEL);
  size_t room = 10;
  CHECK_FAILS(ox_model_write(m, (ox_sink){write_little, &room}), OX_FAIL, "full");
  ox_model_destroy(m);
}

static void test_names_that_hide_what_a_body_reads(void **state) {
  (void)state;
  ox_model *m = model_of_text(
      "g (bool c, float x) => (y) { y = If (c) <then_branch = t () => (a) { a = Neg (x) },"
      " else_branch = e () => (b) { b = Abs (x) }> }");
  ox_graph *body = ox_node_body(ox_graph_node(m->graph, 0), 0);
  ox_graph_value *stand_in = ox_graph_value_at(body, ox_graph_find(body, "x"));
  ox_map_remove(&body->by_name, "x");
  stand_in->name = "label";
  assert_true(ox_map_put(&body->by_name, "label", (ox_id)(stand_in - body->values)));
  ox_id hides;
  CHECK_OK(ox_graph_add_value(body, "x", &hides));
  byte_buf b = {0};
  CHECK_FAILS(ox_model_write(m, byte_buf_sink(&b)), OX_INVALID_MODEL, "hides the outer value 'x'");
  byte_buf_free(&b);
  ox_model_destroy(m);
}

static void test_files(void **state) {
  (void)state;
  char path[] = "/tmp/onyx-write-XXXXXX";
  ox_model *m = model_of_text(RICH_MODEL), *again;
  assert_true(snprintf(path, sizeof path, "/tmp/onyx-write-%06d", rand() % 1000000) > 0);
  CHECK_OK(ox_model_write_file(m, path));
  CHECK_OK(ox_model_read_file(ox_alloc_heap(), path, NULL, &again));
  CHECK_OK(ox_model_write_file(again, path)); /* over the file that is mapped */
  CHECK_OK(ox_graph_verify(again->graph));
  remove(path);
  CHECK_FAILS(ox_model_write_file(m, "/no/such/folder/m.onnx"), OX_FAIL, "/no/such/folder");
  ox_model_destroy(m), ox_model_destroy(again);
}

static void test_every_failed_allocation_is_clean(void **state) {
  (void)state;
  for (long n = 0;; n++) {
    counting_alloc c = {.fail_at = -1};
    ox_model *m;
    CHECK_OK(ox_text_read(counting_alloc_of(&c), NULL, RICH_MODEL, sizeof RICH_MODEL - 1, &m));
    c.fail_at = atomic_load(&c.calls) + n;
    byte_buf b = {0};
    ox_status *st = ox_model_write(m, byte_buf_sink(&b));
    byte_buf_free(&b);
    ox_model_destroy(m);
    assert_int_equal(c.live, 0);
    if (!st) break;
    assert_int_equal(ox_status_code(st), OX_OUT_OF_MEMORY);
    ox_status_free(st);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_round_trips), cmocka_unit_test(test_large_constants_are_not_copied),
      cmocka_unit_test(test_a_full_sink), cmocka_unit_test(test_names_that_hide_what_a_body_reads),
      cmocka_unit_test(test_files),       cmocka_unit_test(test_every_failed_allocation_is_clean),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

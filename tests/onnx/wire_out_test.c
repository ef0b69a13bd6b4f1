/* SPDX-License-Identifier: Apache-2.0
 * onnx/wire_out_test.c - what is written is what the cursor reads: lengths of every size, borrowed pieces, taking back.
 */
#include "onnx/proto/wire_out.h"

#include "onnx/byte_buf.h"
#include "onnx/proto/wire.h"

static void test_messages_of_every_length(void **state) {
  (void)state;
  static const size_t sizes[] = {0, 1, 120, 127, 128, 1023, 1024, 16383, 16384, 70000};
  static unsigned char data[70000];
  for (size_t i = 0; i < sizeof data; i++) data[i] = (unsigned char)(i * 7);
  for (size_t k = 0; k < OX_COUNT(sizes); k++) {
    ox_wire_out o = ox_wire_out_of(ox_alloc_heap());
    ox_wire_mark outer = ox_out_begin(&o, 1), inner = ox_out_begin(&o, 2);
    ox_out_varint(&o, 3, UINT64_MAX);
    ox_out_bytes(&o, 4, data, sizes[k]); /* 1024 bytes and more are borrowed */
    ox_out_str(&o, 5, "end");
    ox_out_end(&o, inner), ox_out_end(&o, outer);
    byte_buf b = byte_buf_of(&o);
    ox_wire_field f;
    ox_wire w = ox_wire_of(b.p, b.n);
    assert_true(ox_wire_next(&w, &f)), assert_int_equal(f.tag, OX_WIRE_LEN(1)), assert_ptr_equal(w.p, b.p + b.n);
    w = ox_wire_sub(f.bytes);
    assert_true(ox_wire_next(&w, &f)), assert_int_equal(f.tag, OX_WIRE_LEN(2));
    w = ox_wire_sub(f.bytes);
    assert_true(ox_wire_next(&w, &f)), assert_true(f.value == UINT64_MAX);
    assert_true(ox_wire_next(&w, &f)), assert_int_equal(f.bytes.n, sizes[k]);
    if (sizes[k]) assert_memory_equal(f.bytes.p, data, sizes[k]);
    assert_true(ox_wire_next(&w, &f)), assert_memory_equal(f.bytes.p, "end", 3);
    assert_false(ox_wire_next(&w, &f));
    CHECK_OK(ox_wire_end(&w, "test"));
    byte_buf_free(&b);
  }
}

static void test_taking_back(void **state) {
  (void)state;
  static const unsigned char data[2000];
  ox_wire_out o = ox_wire_out_of(ox_alloc_heap());
  ox_out_varint(&o, 1, 5);
  ox_wire_mark mark = ox_out_mark(&o);
  ox_out_bytes(&o, 2, data, sizeof data);
  ox_out_varint(&o, 3, 6);
  ox_out_take_back(&o, mark);
  ox_out_f32(&o, 4, 1.0f);
  byte_buf b = byte_buf_of(&o);
  assert_int_equal(b.n, 7);
  assert_memory_equal(b.p, "\x08\x05\x25\x00\x00\x80\x3f", 7);
  byte_buf_free(&b);
}

static void test_nothing(void **state) {
  (void)state;
  ox_wire_out o = ox_wire_out_of(ox_alloc_heap());
  byte_buf b = byte_buf_of(&o);
  assert_int_equal(b.n, 0);
  byte_buf_free(&b);
}

static void test_out_of_memory_is_told_at_the_end(void **state) {
  (void)state;
  counting_alloc c = {.fail_at = 0};
  ox_wire_out o = ox_wire_out_of(counting_alloc_of(&c));
  ox_wire_mark m = ox_out_begin(&o, 1);
  ox_out_str(&o, 1, "text");
  ox_out_end(&o, m);
  byte_buf b = {0};
  CHECK_FAILS(ox_wire_out_flush(&o, byte_buf_sink(&b)), OX_OUT_OF_MEMORY, "");
  ox_wire_out_deinit(&o);
  assert_int_equal(c.live, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_messages_of_every_length),
      cmocka_unit_test(test_taking_back),
      cmocka_unit_test(test_nothing),
      cmocka_unit_test(test_out_of_memory_is_told_at_the_end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

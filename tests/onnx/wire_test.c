/* SPDX-License-Identifier: Apache-2.0
 * onnx/wire_test.c - the cursor over hand-made bytes, good and bad. */
#include "onnx/proto/wire.h"

#include <string.h>

#include "support/check.h"

#define BYTES(...) (const unsigned char[]){__VA_ARGS__}, sizeof((const unsigned char[]){__VA_ARGS__})

static void test_fields_of_every_type(void **state) {
  (void)state;
  ox_wire w =
      ox_wire_of(BYTES(0x08, 0x96, 0x01, 0x12, 2, 'h', 'i', 0x1d, 0, 0, 0x80, 0x3f, 0x21, 1, 0, 0, 0, 0, 0, 0, 0));
  ox_wire_field f;
  assert_true(ox_wire_next(&w, &f));
  assert_int_equal(f.tag, OX_WIRE_VARINT(1)), assert_int_equal(f.value, 150);
  assert_true(ox_wire_next(&w, &f));
  assert_int_equal(f.tag, OX_WIRE_LEN(2)), assert_int_equal(f.bytes.n, 2), assert_memory_equal(f.bytes.p, "hi", 2);
  assert_true(ox_wire_next(&w, &f));
  assert_int_equal(f.tag, OX_WIRE_F32(3)), assert_true(ox_wire_float(f.value) == 1.0f);
  assert_true(ox_wire_next(&w, &f));
  assert_int_equal(f.tag, OX_WIRE_F64(4)), assert_int_equal(f.value, 1);
  assert_false(ox_wire_next(&w, &f));
  CHECK_OK(ox_wire_end(&w, "test"));
}

static void test_nothing(void **state) {
  (void)state;
  ox_wire w = ox_wire_of(NULL, 0);
  ox_wire_field f;
  assert_false(ox_wire_next(&w, &f));
  CHECK_OK(ox_wire_end(&w, "test"));
}

static void test_groups_are_skipped(void **state) {
  (void)state;
  /* group 1 { varint 2, group 3 { bytes 4 } } then varint 5 = 7 */
  ox_wire w = ox_wire_of(BYTES(0x0b, 0x10, 1, 0x1b, 0x22, 1, 'x', 0x1c, 0x0c, 0x28, 7));
  ox_wire_field f;
  assert_true(ox_wire_next(&w, &f));
  assert_int_equal(f.tag, OX_WIRE_VARINT(5)), assert_int_equal(f.value, 7);
  assert_false(ox_wire_next(&w, &f));
  CHECK_OK(ox_wire_end(&w, "test"));
}

static void test_varints(void **state) {
  (void)state;
  static const struct {
    unsigned char bytes[11];
    size_t n;
    uint64_t value;
  } rows[] = {
      {{0}, 1, 0},
      {{0x7f}, 1, 127},
      {{0x80, 1}, 2, 128},
      {{0x80, 0}, 2, 0}, /* longer than necessary */
      {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, 10, UINT64_MAX},
      {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}, 9, INT64_MAX},
  };
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    ox_wire w = ox_wire_of(rows[i].bytes, rows[i].n);
    uint64_t v;
    assert_true(ox_wire_varint(&w, &v));
    assert_true(v == rows[i].value);
    assert_false(ox_wire_varint(&w, &v));
    CHECK_OK(ox_wire_end(&w, "test"));
    assert_int_equal(ox_wire_count_varints((ox_str){(const char *)rows[i].bytes, rows[i].n}), 1);
  }
}

static const struct {
  const char *error;
  unsigned char bytes[16];
  size_t n;
} bad[] = {
    {"ends outside", {0x08, 0x80}, 2},
    {"ends outside", {0x08}, 1},
    {"longer than 10", {0x08, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1}, 12},
    {"longer than its", {0x12, 3, 'a', 'b'}, 4},
    {"longer than its", {0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, 11},
    {"ends outside", {0x1d, 1, 2, 3}, 4},
    {"ends outside", {0x21, 1, 2, 3, 4, 5, 6, 7}, 8},
    {"unknown wire type", {0x0e}, 1},
    {"unknown wire type", {0x0c}, 1}, /* a group's end without its begin */
    {"field number", {0x00, 1}, 2},
    {"not closed", {0x0b, 0x10, 1}, 3},
    {"another's end", {0x0b, 0x14}, 2},
};

static void test_malformed_bytes(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(bad); i++) {
    ox_wire w = ox_wire_of(bad[i].bytes, bad[i].n);
    ox_wire_field f;
    assert_false(ox_wire_next(&w, &f));
    CHECK_FAILS(ox_wire_end(&w, "test"), OX_INVALID_MODEL, bad[i].error);
    assert_false(ox_wire_next(&w, &f)); /* the error sticks */
  }
}

static void test_groups_nested_too_deep(void **state) {
  (void)state;
  unsigned char bytes[1000];
  memset(bytes, 0x0b, sizeof bytes);
  ox_wire w = ox_wire_of(bytes, sizeof bytes);
  ox_wire_field f;
  assert_false(ox_wire_next(&w, &f));
  CHECK_FAILS(ox_wire_end(&w, "test"), OX_INVALID_MODEL, "too deep");
}

/* Lists that are not packed, of varints of 1 to 10 bytes, whole, cut off and with a bad one in between: a run and what
 * ox_wire_next finds behind it are what that finds alone. */
static void test_runs_are_what_fields_are(void **state) {
  enum { N = 200, TAG = OX_WIRE_VARINT(8), FLOAT = OX_WIRE_F32(7) };
  (void)state;
  for (int bad_at = -1; bad_at < N; bad_at += 67)
    for (int floats = 0; floats < 2; floats++) {
      unsigned char bytes[N * 13], *at = bytes;
      for (int i = 0; i < N; i++) {
        uint64_t v = i ? (UINT64_C(0x9e3779b97f4a7c15) * (uint64_t)i) >> (i * 7 % 64) : 0;
        *at++ = floats ? FLOAT : TAG;
        for (int k = 0; floats && k < 4; k++) *at++ = (unsigned char)(v >> 8 * k);
        if (floats) continue;
        for (int k = 0; i == bad_at && k < 10; k++) *at++ = 0xff;
        for (; v >= 0x80; v >>= 7) *at++ = (unsigned char)(v | 0x80);
        *at++ = (unsigned char)v;
      }
      for (size_t n = 0; n <= (size_t)(at - bytes); n++) {
        ox_wire w = ox_wire_of(bytes, n), alone = w, counts = w;
        ox_wire_field f, g;
        int64_t ints[N];
        float reals[N];
        size_t run = floats ? ox_wire_run_floats(&w, FLOAT, reals) : ox_wire_run_varints(&w, TAG, ints);
        assert_int_equal(run,
                         floats ? ox_wire_run_floats(&counts, FLOAT, NULL) : ox_wire_run_varints(&counts, TAG, NULL));
        assert_ptr_equal(w.p, counts.p);
        for (size_t i = 0; i < run; i++) {
          assert_true(ox_wire_next(&alone, &f));
          assert_true(floats ? memcmp(&reals[i], &(uint32_t){(uint32_t)f.value}, 4) == 0 : ints[i] == (int64_t)f.value);
        }
        assert_ptr_equal(w.p, alone.p);
        assert_true(n < 22 || run);
        while (ox_wire_next(&alone, &f)) assert_true(ox_wire_next(&w, &g) && g.value == f.value && g.tag == f.tag);
        assert_false(ox_wire_next(&w, &g));
        assert_true((w.error != NULL) == (alone.error != NULL));
      }
    }
  ox_wire other = ox_wire_of(BYTES(0x48, 1, 0x48, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0));
  assert_int_equal(ox_wire_run_varints(&other, TAG, NULL), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_fields_of_every_type),     cmocka_unit_test(test_nothing),
      cmocka_unit_test(test_groups_are_skipped),       cmocka_unit_test(test_varints),
      cmocka_unit_test(test_malformed_bytes),          cmocka_unit_test(test_groups_nested_too_deep),
      cmocka_unit_test(test_runs_are_what_fields_are),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 * onnx/tensor_test.c - TensorProto of every element type in every storage, and what must be refused. */
#include "onnx/proto/tensor.h"

#include "graph/dtype.h"
#include "onnx/byte_buf.h"
#include "onnx/proto/onnx_fields.h"

typedef struct fixture {
  ox_arena arena;
  ox_wire_out out;
} fixture;

static int setup(void **state) {
  fixture *f = calloc(1, sizeof *f);
  ox_arena_init(&f->arena, ox_alloc_heap());
  f->out = ox_wire_out_of(ox_alloc_heap());
  *state = f;
  return 0;
}

static int teardown(void **state) {
  fixture *f = *state;
  ox_arena_deinit(&f->arena);
  ox_wire_out_deinit(&f->out);
  free(f);
  return 0;
}

/* Reads what was written to f->out; the bytes stay valid until the fixture dies. */
static ox_status *read_out(fixture *f, ox_tensor *t) {
  byte_buf b = byte_buf_of(&f->out);
  ox_str s = {ox_arena_copy(&f->arena, b.p, b.n), b.n};
  byte_buf_free(&b);
  f->out = ox_wire_out_of(ox_alloc_heap());
  ox_tensor_reader r = {.arena = &f->arena};
  return ox_tensor_read(&r, s, t, NULL);
}

static void head(fixture *f, uint32_t dtype, int64_t n) {
  if (n >= 0) ox_out_varint(&f->out, OX_TENSOR_PROTO_DIMS, (uint64_t)n);
  ox_out_varint(&f->out, OX_TENSOR_PROTO_DATA_TYPE, dtype);
}

static void test_raw_data_of_every_type_is_borrowed(void **state) {
  fixture *f = *state;
  static const unsigned char raw[96] = {1, 2, 3, 4, 5};
  for (uint32_t dtype = 1; dtype < OX_DTYPE_COUNT; dtype++) {
    if (dtype == OX_STRING) continue;
    for (int64_t n = 0; n <= 5; n++) {
      size_t bytes;
      ox_tensor t;
      assert_true(ox_dtype_bytes(dtype, n, &bytes));
      head(f, dtype, n);
      ox_out_bytes(&f->out, OX_TENSOR_PROTO_RAW_DATA, raw, bytes);
      CHECK_OK(read_out(f, &t));
      assert_int_equal(t.dtype, dtype), assert_int_equal(t.bytes, bytes), assert_int_equal(t.shape.dim[0], n);
      if (bytes) assert_memory_equal(t.data, raw, bytes);
      head(f, dtype, n);
      ox_out_bytes(&f->out, OX_TENSOR_PROTO_RAW_DATA, raw, bytes + 1);
      CHECK_FAILS(read_out(f, &t), OX_INVALID_MODEL, "raw_data");
    }
  }
}

static void test_int32_data(void **state) {
  fixture *f = *state;
  static const struct {
    uint32_t dtype;
    int64_t elements;
    int64_t entries[3];
    size_t n, bytes;
    unsigned char want[12];
  } rows[] = {
      {OX_I32, 2, {-1, 258}, 2, 8, {255, 255, 255, 255, 2, 1, 0, 0}},
      {OX_I16, 2, {-2, 3}, 2, 4, {254, 255, 3, 0}},
      {OX_I8, 3, {-128, 127, 0}, 3, 3, {128, 127, 0}},
      {OX_U8, 2, {255, 1}, 2, 2, {255, 1}},
      {OX_U16, 1, {65535}, 1, 2, {255, 255}},
      {OX_BOOL, 3, {0, 1, 2}, 3, 3, {0, 1, 1}},
      {OX_F16, 1, {0x3c00}, 1, 2, {0, 0x3c}},
      {OX_BF16, 1, {0x3f80}, 1, 2, {0x80, 0x3f}},
      {OX_F8E4M3FN, 1, {0x38}, 1, 1, {0x38}},
      {OX_F8E5M2FNUZ, 1, {0x38}, 1, 1, {0x38}},
      {OX_F8E8M0, 1, {127}, 1, 1, {127}},
      {OX_U4, 3, {0x21, 3}, 2, 2, {0x21, 3}}, /* an entry is a byte of two elements */
      {OX_I4, 2, {0xf1}, 1, 1, {0xf1}},
      {OX_F4E2M1, 1, {7}, 1, 1, {7}},
      {OX_U2, 5, {0xe4, 1}, 2, 2, {0xe4, 1}},
      {OX_I2, 4, {0x1b}, 1, 1, {0x1b}},
      {OX_F6E2M3, 3, {0x3f, 1, 2}, 3, 3, {0x7f, 0x20, 0x00}},
  };
  for (size_t i = 0; i < OX_COUNT(rows); i++)
    for (int packed = 0; packed < 2; packed++) {
      ox_tensor t;
      head(f, rows[i].dtype, rows[i].elements);
      ox_wire_mark m = packed ? ox_out_begin(&f->out, OX_TENSOR_PROTO_INT32_DATA) : (ox_wire_mark){0};
      for (size_t k = 0; k < rows[i].n; k++) {
        if (packed) ox_out_raw_varint(&f->out, (uint64_t)rows[i].entries[k]);
        if (!packed) ox_out_varint(&f->out, OX_TENSOR_PROTO_INT32_DATA, (uint64_t)rows[i].entries[k]);
      }
      if (packed) ox_out_end(&f->out, m);
      CHECK_OK(read_out(f, &t));
      assert_int_equal(t.bytes, rows[i].bytes);
      assert_memory_equal(t.data, rows[i].want, rows[i].bytes);
    }
}

static void test_float_data_in_pieces(void **state) {
  fixture *f = *state;
  static const float want[4] = {1, 2, 3, 4};
  ox_tensor t;
  head(f, OX_F32, 4);
  ox_out_bytes(&f->out, OX_TENSOR_PROTO_FLOAT_DATA, want, 8);
  ox_out_f32(&f->out, OX_TENSOR_PROTO_FLOAT_DATA, 3);
  ox_out_bytes(&f->out, OX_TENSOR_PROTO_FLOAT_DATA, &want[3], 4);
  CHECK_OK(read_out(f, &t));
  assert_memory_equal(t.data, want, sizeof want);
  head(f, OX_C64, 2); /* pairs */
  ox_out_bytes(&f->out, OX_TENSOR_PROTO_FLOAT_DATA, want, 16);
  CHECK_OK(read_out(f, &t));
  assert_int_equal(t.bytes, 16);
  head(f, OX_C64, 2);
  ox_out_bytes(&f->out, OX_TENSOR_PROTO_FLOAT_DATA, want, 12);
  CHECK_FAILS(read_out(f, &t), OX_INVALID_MODEL, "float_data");
}

static void test_wide_data(void **state) {
  fixture *f = *state;
  ox_tensor t;
  static const double d[2] = {0.1, -0.0};
  head(f, OX_F64, 2);
  ox_out_bytes(&f->out, OX_TENSOR_PROTO_DOUBLE_DATA, d, sizeof d);
  CHECK_OK(read_out(f, &t));
  assert_memory_equal(t.data, d, sizeof d);
  head(f, OX_I64, 2);
  ox_out_varint(&f->out, OX_TENSOR_PROTO_INT64_DATA, (uint64_t)INT64_MIN),
      ox_out_varint(&f->out, OX_TENSOR_PROTO_INT64_DATA, 5);
  CHECK_OK(read_out(f, &t));
  assert_true(((int64_t *)t.data)[0] == INT64_MIN && ((int64_t *)t.data)[1] == 5);
  head(f, OX_U32, 1);
  ox_out_varint(&f->out, OX_TENSOR_PROTO_UINT64_DATA, UINT32_MAX);
  CHECK_OK(read_out(f, &t));
  assert_true(*(uint32_t *)t.data == UINT32_MAX);
  head(f, OX_U64, 1);
  ox_out_varint(&f->out, OX_TENSOR_PROTO_UINT64_DATA, UINT64_MAX);
  CHECK_OK(read_out(f, &t));
  assert_true(*(uint64_t *)t.data == UINT64_MAX);
}

static void test_strings_and_scalars(void **state) {
  fixture *f = *state;
  ox_tensor t;
  head(f, OX_STRING, 2);
  ox_out_bytes(&f->out, OX_TENSOR_PROTO_STRING_DATA, "a\0b", 3), ox_out_str(&f->out, OX_TENSOR_PROTO_STRING_DATA, "");
  CHECK_OK(read_out(f, &t));
  const ox_str *s = t.data;
  assert_int_equal(s[0].n, 3), assert_memory_equal(s[0].p, "a\0b", 3), assert_int_equal(s[1].n, 0);
  head(f, OX_F32, -1); /* no dims: a scalar */
  ox_out_f32(&f->out, OX_TENSOR_PROTO_FLOAT_DATA, 2.5f);
  CHECK_OK(read_out(f, &t));
  assert_int_equal(t.shape.rank, 0), assert_true(*(ox_f32u *)t.data == 2.5f);
}

static void test_refused(void **state) {
  fixture *f = *state;
  ox_tensor t;
  head(f, 0, 1);
  CHECK_FAILS(read_out(f, &t), OX_INVALID_MODEL, "0 is not an element type");
  head(f, 99, 1);
  CHECK_FAILS(read_out(f, &t), OX_INVALID_MODEL, "99 is not an element type");
  head(f, OX_F32, 3);
  CHECK_FAILS(read_out(f, &t), OX_INVALID_MODEL, "has 0");
  head(f, OX_I32, 3);
  CHECK_FAILS(read_out(f, &t), OX_INVALID_MODEL, "has 0");
  head(f, OX_STRING, 3);
  CHECK_FAILS(read_out(f, &t), OX_INVALID_MODEL, "has 0");
  head(f, OX_STRING, 1);
  ox_out_bytes(&f->out, OX_TENSOR_PROTO_RAW_DATA, "0123456789abcdef", 16);
  CHECK_FAILS(read_out(f, &t), OX_INVALID_MODEL, "strings cannot");
  ox_out_varint(&f->out, OX_TENSOR_PROTO_DIMS, (uint64_t)-1);
  head(f, OX_F32, 1);
  CHECK_FAILS(read_out(f, &t), OX_INVALID_MODEL, "dimension 0 is -1");
  for (int i = 0; i < 4; i++) ox_out_varint(&f->out, OX_TENSOR_PROTO_DIMS, 1u << 20);
  head(f, OX_F32, 1);
  CHECK_FAILS(read_out(f, &t), OX_INVALID_MODEL, "too large");
  ox_out_varint(&f->out, OX_TENSOR_PROTO_DIMS, (uint64_t)INT64_MAX);
  head(f, OX_F64, 1);
  CHECK_FAILS(read_out(f, &t), OX_INVALID_MODEL, "too large");
  for (int i = 0; i < 17; i++) ox_out_varint(&f->out, OX_TENSOR_PROTO_DIMS, 1);
  head(f, OX_F32, -1);
  CHECK_FAILS(read_out(f, &t), OX_LIMIT, "more than 16");
  ox_out_bytes(&f->out, OX_TENSOR_PROTO_SEGMENT, "", 0);
  head(f, OX_F32, 1);
  CHECK_FAILS(read_out(f, &t), OX_NOT_IMPLEMENTED, "segments");
  ox_out_varint(&f->out, OX_TENSOR_PROTO_DATA_LOCATION, OX_TENSOR_PROTO_DATA_LOCATION_EXTERNAL);
  head(f, OX_F32, 1);
  CHECK_FAILS(read_out(f, &t), OX_INVALID_MODEL, "folder is not known");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_raw_data_of_every_type_is_borrowed, setup, teardown),
      cmocka_unit_test_setup_teardown(test_int32_data, setup, teardown),
      cmocka_unit_test_setup_teardown(test_float_data_in_pieces, setup, teardown),
      cmocka_unit_test_setup_teardown(test_wide_data, setup, teardown),
      cmocka_unit_test_setup_teardown(test_strings_and_scalars, setup, teardown),
      cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

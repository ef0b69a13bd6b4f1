/* SPDX-License-Identifier: Apache-2.0
 * onnx/value_message_test.c - sequences, maps, optionals and sparse tensors, written and read. */
#include "onnx/value_message.h"

#include "graph/dtype.h"
#include "graph/shape.h"
#include "onnx/byte_buf.h"
#include "onnx/proto/onnx_fields.h"

static ox_tensor vector(uint32_t dtype, int64_t n, void *data) {
  ox_shape s = ox_shape_of(1, &n);
  return ox_tensor_view(dtype, &s, data);
}

static float numbers[3] = {1, 2, 3};
static int64_t keys[3] = {-1, 5, 7};
static int8_t small_keys[3] = {-128, 5, 7};
static ox_str words[3] = {{"a", 1}, {"", 0}, {"ccc", 3}};

/* Writes, reads, writes again: the bytes must be the same. |out| lives in the arena. */
static void round_trip(ox_arena *arena, ox_value_message message, const ox_tensor *v, ox_tensor *out) {
  byte_buf a = {0}, b = {0};
  ox_str name;
  CHECK_OK(ox_value_message_write(ox_alloc_heap(), message, v, "name", byte_buf_sink(&a)));
  void *copy = ox_arena_copy(arena, a.p, a.n);
  CHECK_OK(ox_value_message_read(arena, message, copy, a.n, out, &name));
  assert_int_equal(name.n, 4), assert_memory_equal(name.p, "name", 4);
  CHECK_OK(ox_value_message_write(ox_alloc_heap(), message, out, "name", byte_buf_sink(&b)));
  assert_int_equal(a.n, b.n), assert_memory_equal(a.p, b.p, a.n);
  for (size_t n = 0; n < a.n; n++) { /* truncated: an error or another value, never a crash */
    ox_tensor t;
    ox_status_free(ox_value_message_read(arena, message, a.p, n, &t, NULL));
  }
  byte_buf_free(&a), byte_buf_free(&b);
}

static void test_round_trips(void **state) {
  (void)state;
  ox_arena arena;
  ox_arena_init(&arena, ox_alloc_heap());
  ox_tensor out, t = vector(OX_F32, 3, numbers), s = vector(OX_STRING, 3, words), empty = {.kind = OX_NONE_VALUE};
  round_trip(&arena, OX_TENSOR_MESSAGE, &t, &out);
  round_trip(&arena, OX_TENSOR_MESSAGE, &s, &out);

  const ox_tensor *items[2] = {&t, &t}, *mixed[2] = {&t, &empty};
  int64_t two = 2;
  ox_tensor seq = {.kind = OX_SEQUENCE, .dtype = OX_F32, .data = items, .shape = ox_shape_of(1, &two)};
  round_trip(&arena, OX_SEQUENCE_MESSAGE, &seq, &out);
  assert_int_equal(out.kind, OX_SEQUENCE), assert_int_equal(out.dtype, OX_F32), assert_int_equal(out.shape.dim[0], 2);
  seq.data = mixed;
  round_trip(&arena, OX_SEQUENCE_MESSAGE, &seq, &out);
  assert_int_equal((*(const ox_tensor *const(*)[2])out.data)[1]->kind, OX_NONE_VALUE);

  round_trip(&arena, OX_OPTIONAL_MESSAGE, &empty, &out);
  assert_int_equal(out.kind, OX_NONE_VALUE);
  round_trip(&arena, OX_OPTIONAL_MESSAGE, &t, &out);
  assert_int_equal(out.kind, OX_TENSOR), assert_memory_equal(out.data, numbers, sizeof numbers);

  ox_tensor key_kinds[] = {vector(OX_I64, 3, keys), vector(OX_I8, 3, small_keys), s};
  for (size_t i = 0; i < OX_COUNT(key_kinds); i++) {
    ox_tensor pair[2] = {key_kinds[i], t}, map = {.kind = OX_MAP, .data = pair};
    round_trip(&arena, OX_MAP_MESSAGE, &map, &out);
    const ox_tensor *got = out.data;
    assert_int_equal(got[1].kind, OX_TENSOR), assert_memory_equal(got[1].data, numbers, sizeof numbers);
    if (i < 2) assert_memory_equal(got[0].data, key_kinds[i].data, key_kinds[i].bytes);
  }
  const ox_tensor *three[3] = {&t, &t, &t};
  int64_t n = 3;
  ox_tensor pair[2] = {s, {.kind = OX_SEQUENCE, .data = three, .shape = ox_shape_of(1, &n)}};
  ox_tensor map = {.kind = OX_MAP, .data = pair};
  round_trip(&arena, OX_MAP_MESSAGE, &map, &out);
  assert_int_equal(((ox_tensor *)out.data)[1].kind, OX_SEQUENCE);

  int64_t at[3] = {0, 4, 8}, dims[2] = {3, 3};
  ox_tensor parts[2] = {t, vector(OX_I64, 3, at)};
  ox_tensor sparse = {.kind = OX_SPARSE, .dtype = OX_F32, .data = parts, .shape = ox_shape_of(2, dims)};
  round_trip(&arena, OX_SPARSE_TENSOR_MESSAGE, &sparse, &out);
  assert_int_equal(out.shape.rank, 2);
  ox_arena_deinit(&arena);
}

static void test_refused(void **state) {
  (void)state;
  ox_arena arena;
  ox_arena_init(&arena, ox_alloc_heap());
  ox_tensor out, t = vector(OX_F32, 3, numbers);
  byte_buf b = {0};
  CHECK_FAILS(ox_value_message_write(ox_alloc_heap(), OX_MAP_MESSAGE, &t, NULL, byte_buf_sink(&b)), OX_INVALID_ARGUMENT,
              "kind");
  /* keys without values; a sequence of an unknown kind; sparse indices outside */
  CHECK_FAILS(ox_value_message_read(&arena, OX_MAP_MESSAGE, "\x10\x07\x18\x01", 4, &out, NULL), OX_INVALID_MODEL,
              "1 keys, but 0 values");
  CHECK_FAILS(ox_value_message_read(&arena, OX_MAP_MESSAGE, "\x10\x01", 2, &out, NULL), OX_INVALID_MODEL,
              "not float32");
  CHECK_FAILS(ox_value_message_read(&arena, OX_SEQUENCE_MESSAGE, "\x10\x09", 2, &out, NULL), OX_INVALID_MODEL,
              "elem_type is 9");
  int64_t at[3] = {0, 4, 9}, dims[2] = {3, 3};
  ox_tensor parts[2] = {t, vector(OX_I64, 3, at)};
  ox_tensor sparse = {.kind = OX_SPARSE, .dtype = OX_F32, .data = parts, .shape = ox_shape_of(2, dims)};
  CHECK_OK(ox_value_message_write(ox_alloc_heap(), OX_SPARSE_TENSOR_MESSAGE, &sparse, NULL, byte_buf_sink(&b)));
  CHECK_FAILS(ox_value_message_read(&arena, OX_SPARSE_TENSOR_MESSAGE, b.p, b.n, &out, NULL), OX_INVALID_MODEL,
              "index 2");
  byte_buf_free(&b);
  ox_arena_deinit(&arena);
}

static void test_optionals_nested_too_deep(void **state) {
  (void)state;
  ox_arena arena;
  ox_arena_init(&arena, ox_alloc_heap());
  ox_wire_out o = ox_wire_out_of(ox_alloc_heap());
  ox_wire_mark marks[1000];
  for (int i = 0; i < 1000; i++) {
    ox_out_varint(&o, OX_OPTIONAL_PROTO_ELEM_TYPE, OX_SEQUENCE_PROTO_DATA_TYPE_OPTIONAL);
    marks[i] = ox_out_begin(&o, OX_OPTIONAL_PROTO_OPTIONAL_VALUE);
  }
  for (int i = 1000; i-- > 0;) ox_out_end(&o, marks[i]);
  byte_buf b = byte_buf_of(&o);
  ox_tensor out;
  CHECK_FAILS(ox_value_message_read(&arena, OX_OPTIONAL_MESSAGE, b.p, b.n, &out, NULL), OX_LIMIT, "deeper");
  byte_buf_free(&b);
  ox_arena_deinit(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_round_trips),
      cmocka_unit_test(test_refused),
      cmocka_unit_test(test_optionals_nested_too_deep),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

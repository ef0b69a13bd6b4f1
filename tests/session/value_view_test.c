/* SPDX-License-Identifier: Apache-2.0
 * session/value_view_test.c - values over what the caller has, of any kind, with a room beside them; and values without
 * an env. */
#include <string.h>

#include "onyx/onyx.h"
#include "support/check.h"
#include "support/text_session.h"

static const char lengths[] =
    "<ir_version: 8, opset_import: [\"\" : 17]> g (seq(float[N]) s) => (int64 n) { n = SequenceLength (s) }";

typedef struct room {
  int *released;
  int number;
} room;

static void note(void *p) {
  room *r = p;
  *r->released += r->number;
}

static void test_the_room_is_zeroed_aligned_and_released_once(void **state) {
  (void)state;
  static const size_t sizes[] = {1, sizeof(room), 17, 4096};
  const ox_tensor none = {.kind = OX_NONE_VALUE};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    ox_value *v;
    CHECK_OK(ox_value_view(NULL, &none, sizes[i], NULL, &v));
    const char *p = ox_value_room(v);
    assert_int_equal((uintptr_t)p % 16, 0);
    for (size_t k = 0; k < sizes[i]; k++) assert_int_equal(p[k], 0);
    ox_value_release(v);
  }
  int released = 0;
  ox_value *v;
  CHECK_OK(ox_value_view(NULL, &none, sizeof(room), note, &v));
  *(room *)ox_value_room(v) = (room){&released, 7};
  ox_value_retain(v);
  ox_value_release(v);
  assert_int_equal(released, 0);
  ox_value_release(v);
  assert_int_equal(released, 7);
}

static void test_without_a_room_there_is_none(void **state) {
  (void)state;
  ox_value *v;
  CHECK_OK(ox_value_view(NULL, &(ox_tensor){.kind = OX_NONE_VALUE}, 0, NULL, &v));
  assert_null(ox_value_room(v));
  ox_value_release(v);
  CHECK_FAILS(ox_value_view(NULL, &(ox_tensor){.kind = OX_NONE_VALUE}, SIZE_MAX, NULL, &v), OX_OUT_OF_MEMORY, "");
  assert_null(v);
}

static void test_a_sequence_of_the_caller_runs_without_a_copy(void **state) {
  (void)state;
  float data[3] = {1, 2, 3};
  ox_tensor item = {.kind = OX_TENSOR, .dtype = OX_F32, .data = data, .bytes = sizeof data, .shape = {1, {3}}};
  const ox_tensor *items[2] = {&item, &item};
  ox_tensor list = {.kind = OX_SEQUENCE, .dtype = OX_F32, .data = items, .shape = {1, {2}}};
  ox_env *env;
  ox_session *s;
  ox_value *in, *out = NULL;
  CHECK_OK(ox_env_create(NULL, &env));
  CHECK_OK(text_session(env, lengths, NULL, &s));
  CHECK_OK(ox_value_view(NULL, &list, 0, NULL, &in));
  assert_ptr_equal(ox_value_get(in)->data, items);
  const char *name = "s";
  const ox_value *const given = in;
  CHECK_OK(ox_session_run(s, NULL, &name, &given, 1, NULL, &out, 1));
  assert_int_equal(*(const int64_t *)ox_value_get(out)->data, 2);
  ox_value_release(out), ox_value_release(in);
  ox_session_release(s), ox_env_release(env);
}

static void test_no_env_means_the_heap(void **state) {
  (void)state;
  float data[2] = {4, 5};
  const int64_t dims[] = {2};
  ox_value *made, *over, *copy;
  CHECK_OK(ox_value_create(NULL, OX_F32, dims, 1, &made));
  assert_true(((const float *)ox_value_data(made))[1] == 0);
  CHECK_OK(ox_value_wrap(NULL, OX_F32, dims, 1, data, sizeof data, NULL, NULL, &over));
  CHECK_OK(ox_value_create_copy(NULL, ox_value_get(over), &copy));
  assert_memory_equal(ox_value_data(copy), data, sizeof data);
  ox_value_release(made), ox_value_release(over), ox_value_release(copy);
  CHECK_FAILS(ox_value_parse(NULL, OX_TENSOR, "\377", 1, &made), OX_INVALID_MODEL, "");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_room_is_zeroed_aligned_and_released_once),
      cmocka_unit_test(test_without_a_room_there_is_none),
      cmocka_unit_test(test_a_sequence_of_the_caller_runs_without_a_copy),
      cmocka_unit_test(test_no_env_means_the_heap),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

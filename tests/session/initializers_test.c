/* SPDX-License-Identifier: Apache-2.0
 * session/initializers_test.c - contents for initializers from the caller: shared, not copied, instead of files that
 * are missing; and model files that sessions share. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include <stdio.h>
#include <unistd.h>

#include "onyx/onyx.h"
#include "support/added_values.h"
#include "support/text_session.h"

/* ---- models whose data is in a file that is missing: w; s is sparse. (Inputs, because of the old ir_version.) ---- */

static const char small[] =
    "<ir_version: 3, opset_import: [\"\" : 17]> g (float[2] x, float[2] w, float[3] s) => "
    "(float[2] y, float[3] z) { y = Add (x, w) z = Abs (s) }";
static const char large[] =
    "<ir_version: 3, opset_import: [\"\" : 17]> g (int64[1] x, float[2] w, float[3] s) => "
    "(float[1] y, float[3] z) { y = Gather (w, x) z = Abs (s) }";
enum { LARGE = 1 << 20 };

static void add_sparse(ox_wire_out *o) {
  static const float five = 5;
  ox_wire_mark s = ox_out_begin(o, OX_GRAPH_PROTO_SPARSE_INITIALIZER),
               t = ox_out_begin(o, OX_SPARSE_TENSOR_PROTO_VALUES);
  ox_out_varint(o, OX_TENSOR_PROTO_DIMS, 1), ox_out_varint(o, OX_TENSOR_PROTO_DATA_TYPE, OX_F32);
  ox_out_str(o, OX_TENSOR_PROTO_NAME, "s"), ox_out_bytes(o, OX_TENSOR_PROTO_RAW_DATA, &five, sizeof five);
  ox_out_end(o, t);
  t = ox_out_begin(o, OX_SPARSE_TENSOR_PROTO_INDICES);
  ox_out_varint(o, OX_TENSOR_PROTO_DIMS, 1), ox_out_varint(o, OX_TENSOR_PROTO_DATA_TYPE, OX_I64);
  ox_out_varint(o, OX_TENSOR_PROTO_INT64_DATA, 1);
  ox_out_end(o, t);
  ox_out_varint(o, OX_SPARSE_TENSOR_PROTO_DIMS, 3);
  ox_out_end(o, s);
}

static void add_values(ox_wire_out *o, void *w_dim) { add_missing(o, "w", OX_F32, 1, w_dim), add_sparse(o); }

/* |n|: elements of w */
static byte_buf model_without_data(const char *text, int64_t n) { return bytes_with_values(text, add_values, &n); }

/* ---- the harness ---- */

static ox_value *floats(ox_env *env, size_t n, float start) {
  return ramp_value(env, start, 1, 1, (int64_t[]){(int64_t)n});
}

static ox_status *open_with(ox_env *env, const byte_buf *b, size_t n, const char *const *names,
                            const ox_value *const *values, ox_session **out) {
  ox_session_opts o;
  ox_session_opts_init(&o);
  o.initializer_names = names, o.initializers = values, o.n_initializers = n;
  return ox_session_create(env, b->p, b->n, &o, out);
}

static void check_run(ox_env *env, ox_session *s, size_t output, const float *want, size_t n) {
  ox_value *x = floats(env, 2, 1), *out[2] = {NULL};
  const char *name = "x";
  CHECK_OK(ox_session_run(s, NULL, &name, (const ox_value *const *)&x, 1, NULL, out, ox_session_output_count(s)));
  const ox_tensor *t = ox_value_get(out[output]);
  assert_int_equal(t->bytes, n * sizeof *want);
  for (size_t i = 0; i < n; i++) assert_true(ox_tensor_element(t, (int64_t)i) == (double)want[i]);
  ox_value_release(out[0]), ox_value_release(out[1]), ox_value_release(x);
}

static void test_contents_stand_for_a_missing_file(void **state) {
  (void)state;
  counting_alloc count = {.fail_at = -1};
  ox_env_opts eo = {.struct_size = sizeof eo, .alloc = counting_alloc_of(&count)};
  byte_buf b = model_without_data(small, 2);
  ox_env *env;
  ox_session *one, *two;
  CHECK_OK(ox_env_create(&eo, &env));
  ox_value *w = floats(env, 2, 10), *s = floats(env, 3, 7);
  CHECK_OK(open_with(env, &b, 1, (const char *[]){"w"}, (const ox_value *[]){w}, &one));
  CHECK_OK(open_with(env, &b, 2, (const char *[]){"s", "w"}, (const ox_value *[]){s, w}, &two));
  ox_value_release(w), ox_value_release(s); /* the sessions have counts */
  check_run(env, one, 0, (float[]){11, 13}, 2);
  check_run(env, one, 1, (float[]){0, 5, 0}, 3);
  ox_session_release(one);
  check_run(env, two, 0, (float[]){11, 13}, 2);
  check_run(env, two, 1, (float[]){7, 8, 9}, 3);
  ox_session_release(two);
  ox_env_release(env);
  byte_buf_free(&b);
  assert_int_equal(atomic_load(&count.live), 0);
}

static void test_errors_name_tensor_wanted_and_given(void **state) {
  (void)state;
  byte_buf b = model_without_data(small, 2);
  ox_env *env;
  CHECK_OK(ox_env_create(NULL, &env));
  ox_value *w = floats(env, 2, 0), *long_w = floats(env, 3, 0), *ints, *list, *scalar = ramp_value(env, 0, 1, 0, NULL);
  ox_tensor none = {.kind = OX_NONE_VALUE};
  CHECK_OK(ox_value_create(env, OX_I32, (int64_t[]){2}, 1, &ints));
  CHECK_OK(ox_value_create_copy(env, &none, &list));
  const struct {
    size_t n;
    const char *names[2];
    const ox_value *values[2];
    ox_code code;
    const char *part;
  } cases[] = {
      {0, {NULL}, {NULL}, OX_INVALID_MODEL, "gone.bin"},
      {1, {"w"}, {long_w}, OX_SHAPE_MISMATCH, "tensor 'w': wanted float32[2], was given float32[3]"},
      {1, {"w"}, {ints}, OX_SHAPE_MISMATCH, "tensor 'w': wanted float32[2], was given int32[2]"},
      {1, {"w"}, {scalar}, OX_SHAPE_MISMATCH, "tensor 'w': wanted float32[2], was given float32[]"},
      {1, {"w"}, {list}, OX_SHAPE_MISMATCH, "tensor 'w': wanted a tensor"},
      {1, {"w"}, {NULL}, OX_INVALID_ARGUMENT, "initializer 'w' was given as NULL"},
      {1, {NULL}, {w}, OX_INVALID_ARGUMENT, "initializer 0 was given without a name"},
      {2, {"w", "w"}, {w, w}, OX_INVALID_ARGUMENT, "'w' was given twice"},
      {2, {"w", "v"}, {w, w}, OX_INVALID_ARGUMENT, "no initializer 'v'"},
      {2, {"w", ""}, {w, w}, OX_INVALID_ARGUMENT, "no initializer ''"},
      {2, {"w", "x"}, {w, w}, OX_INVALID_ARGUMENT, "no initializer 'x'"}, /* an input */
      {2, {"w", "s"}, {w, w}, OX_SHAPE_MISMATCH, "tensor 's': wanted float32[3], was given float32[2]"},
  };
  for (size_t i = 0; i < OX_COUNT(cases); i++) {
    ox_session *s = NULL;
    ox_status *st = open_with(env, &b, cases[i].n, cases[i].names, cases[i].values, &s);
    if (ox_status_code(st) != cases[i].code || !strstr(ox_status_message(st), cases[i].part))
      fail_msg("case %zu: got %s \"%s\"", i, ox_code_name(ox_status_code(st)), ox_status_message(st));
    assert_null(s);
    ox_status_free(st);
  }
  ox_session *s;
  CHECK_FAILS(open_with(env, &b, 1, NULL, (const ox_value *[]){w}, &s), OX_INVALID_ARGUMENT,
              "names or contents are NULL");
  CHECK_FAILS(open_with(env, &b, 1, (const char *[]){"w"}, NULL, &s), OX_INVALID_ARGUMENT,
              "names or contents are NULL");
  ox_value_release(w), ox_value_release(long_w), ox_value_release(ints), ox_value_release(list),
      ox_value_release(scalar);
  ox_env_release(env);
  byte_buf_free(&b);
}

/* A body's initializer of the same name is another one. */
static void test_bodies_keep_their_own(void **state) {
  (void)state;
  byte_buf b = bytes_of_text(
      "<ir_version: 8, opset_import: [\"\" : 17]> g (float[2] x) => (float[2] y, float[2] z)"
      "<float[2] w = {1, 1}, bool yes = {1}> { y = Mul (x, w) z = If (yes) <then_branch = t () => (p)"
      " <float[2] w = {2, 2}> { p = Mul (x, w) }, else_branch = e () => (q) { q = Neg (x) }> }");
  ox_env *env;
  ox_session *s;
  CHECK_OK(ox_env_create(NULL, &env));
  ox_value *w = floats(env, 2, 3);
  CHECK_OK(open_with(env, &b, 1, (const char *[]){"w"}, (const ox_value *[]){w}, &s));
  check_run(env, s, 0, (float[]){3, 8}, 2);
  check_run(env, s, 1, (float[]){2, 4}, 2);
  ox_value_release(w);
  ox_session_release(s);
  ox_env_release(env);
  byte_buf_free(&b);
}

static int64_t live_mib(counting_alloc *c) { return (atomic_load(&c->live_bytes) + (1 << 19)) >> 20; }

static void test_large_contents_are_not_copied(void **state) {
  (void)state;
  counting_alloc count = {.fail_at = -1};
  ox_env_opts eo = {.struct_size = sizeof eo, .alloc = counting_alloc_of(&count)};
  byte_buf b = model_without_data(large, LARGE);
  ox_env *env;
  ox_session *s[2];
  ox_value *x, *out = NULL;
  const char *name = "x";
  CHECK_OK(ox_env_create(&eo, &env));
  ox_value *w = floats(env, LARGE, 0);
  CHECK_OK(ox_value_create(env, OX_I64, (int64_t[]){1}, 1, &x));
  *(int64_t *)ox_value_data(x) = LARGE - 1;
  assert_int_equal(live_mib(&count), 4);
  for (int i = 0; i < 2; i++) {
    CHECK_OK(open_with(env, &b, 1, (const char *[]){"w"}, (const ox_value *[]){w}, &s[i]));
    CHECK_OK(ox_session_run(s[i], NULL, &name, (const ox_value *const *)&x, 1, NULL, &out, 1));
    assert_true(ox_tensor_element(ox_value_get(out), 0) == LARGE - 1);
    ox_value_release(out), out = NULL;
    assert_int_equal(live_mib(&count), 4);
  }
  ox_value_release(w);
  assert_int_equal(live_mib(&count), 4);
  ox_session_release(s[0]);
  assert_int_equal(live_mib(&count), 4);
  ox_session_release(s[1]);
  assert_int_equal(live_mib(&count), 0);
  ox_value_release(x);
  ox_env_release(env);
  byte_buf_free(&b);
}

static void test_every_failed_allocation_is_an_error(void **state) {
  (void)state;
  byte_buf b = model_without_data(small, 2);
  ox_env *plain;
  CHECK_OK(ox_env_create(NULL, &plain));
  ox_value *w = floats(plain, 2, 10), *s = floats(plain, 3, 7);
  long at = 0;
  for (bool ok = false; !ok; at++) {
    counting_alloc count = {.fail_at = at};
    ox_env_opts eo = {.struct_size = sizeof eo, .alloc = counting_alloc_of(&count)};
    ox_env *env = NULL;
    ox_session *session = NULL;
    ox_status *st = ox_env_create(&eo, &env);
    if (!st) st = open_with(env, &b, 2, (const char *[]){"w", "s"}, (const ox_value *[]){w, s}, &session);
    ok = !st;
    if (st && ox_status_code(st) != OX_OUT_OF_MEMORY) fail_msg("allocation %ld: %s", at, ox_status_message(st));
    ox_status_free(st);
    ox_session_release(session);
    ox_env_release(env);
    assert_int_equal(atomic_load(&count.live), 0);
  }
  assert_true(at > 10);
  ox_value_release(w), ox_value_release(s);
  ox_env_release(plain);
  byte_buf_free(&b);
}

/* ---- one file, many sessions ---- */

/* How often |path| is mapped in this process; -1: the system does not tell. */
static int maps_of(const char *path) {
  char line[512];
  int n = 0;
  FILE *f = fopen("/proc/self/maps", "r");
  if (!f) return -1;
  while (fgets(line, sizeof line, f)) n += strstr(line, path) != NULL;
  fclose(f);
  return n;
}

static void test_sessions_share_the_file(void **state) {
  (void)state;
  char path[] = "/tmp/onyx-shared-XXXXXX";
  int fd = mkstemp(path);
  byte_buf b = bytes_of_text(
      "<ir_version: 8, opset_import: [\"\" : 17]> g (float[2] x) => (float[2] y)"
      "<float[2] w = {3, 4}> { y = Add (x, w) }");
  ox_env *env;
  ox_session *s[3];
  assert_true(fd >= 0 && write(fd, b.p, b.n) == (ssize_t)b.n);
  CHECK_OK(ox_env_create(NULL, &env));
  for (int i = 0; i < 3; i++) CHECK_OK(ox_session_create_file(env, path, NULL, &s[i]));
  if (maps_of(path) >= 0) assert_int_equal(maps_of(path), 1);
  ox_session_release(s[0]), ox_session_release(s[2]);
  check_run(env, s[1], 0, (float[]){4, 6}, 2);
  ox_session_release(s[1]);
  if (maps_of(path) >= 0) assert_int_equal(maps_of(path), 0);
  ox_env_release(env);
  byte_buf_free(&b);
  close(fd), remove(path);
}

/* ---- what may be missing, and lists that are broken ---- */

static void test_optional_contents_may_have_no_initializer(void **state) {
  (void)state;
  static const char text[] =
      "<ir_version: 8, opset_import: [\"\" : 17]> g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Mul (x, "
      "w) }";
  ox_env *env;
  ox_session *s;
  ox_session_opts o;
  CHECK_OK(ox_env_create(NULL, &env));
  ox_value *v = ramp_value(env, 3, 1, 1, (const int64_t[]){2});
  static const char *const names[] = {"w", "nowhere"};
  const ox_value *const values[] = {v, v};
  ox_session_opts_init(&o);
  o.initializer_names = names, o.initializers = values, o.n_initializers = 2;
  CHECK_FAILS(text_session(env, text, &o, &s), OX_INVALID_ARGUMENT, "no initializer 'nowhere'");
  for (o.n_optional_initializers = 1; o.n_optional_initializers < 4; o.n_optional_initializers++) {
    CHECK_OK(text_session(env, text, &o, &s));
    ox_session_release(s);
  }
  ox_value_release(v);
  ox_env_release(env);
}

static void test_broken_lists_are_refused(void **state) {
  (void)state;
  static const char text[] =
      "<ir_version: 8, opset_import: [\"\" : 17]> g (float[2] x) => (float[2] y) { y = Relu (x) }";
  static const ox_memory_file files[] = {{NULL, "x", 1}, {"f", NULL, 1}};
  static const char *const denotations[] = {"DATA_BATCH", NULL};
  ox_env *env;
  ox_session *s;
  ox_session_opts o;
  CHECK_OK(ox_env_create(NULL, &env));
  for (size_t i = 0; i < 2; i++) {
    ox_session_opts_init(&o);
    o.memory_files = &files[i], o.n_memory_files = 1;
    CHECK_FAILS(text_session(env, text, &o, &s), OX_INVALID_ARGUMENT, "memory file 0");
    ox_session_opts_init(&o);
    o.denotations = &denotations[i], o.denotation_values = (const int64_t[]){(int64_t)i - 1}, o.n_denotations = 1;
    CHECK_FAILS(text_session(env, text, &o, &s), OX_INVALID_ARGUMENT, "denotation 0");
  }
  ox_env_release(env);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_optional_contents_may_have_no_initializer),
      cmocka_unit_test(test_broken_lists_are_refused),
      cmocka_unit_test(test_contents_stand_for_a_missing_file),
      cmocka_unit_test(test_errors_name_tensor_wanted_and_given),
      cmocka_unit_test(test_bodies_keep_their_own),
      cmocka_unit_test(test_large_contents_are_not_copied),
      cmocka_unit_test(test_every_failed_allocation_is_an_error),
      cmocka_unit_test(test_sessions_share_the_file),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 * session/growing_outputs_test.c - outputs that are a little longer in each run, as the caches of a decoder are: their
 * memory is asked for now and then, not in each run, and none that is too small now stays. */
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "support/check.h"
#include "support/counting_alloc.h"
#include "support/text_session.h"

enum { WIDTH = 256, FIRST = 100, STEPS = 60, MANY = 70, LARGE = 64 << 10 };

/* An allocator that also counts blocks of LARGE bytes and more. */
typedef struct {
  counting_alloc count;
  atomic_long large;
} large_count;

static void *take(void *ctx, size_t bytes, size_t align) {
  large_count *l = ctx;
  if (bytes >= LARGE) atomic_fetch_add(&l->large, 1);
  return counting_alloc_fn(&l->count, bytes, align);
}

static void give(void *ctx, void *p, size_t bytes) { counting_free_fn(&((large_count *)ctx)->count, p, bytes); }

static void open_model(large_count *l, const char *text, ox_env **env, ox_session **s) {
  *l = (large_count){.count = {.fail_at = -1}};
  ox_env_opts eo = {.struct_size = sizeof eo, .alloc = {take, give, l}};
  CHECK_OK(ox_env_create(&eo, env));
  CHECK_OK(text_session(*env, text, NULL, s));
}

static void close_model(large_count *l, ox_env *env, ox_session *s) {
  ox_session_release(s);
  ox_env_release(env);
  assert_int_equal(atomic_load(&l->count.live), 0);
}

static const char *const in_names[] = {"past", "x"};

/* The cache goes back in; the one before is released when the run is over. */
static void test_a_cache_that_grows(void **state) {
  (void)state;
  large_count l;
  ox_env *env;
  ox_session *s;
  open_model(&l,
             "<ir_version: 10, opset_import: [\"\" : 21]> g (float[P,256] past, float[1,256] x) => (float[Q,256] k, "
             "float[Q,256] v) { k = Concat <axis = 0> (past, x) v = Neg (k) }",
             &env, &s);
  ox_value *past = ramp_value(env, 0, 1, 2, (int64_t[]){FIRST, WIDTH}), *x = NULL;
  for (int t = 0; t < STEPS; t++) {
    x = ramp_value(env, (float)((FIRST + t) * WIDTH), 1, 2, (int64_t[]){1, WIDTH});
    ox_value *out[2] = {NULL, NULL};
    CHECK_OK(ox_session_run(s, NULL, in_names, (const ox_value *[]){past, x}, 2, NULL, out, 2));
    const ox_tensor *k = ox_value_get(out[0]), *v = ox_value_get(out[1]);
    assert_int_equal(ox_tensor_count(k), (FIRST + t + 1) * WIDTH);
    for (int64_t i = 0; i < ox_tensor_count(k); i += 97) {
      assert_float_equal(ox_tensor_element(k, i), (double)i, 0);
      assert_float_equal(ox_tensor_element(v, i), -(double)i, 0);
    }
    ox_value_release(past), ox_value_release(x), ox_value_release(out[1]);
    past = out[0];
  }
  /* an eighth more each time: 100 to 160 rows in five, and there are three values at once */
  if (atomic_load(&l.large) > 20) fail_msg("%ld large allocations in %d runs", atomic_load(&l.large), STEPS);
  long most = 4L * (FIRST + STEPS) * WIDTH * (long)sizeof(float);
  if (atomic_load(&l.count.live_bytes) > most + (2L << 20))
    fail_msg("%ld bytes live", atomic_load(&l.count.live_bytes));
  ox_value_release(past);
  close_model(&l, env, s);
}

/* What was kept for shorter ones does not keep this one's memory from being kept. */
static void test_the_last_length_again(void **state) {
  (void)state;
  large_count l;
  ox_env *env;
  ox_session *s;
  open_model(&l,
             "<ir_version: 10, opset_import: [\"\" : 21]> g (float[P,256] past, float[1,256] x) => (float[Q,256] k, "
             "float[Q,256] v) { k = Concat <axis = 0> (past, x) v = Neg (k) }",
             &env, &s);
  ox_value *x = ramp_value(env, 0, 1, 2, (int64_t[]){1, WIDTH});
  long before = 0;
  for (int t = 0; t < STEPS + 4; t++) {
    int64_t rows = OX_MIN(3 * t, 3 * STEPS);
    ox_value *past = ramp_value(NULL, 0, 1, 2, (int64_t[]){rows, WIDTH}), *out[2] = {NULL, NULL};
    if (t > STEPS + 1) before = atomic_load(&l.count.calls);
    CHECK_OK(ox_session_run(s, NULL, in_names, (const ox_value *[]){past, x}, 2, NULL, out, 2));
    if (t > STEPS + 1) assert_int_equal(atomic_load(&l.count.calls), before);
    ox_value_release(past), ox_value_release(out[0]), ox_value_release(out[1]);
  }
  ox_value_release(x);
  close_model(&l, env, s);
}

static void test_many_outputs(void **state) {
  (void)state;
  char text[64 * MANY];
  size_t n = (size_t)snprintf(text, sizeof text, "<ir_version: 10, opset_import: [\"\" : 21]> g (float[N] x) => (");
  for (int i = 0; i < MANY; i++) n += (size_t)snprintf(text + n, sizeof text - n, "%sfloat[N] y%d", i ? ", " : "", i);
  n += (size_t)snprintf(text + n, sizeof text - n, ") { ");
  for (int i = 0; i < MANY; i++)
    n += (size_t)snprintf(text + n, sizeof text - n, "y%d = %s (x) ", i, i % 2 ? "Sign" : "Abs");
  snprintf(text + n, sizeof text - n, "}");
  large_count l;
  ox_env *env;
  ox_session *s;
  open_model(&l, text, &env, &s);
  ox_value *x = ramp_value(env, -3, 1, 1, (int64_t[]){7});
  long before = 0;
  for (int t = 0; t < 4; t++) {
    ox_value *out[MANY] = {NULL};
    before = atomic_load(&l.count.calls);
    CHECK_OK(ox_session_run(s, NULL, (const char *[]){"x"}, (const ox_value *[]){x}, 1, NULL, out, MANY));
    for (int i = 0; i < MANY; i++) {
      assert_float_equal(ox_tensor_element(ox_value_get(out[i]), 0), (i % 2 ? -1.0 : 3.0), 0);
      ox_value_release(out[i]);
    }
  }
  assert_int_equal(atomic_load(&l.count.calls), before);
  ox_value_release(x);
  close_model(&l, env, s);
}

/* The bytes that are live after three runs over |rows| rows, whose maps and labels are released each time. */
static long bytes_after(large_count *l, ox_session *s, int64_t rows) {
  for (int t = 0; t < 3; t++) {
    long before = atomic_load(&l->count.calls);
    ox_value *x = ramp_value(NULL, 0, 1, 2, (int64_t[]){rows, 2}), *out[2] = {NULL, NULL};
    CHECK_OK(ox_session_run(s, NULL, (const char *[]){"x"}, (const ox_value *[]){x}, 1, NULL, out, 2));
    if (t == 2) assert_int_equal(atomic_load(&l->count.calls), before);
    const ox_tensor *maps = ox_value_get(out[0]), *labels = ox_value_get(out[1]);
    assert_int_equal(maps->shape.dim[0], rows);
    assert_int_equal(ox_tensor_count(labels), rows);
    for (int64_t i = 0; i < rows; i++) {
      const ox_tensor *pair = ((const ox_tensor *const *)maps->data)[i]->data;
      assert_float_equal(ox_tensor_element(&pair[1], 1), (double)(2 * i + 1), 0);
      assert_string_equal(((const ox_str *)labels->data)[i].p, "second");
    }
    ox_value_release(x), ox_value_release(out[0]), ox_value_release(out[1]);
  }
  return atomic_load(&l->count.live_bytes);
}

/* Maps and strings live in memory that is kept, too; a few do not take what many left. */
static void test_maps_and_strings(void **state) {
  (void)state;
  large_count l;
  ox_env *env;
  ox_session *s;
  open_model(&l,
             "<ir_version: 10, opset_import: [\"\" : 21, \"ai.onnx.ml\" : 3]> g (float[N,2] x) => (seq(map(int64, float)) "
             "y, string[N] z) { y = ai.onnx.ml.ZipMap <classlabels_int64s = [3, 5]> (x) i = ArgMax <axis = 1, keepdims = "
             "0> (x) z = ai.onnx.ml.LabelEncoder <keys_int64s = [0, 1], values_strings = [\"first\", \"second\"]> (i) }",
             &env, &s);
  long few = bytes_after(&l, s, 1), many = bytes_after(&l, s, 1000);
  assert_true(many > few);
  (void)bytes_after(&l, s, 1);
  (void)bytes_after(&l, s, 0);
  (void)bytes_after(&l, s, 1000);
  close_model(&l, env, s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_cache_that_grows),
      cmocka_unit_test(test_the_last_length_again),
      cmocka_unit_test(test_many_outputs),
      cmocka_unit_test(test_maps_and_strings),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

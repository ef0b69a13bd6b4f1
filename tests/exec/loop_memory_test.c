/* SPDX-License-Identifier: Apache-2.0
 * exec/loop_memory_test.c - what an iteration takes goes when it is over: the memory of a run follows what is carried,
 * not how often the body ran or might have run. */
#include <string.h>

#include "support/check.h"
#include "support/counting_alloc.h"
#include "support/text_session.h"

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17]> g (int64 m) => "

/* Every model takes m, how often its body runs, and gives one number. */
typedef struct {
  const char *name, *text;
  int64_t few, many;   /* two values of m */
  double per_run;      /* bytes that each iteration may leave, of what the result needs */
  double scale, shift; /* the result is m * scale + shift */
} row;

static const row rows[] = {
    {"a value passed through",
     HEAD "(float z) <bool go = {1}, float x = {1}, float one = {1}> { y, z = Loop <body = b (int64 i, bool c, float v,"
          " float p) => (bool c, float w, float p) { w = Add (v, one) }> (m, go, x, x) }",
     100, 200000, 0, 0, 1},
    {"nothing but values passed through",
     HEAD "(float y) <bool go = {1}, float x = {3}> { y = Loop <body = b (int64 i, bool c, float v) => (bool c, float v)"
          " {}> (m, go, x) }",
     100, 200000, 0, 0, 3},
    {"values that cross over",
     HEAD "(float y) <bool go = {1}, float a = {3}, float b = {4}> { y, z = Loop <body = d (int64 i, bool c, float v,"
          " float w) => (bool c, float w, float v) {}> (m, go, a, b) }",
     100, 200000, 0, 0, 3},
    {"a trip count that is never reached",
     HEAD "(float s) <bool go = {1}, int64 k = {2}, float[8] x = {1, 1, 1, 1, 1, 1, 1, 1}> { y = Loop <body = b (int64"
          " i, bool c) => (bool d, float[8] o) { d = Less (i, k) o = Identity (x) }> (m, go)"
          " s = ReduceSum <keepdims = 0> (y) }",
     4, INT64_MAX, 0, 0, 24},
    {"a scan output: three times its size while it grows",
     HEAD "(float s) <bool go = {1}, float[8] x = {1, 1, 1, 1, 1, 1, 1, 1}> { y = Loop <body = b (int64 i, bool c) =>"
          " (bool c, float[8] o) { o = Identity (x) }> (m, go) s = ReduceSum <keepdims = 0> (y) }",
     40000, 150000, 3 * 32, 8, 0},
    {"a Scan's state",
     HEAD "(float y) <int64[1] one = {1}, float zero = {0}> { n = Reshape (m, one) r = ConstantOfShape (n) y ="
          " Scan <num_scan_inputs = 1, body = b (float v, float e) => (float w) { w = Sub (v, e) }> (zero, r) }",
     100, 200000, 4, 0, 0},
};

static void add_peak(const row *r, int64_t m, long *out_peak) {
  counting_alloc count = {.fail_at = -1};
  ox_env_opts eo = {.struct_size = sizeof eo, .alloc = counting_alloc_of(&count)};
  ox_env *env;
  ox_session *s;
  ox_value *in, *out = NULL;
  const char *name = "m";
  CHECK_OK(ox_env_create(&eo, &env));
  CHECK_OK(text_session(env, r->text, NULL, &s));
  CHECK_OK(ox_value_wrap(env, OX_I64, NULL, 0, &m, sizeof m, NULL, NULL, &in));
  ox_status *st = ox_session_run(s, NULL, &name, (const ox_value *const *)&in, 1, NULL, &out, 1);
  if (st) fail_msg("%s: %s", r->name, ox_status_message(st));
  double got = ox_tensor_element(ox_value_get(out), 0), want = (double)m * r->scale + r->shift;
  if (got != want) fail_msg("%s, m %lld: %g, wanted %g", r->name, (long long)m, got, want);
  *out_peak = atomic_load(&count.peak_bytes);
  ox_value_release(in);
  ox_value_release(out);
  ox_session_release(s);
  ox_env_release(env);
  assert_int_equal(atomic_load(&count.live), 0);
}

enum { SLACK = 96 << 10 };

static void test_memory_does_not_follow_the_iterations(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    const row *r = &rows[i];
    long few, many;
    add_peak(r, r->few, &few);
    add_peak(r, r->many, &many);
    double may = r->per_run ? r->per_run * (double)(r->many - r->few) : 0;
    if ((double)(many - few) > may + SLACK)
      fail_msg("%s: %ld bytes for %lld, %ld for %lld", r->name, few, (long long)r->few, many, (long long)r->many);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_memory_does_not_follow_the_iterations)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 * exec/loop_memory_test.c - what an iteration takes goes when it is over: the memory of a run follows what is carried,
 * not how often the body ran or might have run. */
#include <string.h>

#include "support/check.h"
#include "support/counting_alloc.h"
#include "support/text_session.h"

#define HEAD "<ir_version: 10, opset_import: [\"\" : 21]> g (int64 m) => "

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
    /* an item is 160 bytes and its place; the rest is what collections wait for */
    {"items appended to a sequence",
     HEAD "(float y) <bool go = {1}> { e = SequenceEmpty () z = Loop <body = b (int64 i, bool c, seq(float) q) => (bool c,"
          " seq(float) r) { x = Cast <to = 1> (i) r = SequenceInsert (q, x) }> (m, go, e) n = SequenceLength (z)"
          " y = Cast <to = 1> (n) }",
     1000, 65536, 1500, 1, 0},
    {"and the last of them",
     HEAD "(float y) <bool go = {1}, int64 at = {-1}> { e = SequenceEmpty () z = Loop <body = b (int64 i, bool c,"
          " seq(float) q) => (bool c, seq(float) r) { x = Cast <to = 1> (i) r = SequenceInsert (q, x) }> (m, go, e)"
          " y = SequenceAt (z, at) }",
     1000, 65536, 1500, 1, -1},
    {"items in front of a sequence",
     HEAD "(float y) <bool go = {1}, int64 at = {0}> { e = SequenceEmpty () z = Loop <body = b (int64 i, bool c,"
          " seq(float) q) => (bool c, seq(float) r) { x = Cast <to = 1> (i) r = SequenceInsert (q, x, at) }> (m, go, e)"
          " y = SequenceAt (z, at) }",
     500, 6000, 1500, 1, -1},
    {"a queue: one in, one out",
     HEAD "(float y) <bool go = {1}, int64 at = {0}, float a = {7}> { e = SequenceConstruct (a, a) z = Loop <body ="
          " b (int64 i, bool c, seq(float) q) => (bool c, seq(float) s) { x = Cast <to = 1> (i) r = SequenceInsert"
          " (q, x) s = SequenceErase (r, at) }> (m, go, e) y = SequenceAt (z, at) }",
     20000, 100000, 0, 1, -2},
    {"two ends from one sequence: each has its own last item",
     HEAD "(float y) <bool go = {1}, int64 at = {-1}, float a = {7}, float b = {9}> { e = SequenceConstruct (a, b) z, y"
          " = Loop <body = l (int64 i, bool c, seq(float) q, float v) => (bool c, seq(float) t, float w) { r ="
          " SequenceInsert (q, a) t = SequenceInsert (q, b) u = SequenceAt (r, at) n = SequenceAt (t, at) k = Mul (u, n)"
          " w = Mul (k, b) }> (m, go, e, a) }",
     400, 2000, 1500, 0, 567},
    {"a string that is replaced",
     HEAD "(float y) <bool go = {1}> { z = Cast <to = 8> (m) v = Loop <body = b (int64 i, bool c, string s) => (bool c,"
          " string t) { t = Cast <to = 8> (i) }> (m, go, z) y = Cast <to = 1> (v) }",
     20000, 200000, 0, 1, -1},
    {"a string that grows",
     HEAD "(float y) <bool go = {1}, string a = {\"a\"}> { v = Loop <body = b (int64 i, bool c, string s) => (bool c,"
          " string t) { t = StringConcat (s, a) }> (m, go, a) p, n = StringSplit <delimiter = \"a\"> (v)"
          " y = Cast <to = 1> (n) }",
     1000, 8000, 1000, 1, 2},
    {"strings of a scan output",
     HEAD "(float y) <bool go = {1}> { v = Loop <body = b (int64 i, bool c) => (bool c, string t) { t = Cast <to = 8> (i)"
          " }> (m, go) w = Cast <to = 1> (v) y = ReduceMax <keepdims = 0> (w) }",
     20000, 100000, 400, 1, -1},
    {"a Scan's state of strings",
     HEAD "(float y) <int64[1] one = {1}, string zero = {\"0\"}> { n = Reshape (m, one) r = ConstantOfShape (n) v ="
          " Scan <num_scan_inputs = 1, body = b (string s, float e) => (string t) { u = Cast <to = 8> (e)"
          " t = StringConcat (u, zero) }> (zero, r) y = Cast <to = 1> (v) }",
     20000, 200000, 4, 0, 0},
    {"a loop in a loop",
     HEAD "(float y) <bool go = {1}, int64 three = {3}, string zero = {\"0\"}> { v = Loop <body = b (int64 i, bool c,"
          " string s) => (bool c, string t) { u = Cast <to = 8> (i) t = Loop <body = d (int64 k, bool e, string f) =>"
          " (bool e, string h) { h = StringConcat (f, zero) }> (three, go, u) }> (m, go, zero) y = Cast <to = 1> (v) }",
     4000, 16000, 0, 1000, -1000},
    {"sequences out of a loop in a loop",
     HEAD "(float y) <bool go = {1}, int64 three = {3}, int64 at = {-1}> { e = SequenceEmpty () v = Loop <body ="
          " b (int64 i, bool c, seq(float) s) => (bool c, seq(float) t) { x = Cast <to = 1> (i) t = Loop <body ="
          " d (int64 k, bool g, seq(float) f) => (bool g, seq(float) h) { h = SequenceInsert (f, x) }> (three, go, s) }>"
          " (m, go, e) y = SequenceAt (v, at) }",
     400, 10000, 4500, 1, -1},
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

/* Buffers begin large; garbage waits until there is a MiB of it, in blocks of a MiB. */
enum { SLACK = 96 << 10, GARBAGE = 3 << 20 };

static void test_memory_does_not_follow_the_iterations(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    const row *r = &rows[i];
    long few, many;
    add_peak(r, r->few, &few);
    add_peak(r, r->many, &many);
    double may = r->per_run ? r->per_run * (double)(r->many - r->few) : 0;
    if ((double)(many - few) > may + SLACK + (r->few >= 400 ? GARBAGE : 0))
      fail_msg("%s: %ld bytes for %lld, %ld for %lld", r->name, few, (long long)r->few, many, (long long)r->many);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_memory_does_not_follow_the_iterations)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 * exec/body_memory_test.c - runs of bodies, sequences and strings in which the Nth allocation fails, for every N: an
 * error, no output, nothing leaks, and the session is as good as new. */
#include <string.h>

#include "support/check.h"
#include "support/counting_alloc.h"
#include "support/text_session.h"

#define HEAD "<ir_version: 10, opset_import: [\"\" : 21]> g (float[N] x) => "

static const struct {
  const char *name, *text; /* x is 1, 2, 3, 4 */
  long least;              /* allocations that a first run makes at least */
} cases[] = {
    {"If",
     HEAD "(float[N] y) <float three = {3}> { m = ReduceMax <keepdims = 0> (x) c = Greater (m, three) y = If (c)"
          " <then_branch = t () => (p) { p = Exp (x) }, else_branch = e () => (q) { q = Neg (x) }> }",
     10},
    {"If that hands a value through",
     HEAD "(float[N] y) <float five = {5}> { m = ReduceMax <keepdims = 0> (x) c = Greater (m, five) y = If (c)"
          " <then_branch = t () => (p) { p = Exp (x) }, else_branch = e () => (x) {}> }",
     5},
    {"Loop: carried, growing, passed through, stacked",
     HEAD
     "(float[N] a, float[M] b, float[N] d, float[5,N] s) <int64 m = {5}, bool go = {1}> { a, b, d, s = Loop <body ="
     " l (int64 i, bool c, float[K] u, float[L] v, float[K] w) => (bool c, float[K] u2, float[L] v2, float[K] w,"
     " float[K] t) { u2 = Add (u, w) v2 = Concat <axis = 0> (v, u2) t = Neg (u2) }> (m, go, x, x, x) }",
     30},
    {"Loop: more slices than there is room for at first",
     HEAD
     "(float[M,N] s) <int64 m = {40000}, bool go = {1}> { s = Loop <body = l (int64 i, bool c) => (bool c, float[K]"
     " t) { t = Exp (x) }> (m, go) }",
     10},
    {"Scan",
     HEAD "(float y, float[N] s) <float zero = {0}> { y, s = Scan <num_scan_inputs = 1, body = b (float v, float e) =>"
          " (float w, float o) { w = Add (v, e) o = Mul (w, e) }> (zero, x) }",
     10},
    {"Scan: directions and axes",
     HEAD "(float[A,B] s) <int64[2] shape = {2, 2}> { r = Reshape (x, shape) s = Scan <num_scan_inputs = 1,"
          " scan_input_axes = [1], scan_output_axes = [1], scan_output_directions = [1], body = b (float[2] e) =>"
          " (float[2] o) { o = Exp (e) }> (r) }",
     10},
    {"sequences",
     HEAD "(seq(float[N]) s, float[M] y) <int64 at = {1}> { a = SequenceConstruct (x, x) b = SequenceInsert (a, x)"
          " d = SequenceInsert (a, x, at) s = SequenceErase (d, at) e = SequenceAt (b, at) f = SplitToSequence (e) h ="
          " ConcatFromSequence <axis = 0> (f) y = Neg (h) }",
     10},
    {"a Loop that appends",
     HEAD
     "(seq(float[N]) s) <int64 m = {300}, bool go = {1}> { e = SequenceEmpty () s = Loop <body = l (int64 i, bool c,"
     " seq(float[N]) q) => (bool c, seq(float[N]) r) { r = SequenceInsert (q, x) }> (m, go, e) }",
     10},
    {"SequenceMap",
     HEAD
     "(seq(float[N]) s) { a = SequenceConstruct (x, x, x) s = SequenceMap (a, x) <body = b (float[N] e, float[N] f)"
     " => (float[N] o) { o = Add (e, f) }> }",
     10},
    {"strings", HEAD "(string[N] s) { a = Cast <to = 8> (x) b = StringConcat (a, a) s = StringConcat (b, a) }", 10},
    {"a Loop of strings whose garbage is collected",
     HEAD
     "(string[N] s, string[M,N] t) <int64 m = {12000}, bool go = {1}> { a = Cast <to = 8> (x) s, t = Loop <body ="
     " l (int64 i, bool c, string[N] u) => (bool c, string[N] v, string[N] w) { j = Cast <to = 1> (i) k = Add (j, x)"
     " v = Cast <to = 8> (k) w = StringConcat (u, v) }> (m, go, a) }",
     10},
    {"a queue whose garbage is collected",
     HEAD "(seq(float[N]) s) <int64 m = {12000}, bool go = {1}, int64 at = {0}> { e = SequenceConstruct (x, x) s = Loop"
          " <body = l (int64 i, bool c, seq(float[N]) q) => (bool c, seq(float[N]) t) { j = Cast <to = 1> (i) k ="
          " Add (j, x) r = SequenceInsert (q, k) t = SequenceErase (r, at) }> (m, go, e) }",
     10},
    {"optional values",
     HEAD "(float[N] y) { a = Optional (x) h = OptionalHasElement (a) y = If (h) <then_branch = t () => (p) { e ="
          " OptionalGetElement (a) p = Exp (e) }, else_branch = e () => (q) { q = Neg (x) }> }",
     5},
};

enum { MOST_OUT = 4 };

typedef struct {
  counting_alloc count;
  ox_env *env;
  ox_session *s;
  ox_value *x;
} opened;

static void open_case(opened *o, const char *text) {
  const int64_t dims[] = {4};
  ox_env_opts eo = {.struct_size = sizeof eo, .alloc = counting_alloc_of(&o->count)};
  ox_session_opts so;
  ox_session_opts_init(&so);
  so.n_threads = 1;
  o->count = (counting_alloc){.fail_at = -1};
  CHECK_OK(ox_env_create(&eo, &o->env));
  o->x = ramp_value(o->env, 1, 1, 1, dims);
  CHECK_OK(text_session(o->env, text, &so, &o->s));
}

static void release(ox_value **out) {
  for (int i = 0; i < MOST_OUT; i++) ox_value_release(out[i]);
}

static void close_case(opened *o) {
  ox_value_release(o->x);
  ox_session_release(o->s);
  ox_env_release(o->env);
  assert_int_equal(o->count.live, 0);
}

static ox_status *run(opened *o, ox_value **out) {
  const char *name = "x";
  memset(out, 0, MOST_OUT * sizeof *out);
  return ox_session_run(o->s, NULL, &name, (const ox_value *const *)&o->x, 1, NULL, out, ox_session_output_count(o->s));
}

static bool same(const ox_tensor *a, const ox_tensor *b) {
  if (a->kind != b->kind || a->dtype != b->dtype || a->bytes != b->bytes) return false;
  if (a->kind == OX_SEQUENCE) {
    for (size_t i = 0; i < a->bytes / sizeof(ox_tensor *); i++)
      if (!same(((ox_tensor **)a->data)[i], ((ox_tensor **)b->data)[i])) return false;
    return true;
  }
  if (a->dtype != OX_STRING) return !a->bytes || memcmp(a->data, b->data, a->bytes) == 0;
  for (size_t i = 0; i < a->bytes / sizeof(ox_str); i++) {
    const ox_str *s = (const ox_str *)a->data + i, *t = (const ox_str *)b->data + i;
    if (s->n != t->n || memcmp(s->p, t->p, s->n) != 0) return false;
  }
  return true;
}

static void compare(const char *name, long at, opened *o, ox_value *const *want) {
  ox_value *got[MOST_OUT];
  ox_status *st = run(o, got);
  if (st) fail_msg("%s, after allocation %ld failed: %s", name, at, ox_status_message(st));
  for (size_t i = 0; i < ox_session_output_count(o->s); i++)
    if (!same(ox_value_get(got[i]), ox_value_get(want[i])))
      fail_msg("%s, after allocation %ld failed: output %zu is another", name, at, i);
  release(got);
}

/* The first |warm| runs pass. */
static void check_case(size_t k, int warm) {
  opened whole;
  ox_value *want[MOST_OUT];
  open_case(&whole, cases[k].text);
  CHECK_OK(run(&whole, want));
  long at = 0;
  for (bool ok = false; !ok; at++) {
    opened o;
    ox_value *out[MOST_OUT];
    open_case(&o, cases[k].text);
    for (int i = 0; i < warm; i++) {
      CHECK_OK(run(&o, out));
      release(out);
    }
    o.count.fail_at = o.count.calls + at;
    ox_status *st = run(&o, out);
    ok = !st;
    if (st && ox_status_code(st) != OX_OUT_OF_MEMORY)
      fail_msg("%s, allocation %ld: %s", cases[k].name, at, ox_status_message(st));
    for (int i = 0; st && i < MOST_OUT; i++) assert_null(out[i]);
    ox_status_free(st);
    release(out);
    o.count.fail_at = -1;
    compare(cases[k].name, at, &o, want);
    compare(cases[k].name, at, &o, want);
    close_case(&o);
  }
  if (!warm && at - 1 < cases[k].least) fail_msg("%s: only %ld allocations", cases[k].name, at - 1);
  release(want);
  close_case(&whole);
}

static void test_every_failed_allocation_of_a_first_run(void **state) {
  (void)state;
  for (size_t k = 0; k < OX_COUNT(cases); k++) check_case(k, 0);
}

/* What is not a tensor of numbers is copied for the caller in every run. */
static void test_every_failed_allocation_of_a_later_run(void **state) {
  (void)state;
  for (size_t k = 0; k < OX_COUNT(cases); k++) check_case(k, 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_failed_allocation_of_a_first_run),
                                     cmocka_unit_test(test_every_failed_allocation_of_a_later_run)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 * session/workspace_test.c - max_workspace: what a run needs at least is found by trying; it must be what the values
 * that live at once take, the same after any other runs, and the memory that is really held. */
#include <string.h>

#include "support/check.h"
#include "support/counting_alloc.h"
#include "support/text_session.h"

#define HEAD "<ir_version: 10, opset_import: [\"\" : 21]> "

enum { N = 2000, F = 4 * N }; /* elements and bytes of x, which is all 1 */

static const struct {
  const char *name, *text;
  size_t least;     /* bytes that live at once, of values that depend on N; counted by hand */
  const char *part; /* of the error if there is a byte too few */
} cases[] = {
    {"a chain in place", HEAD "g (float[N] x) => (float[N] y) { [e] a = Exp (x) b = Tanh (a) y = Neg (b) }", F,
     "node 'e' (Exp): the largest value is 'a' with 8000 bytes: wanted 8064 bytes of workspace; 0 are in use"},
    {"static and dynamic steps",
     HEAD "g (float[N] x) => (float[M] y) <float zero = {0}> { [g] c = Greater (x, zero) [z] i = NonZero (c)"
          " [t] t = Transpose (i) [v] v = GatherND (x, t) y = Exp (v) }",
     N + 2 * F + 2 * F, "node 't' (Transpose): t: wanted 16064 bytes"},
    {"what a dynamic step leaves early is used again",
     HEAD "g (float[N] x) => (float[K] y) <float zero = {0}> { i = NonZero (x) a = Cast <to = 1> (i) b = Exp (a)"
          " c = Exp (b) d = Exp (c) e = Mul (d, zero) s = ReduceSum <keepdims = 0> (e) y = Add (s, x) }",
     2 * F + F, "node (Cast) computing 'a': a: wanted 8064"},
    {"a dynamic output, which is the caller's",
     HEAD "g (float[N] x) => (int64[1,M] y) { [z] i = NonZero (x) [n] y = Neg (i) }", 2 * F,
     "node 'z' (NonZero): i: wanted 16064"},
    {"a loop that grows: the carried value, the body's, and its copy",
     HEAD "g (float[N] x) => (float[M] y) <int64 m = {5}, bool go = {1}> { [l] y = Loop <body = b (int64 i, bool c,"
          " float[K] v) => (bool d, float[L] w) { d = Identity (c) [k] w = Concat <axis = 0> (v, x) }> (m, go, x) }",
     5 * F + 6 * F + 6 * F, "node 'l' (Loop): a value that goes into or out of a body: wanted 48064"},
    {"a value of a body in a body",
     HEAD
     "g (float[N] x) => (float y) <int64 m = {3}, bool go = {1}, float zero = {0}> { [l] y = Loop <body = b (int64 i,"
     " bool c, float v) => (bool d, float w) { d = Identity (c) [f] w = If (c) <then_branch = t () => (p)"
     " <int64[2] r = {9, 1}> { [e] q = Expand (x, r) p = ReduceSum <keepdims = 0> (q) },"
     " else_branch = e () => (o) { o = Neg (v) }> }> (m, go, zero) }",
     9 * F, "node 'f' (If): node 'e' (Expand): the largest value is 'q' with 72000 bytes: wanted 72"},
    {"items of a sequence: three copies; the result is the caller's",
     HEAD "g (float[N] x) => (float[M] y) { a = SequenceConstruct (x, x, x) y = ConcatFromSequence <axis = 0> (a) }",
     3 * F, "node (SequenceConstruct) computing 'a': memory of the kernel: wanted 8000"},
    {"a kernel's own",
     HEAD "g (float[N] x) => (seq(float[N]) y) { a = SequenceEmpty () [i] y = SequenceInsert (a, x) }", F,
     "node 'i' (SequenceInsert): memory of the kernel: wanted 8000 bytes"},
};

typedef struct {
  counting_alloc count;
  ox_env *env;
  ox_session *s;
  ox_value *x;
  long before; /* bytes live before the session was made */
} opened;

static void open_case(opened *o, const char *text, size_t limit, size_t n) {
  ox_env_opts eo = {.struct_size = sizeof eo, .alloc = counting_alloc_of(&o->count)};
  ox_session_opts so;
  ox_session_opts_init(&so);
  so.optimize = OX_OPTIMIZE_NONE, so.n_threads = 1, so.max_workspace = limit;
  o->count = (counting_alloc){.fail_at = -1};
  CHECK_OK(ox_env_create(&eo, &o->env));
  o->x = ramp_value(o->env, 1, 0, 1, (int64_t[]){(int64_t)n});
  CHECK_OK(text_session(o->env, text, &so, &o->s));
  o->before = atomic_load(&o->count.live_bytes);
}

static void close_case(opened *o) {
  ox_value_release(o->x);
  ox_session_release(o->s);
  ox_env_release(o->env);
  assert_int_equal(atomic_load(&o->count.live), 0);
}

static ox_status *run(opened *o) {
  const char *name = "x";
  ox_value *out = NULL;
  ox_status *st = ox_session_run(o->s, NULL, &name, (const ox_value *const *)&o->x, 1, NULL, &out, 1);
  ox_value_release(out);
  return st;
}

/* Elements of x from |n| on are 0. */
static void set_ones(opened *o, size_t n) {
  float *x = ox_value_data(o->x);
  for (size_t i = 0; i < ox_value_get(o->x)->bytes / 4; i++) x[i] = i < n;
}

static bool passes(size_t i, size_t limit, const char *part) {
  opened o;
  open_case(&o, cases[i].text, limit, N);
  ox_status *st = run(&o);
  bool ok = !st;
  if (st && (ox_status_code(st) != OX_LIMIT || !strstr(ox_status_message(st), part)))
    fail_msg("%s, limit %zu: %s", cases[i].name, limit, ox_status_message(st));
  ox_status_free(st);
  close_case(&o);
  return ok;
}

/* The least limit with which case |i| runs. */
static size_t least_limit(size_t i) {
  size_t low = 0, high = 1u << 20;
  assert_true(passes(i, high, ""));
  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;
    if (passes(i, middle, "the limit is "))
      high = middle;
    else
      low = middle;
  }
  return high;
}

/* Padding and small values. */
enum { LITTLE = 2048 };

static void test_the_least_limit_is_what_lives_at_once(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(cases); i++) {
    size_t least = least_limit(i);
    if (least < cases[i].least || least > cases[i].least + LITTLE)
      fail_msg("%s: needs %zu bytes, %zu live at once", cases[i].name, least, cases[i].least);
    assert_false(passes(i, least - 1, cases[i].part));
  }
}

/* Runs with more and fewer dynamic elements in between; and never more memory than the limit. */
static void test_earlier_runs_do_not_matter(void **state) {
  static const size_t ones[] = {N, N, N - 1, 0, 700, N, 3, N / 2, N / 4, N / 8, N};
  (void)state;
  for (size_t i = 0; i < OX_COUNT(cases); i++) {
    opened o;
    size_t least = least_limit(i);
    open_case(&o, cases[i].text, least, N);
    for (size_t k = 0; k < OX_COUNT(ones); k++) {
      set_ones(&o, ones[k]);
      ox_status *st = run(&o);
      if (st) fail_msg("%s, run %zu: %s", cases[i].name, k, ox_status_message(st));
    }
    close_case(&o);
  }
}

/* Each branch needs most of the limit; their contexts cannot both be kept. */
static void test_idle_bodies_make_room(void **state) {
  static const char text[] = HEAD
      "g (float[N] x) => (float y) <float half = {0.5}> { m = ReduceMean <keepdims = 0> (x) c = Greater (m, half) y = "
      "If (c) <then_branch = t () => (p) <int64[2] r = {9, 1}> { q = Expand (x, r) p = ReduceSum <keepdims = 0> (q) }, "
      "else_branch = e () => (o) <int64[2] u = {8, 1}> { s = Expand (x, u) o = ReduceMax <keepdims = 0> (s) }> }";
  (void)state;
  opened o;
  open_case(&o, text, 10 * F, N);
  for (int k = 0; k < 6; k++) {
    set_ones(&o, k % 2 ? N : 0);
    CHECK_OK(run(&o));
  }
  close_case(&o);
}

/* Shapes that change in the body: contexts for each, which go, and one for all shapes. */
static void test_memory_stays_below_the_limit(void **state) {
  static const char text[] = HEAD
      "g (float[N] x) => (float y) <int64 m = {30}, bool go = {1}, float zero = {0}, int64[1] one = {1}> {"
      " y = Loop <body = b (int64 i, bool c, float v) => (bool d, float w) { d = Identity (c) j = Reshape (i, one)"
      " k = Add (j, one) q = Expand (x, r) r = Concat <axis = 0> (k, one)"
      " p = ReduceSum <keepdims = 0> (q) w = Add (v, p) }> (m, go, zero) }";
  enum { LARGE = 50000, LIMIT = 4 * LARGE * 31 };
  (void)state;
  opened o;
  open_case(&o, text, LIMIT, LARGE);
  for (int k = 0; k < 3; k++) {
    CHECK_OK(run(&o));
    long held = atomic_load(&o.count.live_bytes) - o.before;
    if (held > LIMIT + (1 << 18)) fail_msg("%ld bytes are held, the limit is %d", held, LIMIT);
  }
  close_case(&o);
}

/* With a limit that would do, a failed allocation is no LIMIT. */
static void test_memory_that_runs_out_is_no_limit(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(cases); i++) {
    long at = 0;
    for (bool ok = false; !ok; at++) {
      opened o;
      open_case(&o, cases[i].text, 1u << 20, N);
      o.count.fail_at = atomic_load(&o.count.calls) + at;
      ox_status *st = run(&o);
      ok = !st;
      if (st && ox_status_code(st) != OX_OUT_OF_MEMORY)
        fail_msg("%s, allocation %ld: %s", cases[i].name, at, ox_status_message(st));
      ox_status_free(st);
      close_case(&o);
    }
    assert_true(at > 3);
  }
}

static void test_a_static_plan_is_all_there_is(void **state) {
  (void)state;
  opened o;
  ox_shape shape = {.rank = 1, .dim = {N}};
  size_t planned;
  open_case(&o, cases[0].text, 0, N);
  CHECK_OK(ox_session_plan(o.s, &shape, 1, &planned));
  assert_int_equal(planned, least_limit(0));
  close_case(&o);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_least_limit_is_what_lives_at_once),
      cmocka_unit_test(test_earlier_runs_do_not_matter),
      cmocka_unit_test(test_idle_bodies_make_room),
      cmocka_unit_test(test_memory_stays_below_the_limit),
      cmocka_unit_test(test_memory_that_runs_out_is_no_limit),
      cmocka_unit_test(test_a_static_plan_is_all_there_is),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 * session/memory_limit_test.c - max_memory: all that a load and its runs allocate counts, in whatever way a model asks
 * for it; errors say what wanted how much; what is only kept for later makes room; the default. */
#include "session/memory_limit.h"

#include <string.h>

#include "support/check.h"
#include "support/counting_alloc.h"
#include "support/text_session.h"

#define HEAD "<ir_version: 10, opset_import: [\"\" : 21, \"f\" : 1]> "
#define GRAPH HEAD "g (float[N] x) => "

enum { UNIT = 128 << 10, ELEMENTS = 2 * UNIT }; /* of x: 8 UNITs of bytes */

/* Each needs as many bytes as x or more at once, for something else. */
static const struct {
  const char *name, *text;
  bool at_load;
  uint32_t level;
  const char *part; /* of the error */
} cases[] = {
    {"values between nodes", GRAPH "(float[N] y) { [a] h = Exp (x) [b] y = Neg (h) }", false, 0,
     "node 'a' (Exp): the largest value is 'h' with 1048576 bytes"},
    {"an output of known shape", GRAPH "(float[N] y) { y = Exp (x) }", false, 0, "output 'y'"},
    {"an output of unknown shape", GRAPH "(int64[1,M] y) { [z] y = NonZero (x) }", false, 0, "node 'z' (NonZero): "},
    {"a shape that only the run knows",
     GRAPH "(float y) <int64[1] n = {262144}> { m = ReduceMax <keepdims = 0> (x) i = Cast <to = 7> (m) s = Mul (n, i)"
           " [e] h = ConstantOfShape (s) y = ReduceMax <keepdims = 0> (h) }",
     false, 0, "node 'e' (ConstantOfShape): no memory for the 1048576 bytes of output 0 ('h')"},
    {"items of a sequence", GRAPH "(seq(float[N]) y) { [c] y = SequenceConstruct (x) }", false, 0,
     "node 'c' (SequenceConstruct)"},
    {"a sequence that is an output", GRAPH "(seq(float[K]) y) { [s] y = SplitToSequence (x) }", false, 0, "memory"},
    {"characters of strings", GRAPH "(string[N] y) { [i] y = Cast <to = 8> (x) }", false, 0, ""},
    {"what is carried through a loop",
     GRAPH "(float[N] y) <int64 m = {3}, bool go = {1}> { [l] y = Loop <body = b (int64 i, bool c, float[K] v) =>"
           " (bool c, float[K] w) { w = Exp (v) }> (m, go, x) }",
     false, 0, "node 'l' (Loop)"},
    {"a constant that is folded",
     GRAPH "(float[M] y) <int64[1] n = {26000}, float[1] one = {1}> { [e] h = Expand (one, n) [c] s = Concat <axis = 0>"
           " (h, h, h, h, h, h, h, h, h, h) y = Exp (s) }",
     true, 3, "(Concat)"},
    {"functions",
     GRAPH "(float[N] y) { a = f.g (x) y = f.g (a) } <opset_import: [\"\" : 21, \"f\" : 1], domain: \"f\"> g (a) => (b)"
           " { c = f.h (a) d = f.h (c) e = f.h (d) h = f.h (e) i = f.h (h) j = f.h (i) k = f.h (j) b = f.h (k) }"
           " <opset_import: [\"\" : 21, \"f\" : 1], domain: \"f\"> h (a) => (b)"
           " { c = f.i (a) d = f.i (c) e = f.i (d) h = f.i (e) i = f.i (h) j = f.i (i) k = f.i (j) b = f.i (k) }"
           " <opset_import: [\"\" : 21, \"f\" : 1], domain: \"f\"> i (a) => (b)"
           " { c = f.k (a) d = f.k (c) e = f.k (d) h = f.k (e) i = f.k (h) j = f.k (i) k = f.k (j) b = f.k (k) }"
           " <opset_import: [\"\" : 21, \"f\" : 1], domain: \"f\"> k (a) => (b)"
           " { c = f.l (a) d = f.l (c) e = f.l (d) h = f.l (e) i = f.l (h) j = f.l (i) k = f.l (j) b = f.l (k) }"
           " <opset_import: [\"\" : 21, \"f\" : 1], domain: \"f\"> l (a) => (b)"
           " { c = Neg (a) d = Neg (c) e = Neg (d) h = Neg (e) i = Neg (h) j = Neg (i) k = Neg (j) b = Neg (k) }",
     true, 0, "expanding function '"},
};

typedef struct {
  counting_alloc count;
  ox_env *env;
  ox_session *s;
  long before; /* bytes live before the session was made */
} opened;

static ox_status *open_case(opened *o, const char *text, size_t limit, uint32_t level) {
  ox_env_opts eo = {.struct_size = sizeof eo, .alloc = counting_alloc_of(&o->count)};
  ox_session_opts so;
  ox_session_opts_init(&so);
  so.optimize = level, so.n_threads = 1, so.max_memory = limit;
  o->count = (counting_alloc){.fail_at = -1};
  CHECK_OK(ox_env_create(&eo, &o->env));
  o->before = o->count.live_bytes;
  return text_session(o->env, text, &so, &o->s);
}

static void close_case(opened *o) {
  ox_session_release(o->s);
  ox_env_release(o->env);
  assert_int_equal(o->count.live, 0);
}

static ox_status *run(opened *o, size_t n, ox_value **out) {
  const char *name = "x";
  static float ones[ELEMENTS];
  const int64_t dims[] = {(int64_t)n};
  ox_value *x;
  ox_env *plain; /* whose allocations are not counted */
  for (size_t i = 0; i < n; i++) ones[i] = 1;
  CHECK_OK(ox_env_create(NULL, &plain));
  CHECK_OK(ox_value_wrap(plain, OX_F32, dims, 1, ones, n * 4, NULL, NULL, &x));
  *out = NULL;
  ox_status *st = ox_session_run(o->s, NULL, &name, (const ox_value *const *)&x, 1, NULL, out, 1);
  ox_value_release(x);
  ox_env_release(plain);
  return st;
}

/* What the session itself is. */
enum { RECORD = 16 << 10 };

/* The error of a load and a run under |limit|; never more memory than that. */
static ox_status *try(size_t i, size_t limit) {
  opened o;
  ox_value *out = NULL;
  o.s = NULL;
  ox_status *st = open_case(&o, cases[i].text, limit, cases[i].level);
  if (st && !cases[i].at_load && limit >= 7 * UNIT) fail_msg("%s: %s", cases[i].name, ox_status_message(st));
  if (!st) st = run(&o, ELEMENTS, &out);
  if (limit != SIZE_MAX && (size_t)(o.count.peak_bytes - o.before) > limit + RECORD)
    fail_msg("%s: %ld bytes, the limit is %zu", cases[i].name, o.count.peak_bytes - o.before, limit);
  ox_value_release(out);
  close_case(&o);
  return st;
}

static void test_everything_counts(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(cases); i++) {
    CHECK_OK(try(i, SIZE_MAX));
    ox_status *st = try(i, 7 * UNIT);
    const char *text = ox_status_message(st);
    if (ox_status_code(st) != OX_LIMIT || !strstr(text, cases[i].part) || !strstr(text, "max_memory is 917504"))
      fail_msg("%s: %s \"%s\"", cases[i].name, ox_code_name(ox_status_code(st)), text);
    ox_status_free(st);
  }
}

/* Nothing is enough for nothing: every limit is an answer. */
static void test_any_limit_is_clean(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(cases); i++)
    for (size_t limit = 1; limit < 8 * UNIT; limit += limit / 4 + 1) {
      ox_status *st = try(i, limit);
      if (ox_status_code(st) != OX_LIMIT)
        fail_msg("%s, limit %zu: %s \"%s\"", cases[i].name, limit, ox_code_name(ox_status_code(st)),
                 ox_status_message(st));
      ox_status_free(st);
    }
}

/* Contexts, outputs and arenas of earlier runs with other shapes go before a run is refused. */
static void test_what_is_kept_makes_room(void **state) {
  static const char *const texts[] = {GRAPH "(float[N] y) { h = Exp (x) y = Softmax (h) }",
                                      GRAPH "(int64[1,M] y) { y = NonZero (x) }",
                                      GRAPH "(seq(float[N]) y) { y = SequenceConstruct (x) }"};
  static const size_t sizes[] = {ELEMENTS, ELEMENTS - 1000, ELEMENTS / 2, 3, ELEMENTS - 2000, ELEMENTS};
  (void)state;
  for (size_t i = 0; i < OX_COUNT(texts); i++) {
    opened o;
    ox_value *out;
    ox_status *st;
    for (size_t limit = 7 * UNIT;; limit += UNIT) { /* the least with which the largest runs alone, to the UNIT */
      CHECK_OK(open_case(&o, texts[i], limit, 0));
      st = run(&o, ELEMENTS, &out);
      ox_value_release(out);
      if (!st || limit > 100 * UNIT) break;
      close_case(&o);
      ox_status_free(st);
    }
    for (size_t k = 0; !st && k < OX_COUNT(sizes); k++) {
      st = run(&o, sizes[k], &out);
      ox_value_release(out);
    }
    if (st) fail_msg("model %zu: %s", i, ox_status_message(st));
    close_case(&o);
  }
}

static void test_outputs_outlive_the_session(void **state) {
  (void)state;
  opened o;
  ox_value *tensor, *sequence;
  CHECK_OK(open_case(&o, GRAPH "(float[N] y) { y = Exp (x) }", 16 * UNIT, 0));
  CHECK_OK(run(&o, 1000, &tensor));
  ox_session_release(o.s);
  CHECK_OK(text_session(o.env, GRAPH "(seq(float[N]) y) { y = SequenceConstruct (x) }", NULL, &o.s));
  CHECK_OK(run(&o, 1000, &sequence));
  ox_session_release(o.s);
  o.s = NULL;
  assert_true(ox_tensor_element(ox_value_get(tensor), 999) > 2.7);
  ox_value_release(tensor);
  ox_value_release(sequence);
  close_case(&o);
}

/* What the caller holds counts, until it lets go. */
static void test_outputs_in_the_callers_hands_count(void **state) {
  (void)state;
  opened o;
  ox_value *first, *second;
  CHECK_OK(open_case(&o, GRAPH "(float[N] y) { y = Exp (x) }", 12 * UNIT, 0));
  CHECK_OK(run(&o, ELEMENTS, &first));
  CHECK_FAILS(run(&o, ELEMENTS, &second), OX_LIMIT, "output 'y'");
  ox_value_release(first);
  CHECK_OK(run(&o, ELEMENTS, &second));
  ox_value_release(second);
  close_case(&o);
}

static void test_the_default(void **state) {
  static const struct {
    uint64_t usable, given, wanted;
  } rows[] = {
      {0, 0, (uint64_t)2 << 30},
      {100 * ((uint64_t)1 << 30), 0, (uint64_t)2 << 30},
      {100 * ((uint64_t)1 << 30), 1 << 20, ((uint64_t)2 << 30) + ((uint64_t)256 << 20)},
      {100 * ((uint64_t)1 << 30), (uint64_t)1 << 40, 80 * ((uint64_t)1 << 30)},
      {100 * ((uint64_t)1 << 30), UINT64_MAX, 80 * ((uint64_t)1 << 30)},
      {1000 << 20, 0, 800 << 20},
      {0, UINT64_MAX, SIZE_MAX},
  };
  (void)state;
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    if (rows[i].wanted > SIZE_MAX) continue; /* 32 bits */
    size_t got = ox_default_memory_limit(rows[i].usable, rows[i].given);
    if (got > rows[i].wanted || rows[i].wanted - got > 100) /* of rounding */
      fail_msg("row %zu: %zu, wanted %llu", i, got, (unsigned long long)rows[i].wanted);
  }
}

/* A model of a few bytes does not get what one with inputs gets. */
static void test_inputs_raise_the_default(void **state) {
  (void)state;
  opened o;
  ox_value *out;
  CHECK_OK(open_case(&o, GRAPH "(float[K,N] y) <int64[2] n = {400, 1}> { y = Expand (x, n) }", 0, 0));
  o.env->memory = (uint64_t)1 << 40;
  size_t left = ox_quota_left(o.s->quota);
  CHECK_OK(run(&o, 1000, &out));
  ox_value_release(out);
  assert_true(ox_quota_left(o.s->quota) + (8 << 20) > left + 256 * 4000);
  close_case(&o);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_everything_counts),
      cmocka_unit_test(test_any_limit_is_clean),
      cmocka_unit_test(test_what_is_kept_makes_room),
      cmocka_unit_test(test_outputs_outlive_the_session),
      cmocka_unit_test(test_outputs_in_the_callers_hands_count),
      cmocka_unit_test(test_the_default),
      cmocka_unit_test(test_inputs_raise_the_default),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

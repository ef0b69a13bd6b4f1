/* SPDX-License-Identifier: Apache-2.0
 * session/caller_outputs_test.c - outputs in the caller's memory: a kernel writes there, whether shapes are known
 * before the run or in it, and whether the caller brings the memory or gets it. */
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/counting_alloc.h"
#include "support/text_session.h"

#define HEAD "<ir_version: 10, opset_import: [\"\" : 21]> "
/* y is x without what is not above 0. */
#define KEPT "i = NonZero (c) t = Transpose (i) "

enum { N = 6, MOST_OUT = 3 };

typedef struct {
  const char *name, *text; /* x is float[N] {-1, 0, 1, 2, 3, 4}; c is whether it is above 0 */
  uint32_t n_out;
  size_t n[MOST_OUT]; /* elements of each output */
  double first[MOST_OUT], step[MOST_OUT];
} row;

static const row rows[] = {
    {"known before", HEAD "g (float[N] x, bool[N] c) => (float[N] y) { y = Neg (x) }", 1, {N}, {1}, {-1}},
    {"known in the run",
     HEAD "g (float[N] x, bool[N] c) => (float[M] y) { " KEPT "y = GatherND (x, t) }",
     1,
     {4},
     {1},
     {1}},
    {"read by the steps behind it",
     HEAD "g (float[N] x, bool[N] c) => (float[M] y, float[M] z) { " KEPT "y = GatherND (x, t) z = Add (y, y) }",
     2,
     {4, 4},
     {1, 2},
     {1, 2}},
    {"its view, too",
     HEAD "g (float[N] x, bool[N] c) => (float[M] y, float[1,K] z) <int64[2] s = {1, -1}> { " KEPT
          "y = GatherND (x, t) z = Reshape (y, s) }",
     2,
     {4, 4},
     {1, 1},
     {1, 1}},
    {"a view of what is no output",
     HEAD "g (float[N] x, bool[N] c) => (float[1,K] z) <int64[2] s = {1, -1}> { " KEPT
          "y = GatherND (x, t) z = Reshape (y, s) }",
     1,
     {4},
     {1},
     {1}},
    {"an output twice",
     HEAD "g (float[N] x, bool[N] c) => (float[M] y, float[M] y) { " KEPT "y = GatherND (x, t) }",
     2,
     {4, 4},
     {1, 1},
     {1, 1}},
    {"nothing in it",
     HEAD "g (float[N] x, bool[N] c) => (float[M] y) { u = Sub (x, x) i = NonZero (u) t = Transpose (i)"
          " y = GatherND (x, t) }",
     1,
     {0},
     {0},
     {0}},
    {"out of a body",
     HEAD "g (float[N] x, bool[N] c) => (float[M] y) <bool go = {1}, int64 m = {1}> { " KEPT "v = GatherND (x, t) y ="
          " Loop <body = b (int64 j, bool d, float[K] v) => (bool d, float[L] w) { w = Add (v, v) }> (m, go, v) }",
     1,
     {4},
     {2},
     {2}},
};

typedef struct {
  counting_alloc count;
  ox_env *env;
  ox_session *s;
  ox_value *in[2];
} opened;

static const char *const in_names[] = {"x", "c"};

static void open_model(opened *o, const char *text) {
  ox_env_opts eo = {.struct_size = sizeof eo, .alloc = counting_alloc_of(&o->count)};
  o->count = (counting_alloc){.fail_at = -1};
  CHECK_OK(ox_env_create(&eo, &o->env));
  CHECK_OK(text_session(o->env, text, NULL, &o->s));
  o->in[0] = ramp_value(o->env, -1, 1, 1, (int64_t[]){N});
  CHECK_OK(ox_value_create(o->env, OX_BOOL, (int64_t[]){N}, 1, &o->in[1]));
  for (int i = 0; i < N; i++) ((uint8_t *)ox_value_data(o->in[1]))[i] = i > 1;
}

static void close_model(opened *o) {
  ox_value_release(o->in[0]), ox_value_release(o->in[1]);
  ox_session_release(o->s);
  ox_env_release(o->env);
  assert_int_equal(atomic_load(&o->count.live), 0);
}

static ox_status *run(opened *o, ox_value **out, uint32_t n) {
  return ox_session_run(o->s, NULL, in_names, (const ox_value *const *)o->in, 2, NULL, out, n);
}

static void check(const row *r, ox_value *const *out) {
  for (uint32_t i = 0; i < r->n_out; i++) {
    const ox_tensor *t = ox_value_get(out[i]);
    if (ox_tensor_count(t) != (int64_t)r->n[i])
      fail_msg("%s, output %u: %lld elements", r->name, i, (long long)ox_tensor_count(t));
    for (size_t k = 0; k < r->n[i]; k++)
      if (ox_tensor_element(t, (int64_t)k) != r->first[i] + (double)k * r->step[i])
        fail_msg("%s, output %u, element %zu: %g", r->name, i, k, ox_tensor_element(t, (int64_t)k));
  }
}

static void test_values_that_the_run_makes(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    opened o;
    long before = 0;
    open_model(&o, rows[i].text);
    for (int turn = 0; turn < 3; turn++) {
      ox_value *out[MOST_OUT] = {NULL};
      if (turn == 2) before = atomic_load(&o.count.calls);
      CHECK_OK(run(&o, out, rows[i].n_out));
      check(&rows[i], out);
      for (uint32_t k = 0; k < rows[i].n_out; k++) ox_value_release(out[k]);
    }
    if (atomic_load(&o.count.calls) != before) fail_msg("%s: a repeated run allocates", rows[i].name);
    close_model(&o);
  }
}

/* The same values again, as they are now the caller's; and one that does not fit. */
static void test_values_that_the_caller_brings(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    opened o;
    ox_value *out[MOST_OUT] = {NULL}, *other = NULL;
    const void *data[MOST_OUT];
    open_model(&o, rows[i].text);
    CHECK_OK(run(&o, out, rows[i].n_out));
    for (uint32_t k = 0; k < rows[i].n_out; k++) {
      const ox_tensor *t = ox_value_get(out[k]);
      data[k] = t->data;
      if (t->bytes) memset(t->data, 0xee, t->bytes);
    }
    CHECK_OK(run(&o, out, rows[i].n_out));
    check(&rows[i], out);
    for (uint32_t k = 0; k < rows[i].n_out; k++) assert_ptr_equal(ox_value_get(out[k])->data, data[k]);
    CHECK_OK(ox_value_create(o.env, OX_F32, (int64_t[]){N + 1}, 1, &other));
    ox_value *given = out[0];
    out[0] = other;
    CHECK_FAILS(run(&o, out, rows[i].n_out), OX_SHAPE_MISMATCH, "the given value is float32[7]");
    out[0] = given;
    CHECK_OK(run(&o, out, rows[i].n_out));
    check(&rows[i], out);
    ox_value_release(other);
    for (uint32_t k = 0; k < rows[i].n_out; k++) ox_value_release(out[k]);
    close_model(&o);
  }
}

/* A failed run leaves nothing behind, wherever memory runs out. */
static void test_memory_that_runs_out(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    long at = 0;
    for (bool ok = false; !ok; at++) {
      opened o;
      ox_value *out[MOST_OUT] = {NULL};
      open_model(&o, rows[i].text);
      o.count.fail_at = atomic_load(&o.count.calls) + at;
      ox_status *st = run(&o, out, rows[i].n_out);
      ok = !st;
      if (st && ox_status_code(st) != OX_OUT_OF_MEMORY) fail_msg("%s: %s", rows[i].name, ox_status_message(st));
      ox_status_free(st);
      o.count.fail_at = -1;
      for (uint32_t k = 0; k < rows[i].n_out; k++) ox_value_release(out[k]);
      close_model(&o);
    }
    assert_true(at > 3);
  }
}

/* A large result is in memory once. */
static void test_a_result_takes_its_own_memory(void **state) {
  (void)state;
  opened o;
  ox_value *out = NULL;
  open_model(&o, HEAD
             "g (float[N] x, bool[N] c) => (float[A,B] y) { i = NonZero (c) r = ReduceMin <keepdims = 0> (i)"
             " k = Constant <value = int64[2] {65536, 3}> () t = Mul (r, k) y = Expand (x, t) }");
  CHECK_OK(run(&o, &out, 1));
  long bytes = (long)ox_value_get(out)->bytes, peak = atomic_load(&o.count.peak_bytes);
  assert_true(bytes > (1 << 20));
  if (peak > bytes + bytes / 2) fail_msg("%ld bytes for a result of %ld", peak, bytes);
  ox_value_release(out);
  close_model(&o);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_values_that_the_run_makes),
      cmocka_unit_test(test_values_that_the_caller_brings),
      cmocka_unit_test(test_memory_that_runs_out),
      cmocka_unit_test(test_a_result_takes_its_own_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 * session/invariant_test.c - what loops carry on unchanged is read from outside: how many values of a loop are, and
 * that the results are those of the model as it is written, for no, one and three steps. */
#include <string.h>

#include "base/macros.h"
#include "graph/shape.h"
#include "support/check.h"
#include "support/text_session.h"

#define HEAD "<ir_version: 10, opset_import: [\"\" : 21]> g (float[2,2] x, int64 n) => "
#define GO "<bool go = {1}, float[2,2] w = {1, 2, 3, 4}, float one = {1}>"

typedef struct {
  const char *name, *text;
  uint64_t moved;
  uint32_t n_out;
} row;

static const row rows[] = {
    {"carried and changed",
     HEAD
     "(float[A,B] y) " GO
     "{ y = Loop (n, go, x) <body = b (int64 i, bool c, float[A,B] v) => (bool c, float[A,B] u) { u = Add (v, w) }> }",
     0, 1},
    {"a weight",
     HEAD "(float[A,B] y) " GO "{ y, z = Loop (n, go, x, w) <body = b (int64 i, bool c, float[A,B] v, float[A,B] k) =>"
          " (bool c, float[A,B] u, float[A,B] l) { u = MatMul (v, k) l = Identity (k) }> }",
     1, 1},
    {"as it is, and read behind the loop",
     HEAD "(float[A,B] y, float[A,B] z, float[A,B] q) " GO
          "{ k = Neg (x) y, z = Loop (n, go, x, k) <body = b (int64 i, bool c, float[A,B] v, float[A,B] k0) =>"
          " (bool c, float[A,B] u, float[A,B] k0) { u = Add (v, k0) }> q = Mul (z, y) }",
     1, 3},
    {"an input of the model becomes an output",
     HEAD "(float[A,B] y, float[A,B] z) " GO
          "{ y, z = Loop (n, go, w, x) <body = b (int64 i, bool c, float[A,B] v, float[A,B] k) =>"
          " (bool c, float[A,B] u, float[A,B] k) { u = Add (v, k) }> }",
     1, 2},
    {"through two Identities, its result not wanted",
     HEAD "(float[A,B] y) " GO "{ y = Loop (n, go, x, w) <body = b (int64 i, bool c, float[A,B] v, float[A,B] k) =>"
          " (bool c, float[A,B] u, float[A,B] m) { u = Sub (v, k) l = Identity (k) m = Identity (l) }> }",
     1, 1},
    {"two change places",
     HEAD "(float[A,B] y, float[A,B] z) " GO
          "{ y, z = Loop (n, go, x, w) <body = b (int64 i, bool c, float[A,B] v, float[A,B] k) =>"
          " (bool c, float[A,B] k, float[A,B] v) { }> }",
     0, 2},
    {"one takes over the other",
     HEAD "(float[A,B] y, float[A,B] z) " GO
          "{ y, z = Loop (n, go, x, w) <body = b (int64 i, bool c, float[A,B] v, float[A,B] k) =>"
          " (bool c, float[A,B] l, float[A,B] k) { l = Identity (k) }> }",
     1, 2},
    {"the first of three, the last of three",
     HEAD "(float[A,B] z, float[A,B] y, float[A,B] x0) " GO
          "{ z, y, x0 = Loop (n, go, w, x, x) <body = b (int64 i, bool c, float[A,B] k, float[A,B] v, float[A,B] l) =>"
          " (bool c, float[A,B] k, float[A,B] u, float[A,B] l) { t = Mul (v, k) u = Sub (t, l) }> }",
     2, 3},
    {"also stacked",
     HEAD "(float[A,B] y, float[N,A,B] s) " GO
          "{ y, z, s = Loop (n, go, x, w) <body = b (int64 i, bool c, float[A,B] v, float[A,B] k) =>"
          " (bool c, float[A,B] u, float[A,B] k, float[A,B] k) { u = Add (v, k) }> }",
     1, 2},
    {"nothing else is carried",
     HEAD "(float[N,A,B] s) " GO "{ z, s = Loop (n, go, x) <body = b (int64 i, bool c, float[A,B] k) =>"
          " (bool c, float[A,B] k, float[A,B] r) { f = Cast <to = 1> (i) r = Add (k, f) }> }",
     1, 1},
    {"nothing is left",
     HEAD
     "(float[A,B] y) " GO
     "{ z = Loop (n, go, x) <body = b (int64 i, bool c, float[A,B] k) => (bool c, float[A,B] k) { }> y = Neg (z) }",
     1, 1},
    {"a loop in a loop",
     HEAD "(float[A,B] y) " GO "{ y, z = Loop (n, go, x, w) <body = b (int64 i, bool c, float[A,B] v, float[A,B] k) => "
                               "(bool c, float[A,B] u, float[A,B] l)"
          " { u, l = Loop (n, c, v, k) <body = d (int64 j, bool e, float[A,B] p, float[A,B] q) => (bool e, float[A,B] "
          "r, float[A,B] q)"
          " { r = Add (p, q) }> }> }",
     2, 1},
    {"a branch in the loop reads it",
     HEAD "(float[A,B] y) " GO "{ y, z = Loop (n, go, x, w) <body = b (int64 i, bool c, float[A,B] v, float[A,B] k) => "
                               "(bool c, float[A,B] u, float[A,B] k)"
          " { u = If (c) <then_branch = t () => (float[A,B] p) { p = Add (v, k) }, else_branch = e () => (float[A,B] q)"
          " { q = Sub (v, k) }> }> }",
     1, 1},
    {"a sequence",
     HEAD "(float[A,B] y) " GO "{ q = SequenceConstruct (x, w) y, z = Loop (n, go, x, q) <body = b (int64 i, bool c, "
                               "float[A,B] v, seq(float[A,B]) k) =>"
          " (bool c, float[A,B] u, seq(float[A,B]) k) { p = Constant <value = int64 {1}> () e = SequenceAt (k, p) u = "
          "Add (v, e) }> }",
     1, 1},
    {"a body hides a name",
     HEAD "(float[A,B] y) " GO "{ y, z = Loop (n, go, x, w) <body = b (int64 i, bool c, float[A,B] x, float[A,B] w) => "
                               "(bool c, float[A,B] u, float[A,B] w)"
          " { u = Sub (x, w) }> }",
     1, 1},
    {"Scan",
     HEAD "(float[A] y, float[A,B] s) " GO "{ r = ReduceSum <keepdims = 0> (w, m) y, z, s = Scan <num_scan_inputs = 1, "
                                           "body = b (float[B] v, float[B] k, float[B] e) =>"
          " (float[B] u, float[B] k, float[B] f) { u = Add (v, k) f = Mul (u, e) }> (r, r, x) m = Constant <value = "
          "int64[1] {0}> () }",
     1, 2},
};

typedef struct {
  ox_session *s;
  ox_value *out[3];
} model_run;

static void check_outputs(const row *r, int64_t steps, ox_value *const *a, ox_value *const *b) {
  for (uint32_t i = 0; i < r->n_out; i++) {
    const ox_tensor *s = ox_value_get(a[i]), *t = ox_value_get(b[i]);
    if (!s->bytes && !t->bytes && s->shape.rank == t->shape.rank)
      continue; /* nothing tells the size of what was not made */
    if (s->bytes != t->bytes || !ox_shape_equal(&s->shape, &t->shape) ||
        (s->bytes && memcmp(s->data, t->data, s->bytes) != 0))
      fail_msg("%s, %lld steps: output %u differs", r->name, (long long)steps, i);
  }
}

static void check_row(ox_env *env, const row *r) {
  static const int64_t steps[] = {0, 1, 3};
  const ox_session_opts plain = {.struct_size = sizeof plain, .optimize = OX_OPTIMIZE_NONE};
  model_run m[2] = {{NULL}, {NULL}};
  for (int k = 0; k < 2; k++) CHECK_OK(text_session(env, r->text, k ? NULL : &plain, &m[k].s));
  assert_int_equal(times_applied(m[0].s, "invariant"), 0);
  if (times_applied(m[1].s, "invariant") != r->moved)
    fail_msg("%s: %llu values moved", r->name, (unsigned long long)times_applied(m[1].s, "invariant"));
  ox_value *in[2] = {ramp_value(env, -1, 1, 2, (int64_t[]){2, 2}), NULL};
  CHECK_OK(ox_value_create(env, OX_I64, NULL, 0, &in[1]));
  for (size_t i = 0; i < OX_COUNT(steps); i++) {
    memcpy(ox_value_data(in[1]), &steps[i], sizeof steps[i]);
    for (int k = 0; k < 2; k++)
      CHECK_OK(ox_session_run(m[k].s, NULL, (const char *[]){"x", "n"}, (const ox_value *const *)in, 2, NULL, m[k].out,
                              r->n_out));
    check_outputs(r, steps[i], m[0].out, m[1].out);
    for (int k = 0; k < 2; k++)
      for (uint32_t o = 0; o < r->n_out; o++) ox_value_release(m[k].out[o]), m[k].out[o] = NULL;
  }
  for (int k = 0; k < 2; k++) ox_value_release(in[k]), ox_session_release(m[k].s);
}

static void test_results_stay(void **state) {
  (void)state;
  ox_env *env;
  CHECK_OK(ox_env_create(NULL, &env));
  for (size_t i = 0; i < OX_COUNT(rows); i++) check_row(env, &rows[i]);
  ox_env_release(env);
}

/* In version 8 the body gets items of a batch. */
static void test_scan_of_batches_keeps_its_state(void **state) {
  (void)state;
  ox_env *env;
  ox_session *s;
  CHECK_OK(ox_env_create(NULL, &env));
  CHECK_OK(text_session(env,
                        "<ir_version: 7, opset_import: [\"\" : 8]> g (float[1,2] k, float[1,3,2] x) => (float[1,2] y, "
                        "float[1,3,2] z) { y, z = Scan <num_scan_inputs = 1, body = b (float[2] p, float[2] e) => "
                        "(float[2] p, float[2] f) { f = Add (p, e) }> (\"\", k, x) }",
                        NULL, &s));
  assert_int_equal(times_applied(s, "invariant"), 0);
  ox_session_release(s);
  ox_env_release(env);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_results_stay),
      cmocka_unit_test(test_scan_of_batches_keeps_its_state),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

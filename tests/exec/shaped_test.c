/* SPDX-License-Identifier: Apache-2.0
 * exec/shaped_test.c - a step that needs the content of an input before it can be prepared, while the shape of its
 * first output is known: what reads that is planned all the same (OX_OUT0_SHAPED). */
#include <string.h>

#include "base/macros.h"
#include "onyx/rewrite.h"
#include "support/check.h"
#include "support/counting_alloc.h"
#include "support/text_session.h"

/* ---- me.Fill: y = x + n, and n zeros. Lie is the same with y of n elements, once it knows them. ---- */

static ox_status *infer(ox_infer_ctx *c) {
  int64_t n = -1;
  if (c->in_data[1]) memcpy(&n, c->in_data[1]->data, sizeof n);
  for (uint32_t i = 0; i < c->n_out; i++) c->out[i] = *c->in[0];
  if (c->n_out > 1) c->out[1].shape.dim[0] = n;
  if (n >= 0 && strcmp(c->op, "Lie") == 0) c->out[0].shape.dim[0] = n;
  return NULL;
}

static ox_status *fill(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  int64_t n;
  (void)stage, (void)tiles, (void)scratch;
  memcpy(&n, c->in[1]->data, sizeof n);
  for (size_t i = 0; i < c->out[0]->bytes / sizeof(float); i++)
    ((float *)c->out[0]->data)[i] = ((const float *)c->in[0]->data)[i] + (float)n;
  if (c->n_out > 1 && c->out[1]->bytes) memset(c->out[1]->data, 0, c->out[1]->bytes);
  return NULL;
}

#define ROW(called, its_traits)                                                                                  \
  {                                                                                                              \
    OX_SCHEMA(.name = called, .domain = "me", .since = 1, .min_in = 2, .max_in = 2, .min_out = 1, .max_out = 2,  \
              .types = {OX_BIT(OX_F32), OX_BIT(OX_I64)}, .value_in = 2, .traits = (its_traits), .infer = infer), \
        OX_KERNEL(.run = fill)                                                                                   \
  }
static const ox_op fill_op[] = {ROW("Fill", OX_OUT0_SHAPED)}, vague_op[] = {ROW("Vague", 0)},
                   lie_op[] = {ROW("Lie", OX_OUT0_SHAPED)};

#define HEAD "<ir_version: 10, opset_import: [\"\" : 21, \"me\" : 1]> g (float[100] x, int64 n) => "

enum { ELEMENTS = 100, MOST_OUT = 2 };

typedef struct {
  counting_alloc count;
  ox_env *env;
  ox_session *s;
  ox_value *in[2];
} opened;

static void open_model(opened *o, const char *text) {
  ox_env_opts eo = {.struct_size = sizeof eo, .alloc = counting_alloc_of(&o->count)};
  o->count = (counting_alloc){.fail_at = -1};
  CHECK_OK(ox_env_create(&eo, &o->env));
  CHECK_OK(ox_env_add_ops(o->env, fill_op, 1));
  CHECK_OK(ox_env_add_ops(o->env, vague_op, 1));
  CHECK_OK(ox_env_add_ops(o->env, lie_op, 1));
  CHECK_OK(text_session(o->env, text, NULL, &o->s));
  o->in[0] = ramp_value(o->env, 0, 1, 1, (int64_t[]){ELEMENTS});
  CHECK_OK(ox_value_create(o->env, OX_I64, NULL, 0, &o->in[1]));
}

static void close_model(opened *o) {
  ox_value_release(o->in[0]), ox_value_release(o->in[1]);
  ox_session_release(o->s);
  ox_env_release(o->env);
  assert_int_equal(atomic_load(&o->count.live), 0);
}

static ox_status *run(opened *o, int64_t n, ox_value **out, uint32_t n_out) {
  memcpy(ox_value_data(o->in[1]), &n, sizeof n);
  return ox_session_run(o->s, NULL, (const char *[]){"x", "n"}, (const ox_value *const *)o->in, 2, NULL, out, n_out);
}

static const struct {
  const char *name, *text;
  double by; /* the output is (x + n) by */
} rows[] = {
    {"beside an output of unknown length", HEAD "(float[100] y, float[Z] z) { a, z = me.Fill (x, n) y = Neg (a) }", -1},
    {"an output", HEAD "(float[100] y) { y = me.Fill (x, n) }", 1},
    {"read by one", HEAD "(float[100] y) { a = me.Fill (x, n) y = Neg (a) }", -1},
    {"read by several, one of them late",
     HEAD "(float[100] y) { a = me.Fill (x, n) b = Neg (a) c = Abs (b) d = Mul (c, b) e = Add (d, a) y = Sub (e, d) }",
     1},
    {"by way of a view",
     HEAD
     "(float[100] y) <int64[2] s = {10, 10}, int64[1] t = {100}> { a = me.Fill (x, n) b = Reshape (a, s) c = Neg (b) "
     "y = Reshape (c, t) }",
     -1},
    {"a view of it is the output",
     HEAD "(float[10,10] y) <int64[2] s = {10, 10}> { a = me.Fill (x, n) y = Reshape (a, s) }", 1},
    {"one behind the other",
     HEAD "(float[100] y) { a = me.Fill (x, n) b = Neg (a) c = me.Fill (b, n) d = Neg (c) y = me.Fill (d, n) }", 1},
    {"joined with what is planned",
     HEAD "(float[100] y) { b = Neg (x) a = me.Fill (x, n) c = Concat <axis = 0> (a, b) y, z = Split <num_outputs = 2> "
          "(c) }",
     1},
    {"read in a body",
     HEAD
     "(float[100] y) <bool go = {1}, int64 three = {3}> { a = me.Fill (x, n) y = Loop (three, go, x) <body = b (int64 "
     "i, bool c, float[100] h) => (bool c, float[100] u) { u = Neg (a) }> }",
     -1},
};

static void test_results(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    static const int64_t numbers[] = {0, 7, 3, 3, 3};
    opened o;
    long before = 0;
    open_model(&o, rows[i].text);
    for (size_t k = 0; k < OX_COUNT(numbers); k++) {
      ox_value *out = NULL;
      before = atomic_load(&o.count.calls);
      CHECK_OK(run(&o, numbers[k], &out, 1));
      const ox_tensor *t = ox_value_get(out);
      assert_int_equal(ox_tensor_count(t), ELEMENTS);
      double n = (double)numbers[k];
      for (int e = 0; e < ELEMENTS; e++)
        if (ox_tensor_element(t, e) != (e + n) * rows[i].by)
          fail_msg("%s, element %d for %g: %g", rows[i].name, e, n, ox_tensor_element(t, e));
      ox_value_release(out);
    }
    if (atomic_load(&o.count.calls) != before) fail_msg("%s: a repeated run allocates", rows[i].name);
    close_model(&o);
  }
}

/* The values behind it are in the plan; behind one that does not say so they are not. */
static void test_what_follows_is_planned(void **state) {
  (void)state;
  size_t bytes[2];
  for (int k = 0; k < 2; k++) {
    opened o;
    open_model(&o,
               k ? HEAD
                   "(float[10] y) <int64[2] s = {10, 10}> { a = me.Vague (x, n) r = Reshape (a, s) b = MatMul (r, r) "
                   "c = MatMul (b, r) y = ReduceSum <keepdims = 0> (c, z) z = Constant <value = int64[1] {1}> () }"
                 : HEAD
                   "(float[10] y) <int64[2] s = {10, 10}> { a = me.Fill (x, n) r = Reshape (a, s) b = MatMul (r, r) "
                   "c = MatMul (b, r) y = ReduceSum <keepdims = 0> (c, z) z = Constant <value = int64[1] {1}> () }");
    CHECK_OK(ox_session_plan(o.s, (const ox_shape[]){{.rank = 1, .dim = {ELEMENTS}}, {.rank = 0}}, 2, &bytes[k]));
    close_model(&o);
  }
  assert_true(bytes[0] >= bytes[1] + 2 * 400);
}

static void test_an_operator_that_lies(void **state) {
  (void)state;
  opened o;
  ox_value *out = NULL;
  open_model(&o, HEAD "(float[100] y) { a = me.Lie (x, n) y = Neg (a) }");
  CHECK_FAILS(run(&o, 3, &out, 1), OX_INCOMPATIBLE, "was to be of shape [100], and is of [3]");
  CHECK_OK(run(&o, ELEMENTS, &out, 1));
  ox_value_release(out);
  close_model(&o);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_results),
      cmocka_unit_test(test_what_follows_is_planned),
      cmocka_unit_test(test_an_operator_that_lies),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 * plugins/examples_test.c - the templates in examples/ops and examples/rules, loaded as a user loads them. */
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "support/check.h"
#include "support/text_session.h"

typedef struct {
  ox_env *env;
  ox_session *session;
} world;

static void open_world(world *w, const char *plugin) {
  *w = (world){0};
  CHECK_OK(ox_env_create(NULL, &w->env));
  CHECK_OK(ox_env_load_plugin(w->env, plugin));
}

static void close_world(world *w) {
  ox_session_release(w->session);
  ox_env_release(w->env);
}

static ox_status *load(world *w, const char *text, const ox_session_opts *o) {
  ox_session_release(w->session);
  w->session = NULL;
  return text_session(w->env, text, o, &w->session);
}

/* ---- the operator ---- */

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17, \"example\" : 1]> g "

/* a, b and c: 1 + i / 4, 2 - i and i. */
static ox_status *run_sum(world *w, int64_t n_a, int64_t n, ox_value **out) {
  ox_value *in[] = {ramp_value(w->env, 1, 0.25f, 1, &n_a), ramp_value(w->env, 2, -1, 1, &n),
                    ramp_value(w->env, 0, 1, 1, &n)};
  static const char *const names[] = {"a", "b", "c"};
  ox_status *st = ox_session_run(w->session, NULL, names, (const ox_value *const *)in, 3, NULL, out, 1);
  for (int i = 0; i < 3; i++) ox_value_release(in[i]);
  return st;
}

static void test_the_operator_on_any_size(void **state) {
  (void)state;
  static const struct {
    const char *model;
    double a, b, c, bias;
  } rows[] = {
      {"{ y = example.WeightedSum (\"\", a, b, c) }", 1, 1, 1, 0},
      {"{ y = example.WeightedSum <bias = -1.5> (\"\", c) z = Add (a, b) }", 0, 0, 1, -1.5},
      {"{ w = Constant <value_floats = [2.0, -1.0, 0.5]> () y = example.WeightedSum <bias = 3.0> (w, a, b, c) }", 2, -1,
       0.5, 3},
  };
  static const int64_t sizes[] = {0, 1, 4095, 4096, 4097, 3 * 4096 + 5};
  world w;
  open_world(&w, CUSTOM_OP);
  for (size_t k = 0; k < OX_COUNT(rows); k++) {
    char text[512] = HEAD "(float[n] a, float[n] b, float[n] c) => (float[n] y) ";
    CHECK_OK(load(&w, strcat(text, rows[k].model), NULL));
    for (size_t s = 0; s < OX_COUNT(sizes); s++) {
      ox_value *y = NULL;
      CHECK_OK(run_sum(&w, sizes[s], sizes[s], &y));
      const ox_tensor *t = ox_value_get(y);
      assert_int_equal(ox_tensor_count(t), sizes[s]);
      for (int64_t i = 0; i < sizes[s]; i++) {
        double x = (double)i, want = rows[k].a * (1 + x / 4) + rows[k].b * (2 - x) + rows[k].c * x + rows[k].bias;
        if (ox_tensor_element(t, i) != want) /* all of it is exact */
          fail_msg("%s, %d of %d: %g, wanted %g", rows[k].model, (int)i, (int)sizes[s], ox_tensor_element(t, i), want);
      }
      ox_value_release(y);
    }
  }
  close_world(&w);
}

static void test_the_operator_checks_its_inputs(void **state) {
  (void)state;
  static const struct {
    const char *model;
    ox_code code;
    const char *says;
  } rows[] = {
      {"(float[2] a) => (float[2] y) { y = example.WeightedSum (a, \"\") }", OX_INVALID_MODEL, "x_0 is missing"},
      {"(float[2] a) => (float[2] y) { y = example.WeightedSum (a) }", OX_INVALID_MODEL, "x_0 is missing"},
      {"(float[2] a) => (float[2] y) { y = example.WeightedSum (a, a) }", OX_SHAPE_MISMATCH, "one for each x"},
      {"(float[1, 1] a) => (float[2] y) { y = example.WeightedSum (a, a) }", OX_INVALID_MODEL, "wanted a list"},
      {"(float[2] a, float[3] b) => (float[2] y) { y = example.WeightedSum (\"\", a, b) }", OX_SHAPE_MISMATCH,
       "the same shape"},
      {"(double[2] a) => (double[2] y) { y = example.WeightedSum (\"\", a) }", OX_INVALID_MODEL, "float32"},
  };
  world w;
  ox_value *y = NULL;
  open_world(&w, CUSTOM_OP);
  for (size_t k = 0; k < OX_COUNT(rows); k++) {
    char text[512] = HEAD;
    CHECK_FAILS(load(&w, strcat(text, rows[k].model), NULL), rows[k].code, rows[k].says);
  }
  CHECK_OK(load(&w,
                HEAD "(float[m] a, float[n] b, float[n] c) => (float[m] y) "
                     "{ z = Neg (c) y = example.WeightedSum (\"\", a, b) }",
                NULL));
  CHECK_FAILS(run_sum(&w, 3, 4, &y), OX_SHAPE_MISMATCH, "the same shape");
  close_world(&w);
}

/* ---- the rule and the pass ---- */

static size_t count_op(const ox_session *s, const char *op) {
  ox_placement p;
  size_t n = 0;
  for (size_t i = 0; ox_session_placement(s, i, &p); i++) n += strcmp(p.op, op) == 0;
  return n;
}

/* Runs |text| on a ramp from -8; |out| has room for 64. */
static void run_ramp(world *w, const char *text, const ox_session_opts *o, float *out) {
  const char *name = "x";
  ox_value *y = NULL, *x;
  CHECK_OK(load(w, text, o));
  x = ramp_value(w->env, -8, 0.26f, 2, (const int64_t[]){4, 16});
  CHECK_OK(ox_session_run(w->session, NULL, &name, (const ox_value *const *)&x, 1, NULL, &y, 1));
  memcpy(out, ox_value_get(y)->data, 64 * sizeof *out);
  ox_value_release(x);
  ox_value_release(y);
}

static void test_the_rule_and_the_pass(void **state) {
  (void)state;
  static const struct {
    const char *model, *op;
    size_t before, after; /* nodes of |op| */
    const char *rule;
  } rows[] = {
      {"{ c = Constant <value_float = 4.0> () y = Div (x, c) }", "Div", 1, 0, "div-to-mul"},
      {"{ c = Constant <value_floats = [-0.125]> () y = Div (x, c) }", "Div", 1, 0, "div-to-mul"},
      {"{ c = Constant <value_float = 3.0> () y = Div (x, c) }", "Div", 1, 1, "div-to-mul"},
      {"{ c = Constant <value_float = 4.0> () y = Div (c, x) }", "Div", 1, 1, "div-to-mul"},
      {"{ e = Exp (x) s = Sigmoid (x) t = Mul (e, s) u = Abs (t) y = Neg (u) }", "Abs", 1, 0, "drop-abs"},
      {"{ a = Abs (x) b = Abs (a) c = Abs (b) y = Neg (c) }", "Abs", 3, 1, "drop-abs"},
      {"{ e = Exp (x) t = Mul (e, x) y = Abs (t) }", "Abs", 1, 1, "drop-abs"},
  };
  world w;
  open_world(&w, RULE);
  for (size_t k = 0; k < OX_COUNT(rows); k++) {
    char text[512] = HEAD "(float[4, 16] x) => (float[4, 16] y) ";
    float plain[64], better[64];
    ox_session_opts o;
    ox_session_opts_init(&o);
    strcat(text, rows[k].model);
    o.optimize = OX_OPTIMIZE_BASIC, o.disabled_rules = &rows[k].rule, o.n_disabled_rules = 1;
    run_ramp(&w, text, &o, plain);
    assert_int_equal(count_op(w.session, rows[k].op), rows[k].before);
    o.n_disabled_rules = 0;
    run_ramp(&w, text, &o, better);
    if (count_op(w.session, rows[k].op) != rows[k].after)
      fail_msg("%s: %zu %s", rows[k].model, count_op(w.session, rows[k].op), rows[k].op);
    assert_memory_equal(plain, better, sizeof plain);
  }
  close_world(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_operator_on_any_size),
                                     cmocka_unit_test(test_the_operator_checks_its_inputs),
                                     cmocka_unit_test(test_the_rule_and_the_pass)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

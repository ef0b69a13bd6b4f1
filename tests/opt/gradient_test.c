/* SPDX-License-Identifier: Apache-2.0
 * opt/gradient_test.c - derivatives against central differences of the same graph without the Gradient node. */
#include "opt/gradient.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kern/quant/convert.h"
#include "support/check.h"
#include "support/text_session.h"

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17, \"ai.onnx.preview.training\" : 1]> "
#define GRADIENT(y) " d = ai.onnx.preview.training.Gradient <xs = [\"x\"], zs = [\"w\"], y = \"" y "\"> (x, w) }"

/* x is [2,3], w as given; the derivative of the sum of all elements of the output with respect to x. */
static const struct {
  const char *name, *text;
} cases[] = {
    {"sum and product", HEAD
     "g (float[2,3] x, float[2,3] w) => (float[2,3] y, float[2,3] d) { a = Add (x, w) y = Mul (a, x)" GRADIENT("y")},
    {"broadcast operand", HEAD "g (float[2,3] x, float[3] w) => (float[2,3] y, float[2,3] d) { a = Div (x, w) b = Sub "
                               "(a, x) y = Mul (b, b)" GRADIENT("y")},
    {"x is broadcast",
     HEAD "g (float[1,3] x, float[4,3] w) => (float[4,3] y, float[1,3] d) { a = Mul (x, w) y = Tanh (a)" GRADIENT("y")},
    {"unary chain",
     HEAD "g (float[2,3] x, float[2,3] w) => (float[2,3] y, float[2,3] d) { a = Exp (x) b = Sqrt (a) c "
          "= Log (b) e = Sigmoid (c) f = Neg (e) h = Mul (f, w) i = Identity (h) y = Relu (i)" GRADIENT("y")},
    {"product of matrices", HEAD
     "g (float[2,3] x, float[3,2] w) => (float[2,2] y, float[2,3] d) { a = MatMul (x, w) y = Tanh (a)" GRADIENT("y")},
};

static double sum_y(ox_session *s, ox_value *x, ox_value *w, float *out_d) {
  const char *names[] = {"x", "w"};
  const ox_value *const in[] = {x, w};
  ox_value *out[2] = {NULL, NULL};
  double sum = 0;
  CHECK_OK(ox_session_run(s, NULL, names, in, 2, NULL, out, 2));
  for (int64_t i = 0; i < ox_tensor_count(ox_value_get(out[0])); i++) sum += ox_tensor_element(ox_value_get(out[0]), i);
  if (out_d) memcpy(out_d, ox_value_data(out[1]), ox_value_get(out[1])->bytes);
  ox_value_release(out[0]);
  ox_value_release(out[1]);
  return sum;
}

static void test_matches_central_differences(void **state) {
  (void)state;
  ox_env *env;
  CHECK_OK(ox_env_create(NULL, &env));
  for (size_t c = 0; c < OX_COUNT(cases); c++) {
    ox_session *s;
    ox_value_info info;
    float d[16];
    ox_status *st = text_session(env, cases[c].text, NULL, &s);
    if (st) fail_msg("%s: %s", cases[c].name, ox_status_message(st));
    CHECK_OK(ox_session_input(s, 0, &info));
    ox_value *x = ramp_value(env, 0.4f, 0.17f, (size_t)info.rank, info.dims);
    CHECK_OK(ox_session_input(s, 1, &info));
    ox_value *w = ramp_value(env, -0.9f, 0.31f, (size_t)info.rank, info.dims);
    (void)sum_y(s, x, w, d);
    float *data = ox_value_data(x);
    for (int64_t i = 0; i < ox_tensor_count(ox_value_get(x)); i++) {
      const float h = 1e-2f, was = data[i];
      data[i] = was + h;
      double up = sum_y(s, x, w, NULL);
      data[i] = was - h;
      double down = sum_y(s, x, w, NULL), want = (up - down) / (2 * (double)h);
      data[i] = was;
      if (!(fabs(want - (double)d[i]) <= 2e-3 * (1 + fabs(want))))
        fail_msg("%s, element %d: %g, wanted %g", cases[c].name, (int)i, (double)d[i], want);
    }
    ox_value_release(x);
    ox_value_release(w);
    ox_session_release(s);
  }
  ox_env_release(env);
}

/* |from| as a value of |dtype|. */
static ox_value *converted(ox_env *env, const ox_value *from, uint32_t dtype) {
  const ox_tensor *t = ox_value_get(from);
  ox_value *v;
  CHECK_OK(ox_value_create(env, dtype, t->shape.dim, (size_t)t->shape.rank, &v));
  ox_convert_select(0)->store_f32[dtype](t->data, ox_value_data(v), 0, (size_t)ox_tensor_count(t), NULL);
  return v;
}

/* The same graphs in 16 bits differ from those in 32 by rounding alone. */
static void test_in_16_bits(void **state) {
  static const struct {
    const char *name;
    uint32_t dtype;
    double tolerance;
  } types[] = {{"float16", OX_F16, 5e-3}, {"bfloat16", OX_BF16, 4e-2}};
  (void)state;
  ox_env *env;
  CHECK_OK(ox_env_create(NULL, &env));
  for (size_t c = 0; c < 2 * OX_COUNT(cases); c++) {
    char text[1024] = "";
    const char *from = cases[c / 2].text;
    for (const char *at; (at = strstr(from, "float[")); from = at + strlen("float"))
      strncat(text, from, (size_t)(at - from)), strcat(text, types[c % 2].name);
    strcat(text, from);
    ox_session *s, *narrow;
    ox_value_info info;
    float d[16];
    uint16_t half[16];
    CHECK_OK(text_session(env, cases[c / 2].text, NULL, &s));
    CHECK_OK(ox_status_note(text_session(env, text, NULL, &narrow), "%s, %s", cases[c / 2].name, types[c % 2].name));
    CHECK_OK(ox_session_input(s, 0, &info));
    ox_value *x = ramp_value(env, 0.5f, 0.25f, (size_t)info.rank, info.dims);
    CHECK_OK(ox_session_input(s, 1, &info));
    ox_value *w = ramp_value(env, -0.875f, 0.125f, (size_t)info.rank, info.dims);
    ox_value *nx = converted(env, x, types[c % 2].dtype), *nw = converted(env, w, types[c % 2].dtype);
    (void)sum_y(s, x, w, d);
    (void)sum_y(narrow, nx, nw, (float *)(void *)half);
    for (int64_t i = 0; i < ox_tensor_count(ox_value_get(x)); i++) {
      float got;
      ox_convert_select(0)->load_f32[types[c % 2].dtype](half, (size_t)i, 1, &got);
      if (!(fabs((double)(got - d[i])) <= types[c % 2].tolerance * (1 + fabs((double)d[i]))))
        fail_msg("%s, %s, element %d: %g, wanted %g", cases[c / 2].name, types[c % 2].name, (int)i, (double)got,
                 (double)d[i]);
    }
    ox_value *const values[] = {x, w, nx, nw};
    for (size_t i = 0; i < OX_COUNT(values); i++) ox_value_release(values[i]);
    ox_session_release(s), ox_session_release(narrow);
  }
  ox_env_release(env);
}

/* y overflows, its derivative with respect to x does not; nor does it depend on what another input holds. */
static void test_an_infinite_result_has_a_derivative(void **state) {
  static const int64_t dims[] = {2, 3};
  (void)state;
  ox_env *env;
  ox_session *s;
  float d[6];
  CHECK_OK(ox_env_create(NULL, &env));
  CHECK_OK(text_session(
      env, HEAD "g (float[2,3] x, float[2,3] w) => (float[2,3] y, float[2,3] d) { y = Mul (x, w)" GRADIENT("y"), NULL,
      &s));
  ox_value *x = ramp_value(env, 1e30f, 1e28f, 2, dims), *w = ramp_value(env, 1e20f, 1e18f, 2, dims);
  assert_true(isinf(sum_y(s, x, w, d)));
  assert_memory_equal(d, ox_value_data(w), sizeof d);
  ox_session_release(s);
  CHECK_OK(text_session(env,
                        HEAD "g (float[2,3] x, float[2,3] w) => (float[2,3] y, float[2,3] d) { y = Mul (w, w) "
                             "d = ai.onnx.preview.training.Gradient <xs = [\"x\"], zs = [\"w\"], y = \"y\"> (y, w) }",
                        NULL, &s));
  assert_true(isinf(sum_y(s, x, w, d)));
  for (int i = 0; i < 6; i++) assert_true(d[i] == 0);
  ox_value_release(x), ox_value_release(w);
  ox_session_release(s);
  ox_env_release(env);
}

/* Gradient nodes that make no sense: attributes of the wrong kind, more outputs than xs, inputs omitted. */
static void test_malformed_nodes(void **state) {
  static const struct {
    const char *node, *error;
  } rows[] = {
      {"d = ai.onnx.preview.training.Gradient <xs = [1], y = \"y\"> (x)", "'xs' or 'y' is missing"},
      {"d = ai.onnx.preview.training.Gradient <xs = \"x\", y = \"y\"> (x)", "'xs' or 'y' is missing"},
      {"d = ai.onnx.preview.training.Gradient <xs = [\"x\"], y = 1> (x)", "'xs' or 'y' is missing"},
      {"d = ai.onnx.preview.training.Gradient <xs = [\"x\"], y = \"y\"> ()", "no input for 'x'"},
      {"d = ai.onnx.preview.training.Gradient <xs = [\"x\"], y = \"y\"> (, x)", "no input for 'x'"},
      {"d, e = ai.onnx.preview.training.Gradient <xs = [\"x\"], y = \"y\"> (x)", "2 outputs for 1 names"},
      {"d, e = ai.onnx.preview.training.Gradient <xs = [\"x\"], zs = [\"w\"], y = \"y\"> (x, w)",
       "2 outputs for 1 names"},
  };
  (void)state;
  ox_env *env;
  CHECK_OK(ox_env_create(NULL, &env));
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    char text[512];
    ox_session *s;
    snprintf(text, sizeof text,
             HEAD "g (float[2,3] x, float[2,3] w) => (float[2,3] y, float[2,3] d) { y = Exp (x) %s }", rows[i].node);
    CHECK_FAILS(text_session(env, text, NULL, &s), OX_INVALID_MODEL, rows[i].error);
  }
  ox_env_release(env);
}

static void test_missing_rule_is_named(void **state) {
  (void)state;
  ox_env *env;
  ox_session *s;
  CHECK_OK(ox_env_create(NULL, &env));
  CHECK_FAILS(
      text_session(env,
                   HEAD "g (float[2,3] x, float[2,3] w) => (float[2,3] y, float[2,3] d) { y = Ceil (x)" GRADIENT("y"),
                   NULL, &s),
      OX_NOT_IMPLEMENTED, "Ceil");
  CHECK_FAILS(
      text_session(env,
                   HEAD "g (float[2,3] x, float[2,3] w) => (float[2,3] y, float[2,3] d) { y = Exp (x)" GRADIENT("q"),
                   NULL, &s),
      OX_INVALID_MODEL, "names no value");
  ox_env_release(env);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_matches_central_differences), cmocka_unit_test(test_in_16_bits),
      cmocka_unit_test(test_an_infinite_result_has_a_derivative), cmocka_unit_test(test_malformed_nodes),
      cmocka_unit_test(test_missing_rule_is_named)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

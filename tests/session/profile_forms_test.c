/* SPDX-License-Identifier: Apache-2.0
 * session/profile_forms_test.c - what kernels say in a profile about themselves: operations and form. */
#include <stdio.h>
#include <string.h>

#include "session/session.h"
#include "support/check.h"
#include "support/text_session.h"

/* The last node of each model. Operations: sums of products over its shapes. */
static const struct {
  const char *type, *values, *nodes; /* type: of y */
  double flops;
  const char *form; /* how it begins; NULL: it has none */
} rows[] = {
    {"float", "float[1,2,5,5] x, float[3,2,3,3] w", "y = Conv (x, w)", 2 * 27 * 18, "products"},
    {"float", "float[1,2,5,5] x, float[2,1,3,3] w", "y = Conv <group = 2> (x, w)", 2 * 18 * 9, "depthwise"},
    {"double", "double[1,2,5,5] x, double[3,2,3,3] w", "y = Conv (x, w)", 2 * 27 * 18, "sums in double"},
    {"float", "float[1,2,4,4] x, float[2,3,2,2] w", "y = ConvTranspose <strides = [2, 2]> (x, w)", 2 * 32 * 12,
     "products of all taps, summed by lines"},
    {"float", "float[1,2,4,4] x, float[2,12,3,3] w", "y = ConvTranspose <strides = [2, 2]> (x, w)", 2 * 32 * 108,
     "a convolution for each phase"},
    {"int32", "float[1,2,5,5] x, float[3,2,3,3] w",
     "q = Cast <to = 2> (x) r = Cast <to = 2> (w) y = ConvInteger (q, r)", 2 * 27 * 18, "8-bit product, gathered"},
    {"float", "float[2,3] x, float[3,4] w", "y = MatMul (x, w)", 2 * 24, "in place"},
    {"double", "double[2,3] x, double[3,4] w", "y = MatMul (x, w)", 2 * 24, "plain loops"},
    {"float", "float[2,3] x, float[3,4] w", "y = Einsum <equation = \"ij,jk->ik\"> (x, w)", 2 * 24, "in place"},
    {"float", "float[2,3] x, float[3,2] w", "y = Einsum <equation = \"ij,jk,kl->il\"> (x, w, x)", 2 * (12 + 12),
     "several products"},
    {"float", "float[2,3] x, float[2] w", "y = Einsum <equation = \"ij->ji\"> (x)", 0, "copy"},
    {"float", "float[2,3] x, float[2] w", "y = Relu (x)", 0, NULL},
    /* only the run knows the shape: w holds 0 and -1, of which Abs makes 0 (as it is) and 1 */
    {"float", "float[2,1] x, float[2] w",
     "a = Abs (w) s = Cast <to = 7> (a) r = Reshape (x, s) t = Transpose <perm = [1, 0]> (x) y = MatMul (r, t)", 2 * 4,
     "dots"},
    {"float", "float[5,1,3] x, float[1,12,3] w", "y = LSTM <hidden_size = 3> (x, w, w)", 2 * 5 * 12 * 6,
     "steps of all rows"},
    {"float", "float[5,1,3] x, float[1,9,3] w", "y = GRU <hidden_size = 3> (x, w, w)", 2 * 5 * 9 * 6,
     "steps of all rows"},
    {"float", "float[1,3,4] x, float[4,12] w", "y = com.microsoft.Attention <num_heads = 2> (x, w)",
     2 * 3 * 12 * 4 + 2 * 2 * 9 * 4, "in place"},
};

static ox_value *input(ox_session *s, size_t i) {
  ox_value_info info;
  ox_value *v;
  CHECK_OK(ox_session_input(s, i, &info));
  CHECK_OK(ox_value_create(NULL, info.dtype, info.dims, (size_t)info.rank, &v));
  if (info.dtype == OX_F32 && i == 1) ((float *)ox_value_data(v))[ox_tensor_count(ox_value_get(v)) - 1] = -1;
  return v;
}

static void check(const char *type, const char *values, const char *nodes, double flops, const char *form) {
  char text[512];
  ox_env *env;
  ox_session *s;
  ox_value *in[2], *out = NULL;
  ox_node_time t;
  size_t n = 0;
  snprintf(text, sizeof text,
           "<ir_version: 8, opset_import: [\"\" : 17, \"com.microsoft\" : 1]> g (%s) => (%s y) { %s }", values, type,
           nodes);
  CHECK_OK(ox_env_create(NULL, &env));
  CHECK_OK(text_session(env, text, NULL, &s));
  for (size_t i = 0; i < 2; i++) in[i] = input(s, i);
  ox_session_profile_start(s);
  CHECK_OK(ox_session_run(s, NULL, (const char *const[]){"x", "w"}, (const ox_value *const *)in, 2, NULL, &out, 1));
  ox_session_profile_stop(s);
  while (ox_session_profile_event(s, n, &t)) n++;
  assert_true(n > 0);
  const char *got = ox_session_profile_form(s, n - 1);
  if (t.flops != flops) fail_msg("%s: %g operations, wanted %g", nodes, t.flops, flops);
  if (!form != !got || (form && strncmp(got, form, strlen(form)) != 0))
    fail_msg("%s: form '%s', wanted '%s'", nodes, got ? got : "none", form ? form : "none");
  assert_null(ox_session_profile_form(s, n));
  ox_value_release(in[0]), ox_value_release(in[1]), ox_value_release(out);
  ox_session_release(s);
  ox_env_release(env);
}

static void test_forms_and_operations(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(rows); i++)
    check(rows[i].type, rows[i].values, rows[i].nodes, rows[i].flops, rows[i].form);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_forms_and_operations)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

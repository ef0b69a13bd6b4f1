/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu_options_test.c - what the options of the CPU provider change. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cpu.h"
#include "base/cpu_kind.h"
#include "support/check.h"
#include "support/text_session.h"

static const char model[] =
    "<ir_version: 9, opset_import: [\"\" : 18, \"ai.onyx\" : 1]>\n"
    "g (float[1,2,30,30,16] x) => (float[1,2,30,30,16] y) {\n"
    "  shape = Constant<value_ints=[32, 32, 3, 3]>()\n"
    "  w = ConstantOfShape<value=float[1] {0.25}>(shape)\n"
    "  y = ai.onyx.BlockConv<pads=[1, 1, 1, 1]>(x, w)\n"
    "}\n";

static const char product[] =
    "<ir_version: 9, opset_import: [\"\" : 18]>\n"
    "g (float[1,2,64,16,24] x) => (float[64,1536] y) {\n"
    "  rows = Constant<value_ints=[64, 768]>()\n"
    "  shape = Constant<value_ints=[768, 1536]>()\n"
    "  a = Reshape(x, rows)\n"
    "  w = ConstantOfShape<value=float[1] {0.25}>(shape)\n"
    "  y = MatMul(a, w)\n"
    "}\n";

static const char pointwise[] =
    "<ir_version: 9, opset_import: [\"\" : 18, \"ai.onyx\" : 1]>\n"
    "g (float[1,32,14,14,16] x) => (float[1,32,14,14,16] y) {\n"
    "  shape = Constant<value_ints=[512, 512, 1, 1]>()\n"
    "  w = ConstantOfShape<value=float[1] {0.25}>(shape)\n"
    "  y = ai.onyx.BlockConv(x, w)\n"
    "}\n";

/* How the convolution or product of |text| is computed, of an X of |dims|. */
static void form_with(const char *text, const int64_t *dims, const char *key, const char *value, char *form, size_t n) {
  ox_env *env;
  ox_session *s;
  ox_session_opts o;
  CHECK_OK(ox_env_create(NULL, &env));
  ox_session_opts_init(&o);
  const ox_provider_spec cpu = {"cpu", {key != NULL, &key, &value}};
  o.providers = &cpu, o.n_providers = 1, o.profile = 1;
  CHECK_OK(text_session(env, text, &o, &s));
  ox_value *x = ramp_value(env, -1, 0.125f, 5, dims), *y = NULL;
  const char *name = "x";
  CHECK_OK(ox_session_run(s, NULL, &name, (const ox_value *const *)&x, 1, NULL, &y, 1));
  const char *told = ox_session_profile_form(s, 0);
  snprintf(form, n, "%s", told ? told : "");
  ox_value_release(x), ox_value_release(y), ox_session_release(s), ox_env_release(env);
}

static void test_winograd_can_be_turned_off(void **state) {
  (void)state;
  static const struct {
    const char *key, *value;
    bool winograd;
  } rows[] = {{NULL, NULL, true},        {"winograd", "true", true},   {"winograd", "1", true},
              {"winograd", "0", false},  {"winograd", "false", false}, {"isa", "scalar", true},
              {"precision", "f32", true}};
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    char form[64];
    form_with(model, (const int64_t[]){1, 2, 30, 30, 16}, rows[i].key, rows[i].value, form, sizeof form);
    if ((strstr(form, "winograd") != NULL) != rows[i].winograd) fail_msg("row %zu: %s", i, form);
  }
}

static void test_strassen_can_be_turned_off(void **state) {
  (void)state;
  static const struct {
    const char *key, *value;
    bool strassen;
  } rows[] = {{NULL, NULL, true},       {"strassen", "true", true},   {"strassen", "1", true},
              {"strassen", "0", false}, {"strassen", "false", false}, {"winograd", "0", true},
              {"isa", "scalar", false}};
  if (!(ox_isa_allowed() & (OX_AVX2 | OX_NEON))) skip();
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    char form[64];
    form_with(product, (const int64_t[]){1, 2, 64, 16, 24}, rows[i].key, rows[i].value, form, sizeof form);
    bool unit = strstr(form, "amx") != NULL; /* faster yet */
    if (!unit && (strstr(form, "strassen") != NULL) != rows[i].strassen) fail_msg("row %zu: %s", i, form);
  }
}

/* Both options ask for plain sums of convolutions. */
static void test_strassen_convolutions_can_be_turned_off(void **state) {
  (void)state;
  static const char *const keys[] = {NULL, "strassen", "winograd"};
  if (!(ox_isa_allowed() & OX_AVX512) || !(ox_cpu_kind() & OX_AVX512_HALVES)) skip(); /* nowhere else are they faster */
  for (size_t i = 0; i < OX_COUNT(keys); i++) {
    char form[64];
    form_with(pointwise, (const int64_t[]){1, 32, 14, 14, 16}, keys[i], "0", form, sizeof form);
    if ((strstr(form, "strassen") != NULL) != (keys[i] == NULL)) fail_msg("row %zu: %s", i, form);
  }
}

static void product_with(const char *precision, float *to, size_t n) {
  static const char text[] =
      "<ir_version: 9, opset_import: [\"\" : 18]>\n"
      "g (float[128,96] x, float[96,64] w) => (float[128,64] y) { y = MatMul(x, w) }\n";
  ox_env *env;
  ox_session *s;
  ox_session_opts o;
  const char *key = "precision";
  CHECK_OK(ox_env_create(NULL, &env));
  ox_session_opts_init(&o);
  const ox_provider_spec cpu = {"cpu", {1, &key, &precision}};
  o.providers = &cpu, o.n_providers = 1;
  CHECK_OK(text_session(env, text, &o, &s));
  ox_value *in[2] = {ramp_value(env, -1, 0.001f, 2, (const int64_t[]){128, 96}),
                     ramp_value(env, 1, -0.0007f, 2, (const int64_t[]){96, 64})},
           *y = NULL;
  const char *names[] = {"x", "w"};
  CHECK_OK(ox_session_run(s, NULL, names, (const ox_value *const *)in, 2, NULL, &y, 1));
  memcpy(to, ox_value_data(y), n * sizeof *to);
  ox_value_release(in[0]), ox_value_release(in[1]), ox_value_release(y), ox_session_release(s), ox_env_release(env);
}

/* Coarser products are for machines where they are faster; others give the same bits. */
static void test_precision(void **state) {
  (void)state;
  enum { N = 128 * 64 };
  static float exact[N], coarse[N];
  static const double bounds[] = {0, 0x1p-14, 0x1p-7};
  static const char *const names[] = {"f32", "tf32", "bf16"};
  product_with("f32", exact, N);
  for (size_t i = 0; i < OX_COUNT(names); i++) {
    double most = 0;
    product_with(names[i], coarse, N);
    for (size_t j = 0; j < N; j++)
      most = fmax(most, fabs((double)coarse[j] - (double)exact[j]) / (1 + fabs((double)exact[j])));
    bool coarser = ox_isa_host() & OX_AMX_BF16;
    if (!(most <= (coarser ? 64 * bounds[i] : 0))) fail_msg("%s: %g", names[i], most);
  }
}

static void test_unknown_precision(void **state) {
  (void)state;
  ox_env *env;
  ox_session *s = NULL;
  ox_session_opts o;
  const char *key = "precision", *value = "f64";
  CHECK_OK(ox_env_create(NULL, &env));
  ox_session_opts_init(&o);
  const ox_provider_spec cpu = {"cpu", {1, &key, &value}};
  o.providers = &cpu, o.n_providers = 1;
  CHECK_FAILS_WITH(text_session(env, model, &o, &s), "f32");
  ox_env_release(env);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_winograd_can_be_turned_off),
                                     cmocka_unit_test(test_strassen_can_be_turned_off),
                                     cmocka_unit_test(test_strassen_convolutions_can_be_turned_off),
                                     cmocka_unit_test(test_precision), cmocka_unit_test(test_unknown_precision)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

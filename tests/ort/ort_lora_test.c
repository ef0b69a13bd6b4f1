/* SPDX-License-Identifier: Apache-2.0
 * Adapters: read from files and bytes, active in runs, broken in every way. */
#include "ort/models.h"

/* An adapter of version 1 with one parameter: w = {30, 50}, floats. */
static const unsigned char adapter[] = {
    0x0c, 0x00, 0x00, 0x00, 'T',  'O',  'R',  'T',  0x00, 0x00, 0x00, 0x00, 0xe4, 0xff, 0xff, 0xff, 0x01, 0x00,
    0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00,
    0x10, 0x00, 0x00, 0x00, 0x0c, 0x00, 0x14, 0x00, 0x04, 0x00, 0x08, 0x00, 0x0c, 0x00, 0x10, 0x00, 0x0c, 0x00,
    0x00, 0x00, 0x28, 0x00, 0x00, 0x00, 0x18, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00,
    0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0xf0, 0x41, 0x00, 0x00, 0x48, 0x42, 0x01, 0x00, 0x00, 0x00, 0x02, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x77, 0x00, 0x00, 0x00};

static void check_run(OrtSession *s, const OrtRunOptions *options, size_t n_in, const float *want) {
  static const char *const names[] = {"x", "w"}, *const y[] = {"y"};
  float x[] = {1, 1}, w[] = {3, 4};
  OrtValue *in[] = {FLOATS(x, 1, 2), FLOATS(w, 2)}, *out = NULL;
  OK(ort()->Run(s, options, names, (const OrtValue *const *)in, n_in, y, 1, &out));
  check_floats(out, want, 2);
  ort()->ReleaseValue(out);
  ort()->ReleaseValue(in[0]);
  ort()->ReleaseValue(in[1]);
}

static void test_an_active_adapter_gives_values_for_defaults(void **state) {
  (void)state;
  OrtEnv *env = test_env();
  message m = scale_model();
  OrtSession *s = open_model(env, &m, NULL);
  OrtLoraAdapter *a;
  OrtRunOptions *o;
  unsigned char copy[sizeof adapter];
  memcpy(copy, adapter, sizeof copy);
  OK(ort()->CreateLoraAdapterFromArray(copy, sizeof copy, NULL, &a));
  memset(copy, 0, sizeof copy); /* the adapter has its own */
  OK(ort()->CreateRunOptions(&o));
  check_run(s, o, 1, (const float[]){1, 2});
  OK(ort()->RunOptionsAddActiveLoraAdapter(o, a));
  check_run(s, o, 1, (const float[]){30, 50});
  check_run(s, o, 2, (const float[]){30, 50}); /* before what the run brings */
  check_run(s, NULL, 1, (const float[]){1, 2});
  OK(ort()->RunOptionsAddActiveLoraAdapter(o, a)); /* twice is once */
  check_run(s, o, 1, (const float[]){30, 50});
  ort()->ReleaseRunOptions(o);
  ort()->ReleaseLoraAdapter(a);
  ort()->ReleaseLoraAdapter(NULL);
  ort()->ReleaseSession(s);
  ort()->ReleaseEnv(env);
}

static void test_a_model_without_that_input_refuses(void **state) {
  (void)state;
  OrtEnv *env = test_env();
  message m = add_model();
  OrtSession *s = open_model(env, &m, NULL);
  OrtLoraAdapter *a;
  OrtRunOptions *o;
  float data[4] = {0};
  OrtValue *in[] = {FLOATS(data, 4), FLOATS(data, 4)}, *out = NULL;
  static const char *const xy[] = {"x", "y"}, *const z[] = {"z"};
  OK(ort()->CreateLoraAdapterFromArray(adapter, sizeof adapter, NULL, &a));
  OK(ort()->CreateRunOptions(&o));
  OK(ort()->RunOptionsAddActiveLoraAdapter(o, a));
  FAILS(ort()->Run(s, o, xy, (const OrtValue *const *)in, 2, z, 1, &out), ORT_INVALID_ARGUMENT,
        "Invalid input name: w");
  ort()->ReleaseValue(in[0]);
  ort()->ReleaseValue(in[1]);
  ort()->ReleaseRunOptions(o);
  ort()->ReleaseLoraAdapter(a);
  ort()->ReleaseSession(s);
  ort()->ReleaseEnv(env);
}

static void test_broken_adapters_are_refused(void **state) {
  (void)state;
  OrtLoraAdapter *a;
  unsigned char copy[sizeof adapter];
  FAILS(ort()->CreateLoraAdapter("/nonexistent.adapter", NULL, &a), ORT_INVALID_ARGUMENT, "/nonexistent.adapter");
  for (size_t n = 0; n <= 12; n++) FAILS(ort()->CreateLoraAdapterFromArray(adapter, n, NULL, &a), ORT_FAIL, "");
  memcpy(copy, adapter, sizeof copy);
  copy[4] = 'X';
  FAILS(ort()->CreateLoraAdapterFromArray(copy, sizeof copy, NULL, &a), ORT_FAIL, "TORT");
  if (!ort_is_onyx()) return; /* Microsoft's looks at less */
  FAILS(ort()->CreateLoraAdapterFromArray(NULL, 1, NULL, &a), ORT_INVALID_ARGUMENT, "'bytes' is NULL");
  FAILS(ort()->CreateLoraAdapterFromArray(adapter, sizeof adapter, NULL, NULL), ORT_INVALID_ARGUMENT, "'out' is NULL");
  for (size_t n = 13; n < sizeof adapter - 3; n++) { /* the last three bytes are padding */
    unsigned char *cut = malloc(n);                  /* so that a reader who goes beyond is seen */
    memcpy(cut, adapter, n);
    OrtStatus *st = ort()->CreateLoraAdapterFromArray(cut, n, NULL, &a);
    if (st == NULL) fail_msg("the first %zu bytes are no adapter", n);
    ort()->ReleaseStatus(st);
    free(cut);
  }
  for (size_t i = 0; i < sizeof copy; i++) /* whatever it says, nothing is read outside */
    for (int v = 0; v < 256; v += i < 8 ? 51 : 1) {
      memcpy(copy, adapter, sizeof copy);
      copy[i] = (unsigned char)v;
      OrtStatus *st = ort()->CreateLoraAdapterFromArray(copy, sizeof copy, NULL, &a);
      if (st == NULL) ort()->ReleaseLoraAdapter(a);
      ort()->ReleaseStatus(st);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_an_active_adapter_gives_values_for_defaults),
      cmocka_unit_test(test_a_model_without_that_input_refuses),
      cmocka_unit_test(test_broken_adapters_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

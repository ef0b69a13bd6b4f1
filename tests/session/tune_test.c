/* SPDX-License-Identifier: Apache-2.0
 * session/tune_test.c - operators take the way that a file of measurements names, if it serves; results agree with
 * those without a file, and do not depend on threads. */
#define _DEFAULT_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "session/session.h"
#include "support/check.h"
#include "support/temp_folder.h"
#include "support/text_session.h"

static char folder[TEMP_FOLDER_BYTES], path[TEMP_FOLDER_BYTES + 8];

/* Each with all ways that serve: the form that a profile shows for it begins with the way. */
static const struct {
  const char *name, *task; /* how the task begins */
  const char *inputs, *nodes;
  const char *ways[4];
} models[] = {
    {"wide product",
     "product float32 m 150 n 130 k 70 ",
     "float[150,70] x, float[70,130] w",
     "y = MatMul (x, w)",
     {"in place", "packed in the run"}},
    {"transposed product",
     "product float32 m 10 n 40 k 70 ",
     "float[10,70] x, float[40,70] w",
     "t = Transpose <perm = [1, 0]> (w) y = MatMul (x, t)",
     {"dots", "packed in the run"}},
    {"batches",
     "product float32 m 20 n 30 k 40 ",
     "float[3,20,40] x, float[3,40,30] w",
     "y = MatMul (x, w)",
     {"in place", "packed in the run"}},
    {"convolution",
     "bconv batch 1 groups 1 ic 32 oc 32 in 1x12x12 ",
     "float[1,2,12,12,16] x, float[1] w",
     "n = Constant <value_float = 9216.0> () o = Constant <value_float = 1.0> () z = Constant <value_float = 0.0> () "
     "r = Range (z, n, o) f = Sin (r) d = Constant <value_ints = [32, 32, 3, 3]> () k = Reshape (f, d) "
     "y = ai.onyx.BlockConv <pads = [1, 1, 1, 1]> (x, k)",
     {"direct", "winograd2", "winograd4"}},
};

typedef struct opened {
  ox_env *env;
  ox_session *s;
  ox_value *in[2], *out;
} opened;

/* Runs model |i| once. |out_form|: of the last node. */
static void run(opened *o, size_t i, const char *cache, bool tune, uint32_t threads, char out_form[64]) {
  char text[1024];
  ox_session_opts so;
  ox_session_opts_init(&so);
  so.tune_cache = cache, so.tune = tune, so.n_threads = threads, so.profile = 1;
  snprintf(text, sizeof text, "<ir_version: 8, opset_import: [\"\" : 17, \"ai.onyx\" : 1]> g (%s) => (float y) { %s }",
           models[i].inputs, models[i].nodes);
  CHECK_OK(ox_env_create(NULL, &o->env));
  CHECK_OK(text_session(o->env, text, &so, &o->s));
  for (size_t k = 0; k < 2; k++) {
    ox_value_info info;
    CHECK_OK(ox_session_input(o->s, k, &info));
    CHECK_OK(ox_value_create(NULL, OX_F32, info.dims, (size_t)info.rank, &o->in[k]));
    float *x = ox_value_data(o->in[k]);
    for (int64_t j = 0; j < ox_tensor_count(ox_value_get(o->in[k])); j++) x[j] = (float)(j * 37 % 101) / 101 - 0.4f;
  }
  o->out = NULL;
  CHECK_OK(
      ox_session_run(o->s, NULL, (const char *const[]){"x", "w"}, (const ox_value *const *)o->in, 2, NULL, &o->out, 1));
  ox_node_time t;
  size_t n = 0;
  while (ox_session_profile_event(o->s, n, &t)) n++;
  const char *form = ox_session_profile_form(o->s, n - 1);
  snprintf(out_form, 64, "%s", form ? form : "");
}

static void close_all(opened *o) {
  for (size_t k = 0; k < 2; k++) ox_value_release(o->in[k]);
  ox_value_release(o->out);
  ox_session_release(o->s);
  ox_env_release(o->env);
}

static char file[1 << 16];

static void read_file(void) {
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  file[fread(file, 1, sizeof file - 1, f)] = 0;
  fclose(f);
}

/* The file says that |way| is the fastest for the task that it has. */
static void say(const char *way) {
  char *task = strstr(file, "\ntask "), *bar = task ? strchr(task, '|') : NULL;
  assert_non_null(bar);
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  fprintf(f, "%.*s|%s 1|other 2\n", (int)(bar - file), file, way);
  fclose(f);
}

static double difference(const opened *a, const opened *b) {
  const float *x = ox_value_data(a->out), *y = ox_value_data(b->out);
  double most = 0;
  for (int64_t i = 0; i < ox_tensor_count(ox_value_get(a->out)); i++)
    most = fmax(most, fabs((double)x[i] - (double)y[i]) / fmax(1, fabs((double)x[i])));
  return most;
}

static bool same_bits(const opened *a, const opened *b) {
  return memcmp(ox_value_data(a->out), ox_value_data(b->out), ox_value_get(a->out)->bytes) == 0;
}

static void check_way(size_t i, const char *way, const opened *plain) {
  opened one, two;
  char form[64];
  say(way);
  run(&one, i, path, false, 1, form);
  if (strncmp(form, way, strlen(way)) != 0) fail_msg("%s: '%s', wanted '%s'", models[i].name, form, way);
  run(&two, i, path, false, 3, form);
  double d = difference(plain, &one);
  if (!(d < 2e-4)) fail_msg("%s: '%s' differs by %g", models[i].name, way, d);
  if (!same_bits(&one, &two)) fail_msg("%s: '%s' depends on threads", models[i].name, way);
  close_all(&one), close_all(&two);
}

static void test_the_file_decides(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(models); i++) {
    opened plain, tuned, again;
    char form[64], first[64];
    unlink(path);
    run(&plain, i, NULL, false, 2, first);
    run(&tuned, i, path, true, 2, form); /* measures, and writes when it is released */
    close_all(&tuned);
    read_file();
    char want[128];
    snprintf(want, sizeof want, "\ntask %s", models[i].task);
    if (!strstr(file, want)) fail_msg("%s: no '%s' in\n%s", models[i].name, want, file);
    for (size_t k = 0; k < OX_COUNT(models[i].ways) && models[i].ways[k]; k++) check_way(i, models[i].ways[k], &plain);
    say("a way that nobody knows");
    run(&again, i, path, false, 2, form);
    assert_string_equal(form, first);
    assert_true(same_bits(&plain, &again));
    close_all(&plain), close_all(&again);
  }
}

/* What the provider is told directly comes to the same; without a file nothing is kept. */
static void test_options_of_the_provider(void **state) {
  (void)state;
  ox_env *env;
  ox_session *s;
  const char text[] = "<ir_version: 8, opset_import: [\"\" : 17]> g (float[2] x) => (float[2] y) { y = Neg (x) }";
  const struct {
    const char *key, *value, *why;
  } rows[] = {
      {"tune", "first_run", NULL}, {"tune", "never", NULL}, {"tune", "always", "always"}, {"tune_cache", "/", NULL}};
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    ox_session_opts so;
    ox_session_opts_init(&so);
    const ox_provider_spec cpu = {"cpu", {1, &rows[i].key, &rows[i].value}};
    so.providers = &cpu, so.n_providers = 1;
    CHECK_OK(ox_env_create(NULL, &env));
    if (rows[i].why)
      CHECK_FAILS(text_session(env, text, &so, &s), OX_INVALID_ARGUMENT, rows[i].why);
    else
      CHECK_OK(text_session(env, text, &so, &s));
    if (!rows[i].why) ox_session_release(s);
    ox_env_release(env);
  }
}

static int make_folder(void **state) {
  (void)state;
  if (!temp_folder_make(folder)) return -1;
  snprintf(path, sizeof path, "%s/cache", folder);
  return 0;
}

static int remove_folder(void **state) {
  (void)state;
  unlink(path);
  return temp_folder_remove(folder) ? 0 : -1;
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_file_decides),
                                     cmocka_unit_test(test_options_of_the_provider)};
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

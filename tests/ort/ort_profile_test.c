/* SPDX-License-Identifier: Apache-2.0
 * Profiles of sessions and of runs: the files and what tools look for in them. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include <dirent.h>
#include <unistd.h>

#include "ort/models.h"

static char folder[64];

/* The folder's only file, read and removed. */
static char *take_file(char *out_name, size_t room) {
  DIR *dir = opendir(folder);
  char path[512] = "", *text = NULL;
  int n = 0;
  for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
    if (e->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
    n++;
  }
  closedir(dir);
  if (n == 0) return NULL;
  assert_int_equal(n, 1);
  FILE *f = fopen(path, "rb");
  text = calloc(1, 65536);
  assert_true(fread(text, 1, 65535, f) > 0);
  fclose(f);
  remove(path);
  if (out_name != NULL) snprintf(out_name, room, "%s", path);
  return text;
}

static void check_parts(const char *text, const char *const *parts, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (strstr(text, parts[i]) == NULL) fail_msg("'%s' is not in %s", parts[i], text);
}

static const char *const of_run[] = {"\"name\" :\"model_run\"",
                                     "\"name\" :\"SequentialExecutor::Execute\"",
                                     "\"cat\" : \"Session\"",
                                     "\"cat\" : \"Node\"",
                                     "\"name\" :\"scale_kernel_time\"",
                                     "\"name\" :\"clip_kernel_time\"",
                                     "\"op_name\" : \"Mul\"",
                                     "\"provider\" : \"CPUExecutionProvider\"",
                                     "\"input_type_shape\" : [{\"float\":[1,2]},{\"float\":[2]}]",
                                     "\"output_type_shape\" : [{\"float\":[1,2]}]",
                                     "\"output_size\" : \"8\"",
                                     "\"ph\" : \"X\""};
enum { N_OF_RUN = sizeof of_run / sizeof *of_run };

static void run_once(OrtSession *s, const OrtRunOptions *options) {
  float x[] = {1, 1};
  OrtValue *in = FLOATS(x, 1, 2), *out = NULL;
  OK(ort()->Run(s, options, (const char *const[]){"x"}, (const OrtValue *const *)&in, 1, (const char *const[]){"z"}, 1,
                &out));
  ort()->ReleaseValue(in);
  ort()->ReleaseValue(out);
}

static void prefix_of(char *out, size_t n) { snprintf(out, n, "%s/p", folder); }

static void test_a_session_writes_its_profile_when_it_ends(void **state) {
  (void)state;
  static const char *const of_session[] = {"\"name\" :\"model_loading_array\"", "\"name\" :\"session_initialization\""};
  char prefix[128], name[512], *told;
  uint64_t start = 0;
  OrtEnv *env = test_env();
  OrtSessionOptions *o;
  message m = scale_model();
  prefix_of(prefix, sizeof prefix);
  OK(ort()->CreateSessionOptions(&o));
  OK(ort()->EnableProfiling(o, prefix));
  OrtSession *s = open_model(env, &m, o);
  run_once(s, NULL);
  OK(ort()->SessionGetProfilingStartTimeNs(s, &start));
  assert_true(start > 1600000000000000000u);
  OK(ort()->SessionEndProfiling(s, default_allocator(), &told));
  char *text = take_file(name, sizeof name);
  assert_non_null(text);
  check_text(told, name);
  check_parts(text, of_run, N_OF_RUN);
  check_parts(text, of_session, 2);
  assert_true(text[0] == '[' && strstr(text, "}\n]") != NULL);
  free(text);
  OK(ort()->SessionEndProfiling(s, default_allocator(), &told)); /* it has ended */
  check_text(told, "");
  run_once(s, NULL);
  ort()->ReleaseSession(s);
  assert_null(take_file(NULL, 0));
  OK(ort()->DisableProfiling(o));
  s = open_model(env, &m, o);
  OK(ort()->SessionEndProfiling(s, default_allocator(), &told));
  check_text(told, "");
  ort()->ReleaseSession(s);
  ort()->ReleaseSessionOptions(o);
  ort()->ReleaseEnv(env);
}

static void test_a_released_session_writes_its_profile(void **state) {
  (void)state;
  char prefix[128];
  OrtEnv *env = test_env();
  OrtSessionOptions *o;
  message m = scale_model();
  prefix_of(prefix, sizeof prefix);
  OK(ort()->CreateSessionOptions(&o));
  OK(ort()->AddSessionConfigEntry(o, "session.enable_profiling", prefix));
  OrtSession *s = open_model(env, &m, o);
  run_once(s, NULL);
  ort()->ReleaseSession(s);
  char *text = take_file(NULL, 0);
  assert_non_null(text);
  check_parts(text, of_run, N_OF_RUN);
  free(text);
  ort()->ReleaseSessionOptions(o);
  ort()->ReleaseEnv(env);
}

static void test_a_single_run_has_a_profile_of_its_own(void **state) {
  (void)state;
  char prefix[128];
  OrtEnv *env = test_env();
  OrtRunOptions *o;
  message m = scale_model();
  OrtSession *s = open_model(env, &m, NULL);
  prefix_of(prefix, sizeof prefix);
  OK(ort()->CreateRunOptions(&o));
  OK(ort()->RunOptionsEnableProfiling(o, prefix));
  run_once(s, NULL);
  assert_null(take_file(NULL, 0));
  for (int i = 0; i < 2; i++) {
    run_once(s, o);
    char *text = take_file(NULL, 0);
    assert_non_null(text);
    check_parts(text, of_run, N_OF_RUN);
    free(text);
  }
  OK(ort()->RunOptionsDisableProfiling(o));
  run_once(s, o);
  assert_null(take_file(NULL, 0));
  ort()->ReleaseRunOptions(o);
  ort()->ReleaseSession(s);
  ort()->ReleaseEnv(env);
}

int main(void) {
  const char *tmp = getenv("TMPDIR");
  snprintf(folder, sizeof folder, "%s/onyx-profile-XXXXXX", tmp != NULL && strlen(tmp) < 32 ? tmp : "/tmp");
  if (mkdtemp(folder) == NULL) return 1;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_session_writes_its_profile_when_it_ends),
      cmocka_unit_test(test_a_released_session_writes_its_profile),
      cmocka_unit_test(test_a_single_run_has_a_profile_of_its_own),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  rmdir(folder);
  return failed;
}

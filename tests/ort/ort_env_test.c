/* SPDX-License-Identifier: Apache-2.0
 * Environments: one per process, whose log goes where the first one said; global pools; threads of the client's. */
#include <pthread.h>

#include "ort/models.h"

/* ---- one per process ---- */

static void test_a_second_environment_is_the_first(void **state) {
  (void)state;
  OrtEnv *a, *b;
  OK(ort()->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "first", &a));
  OK(ort()->CreateEnv(ORT_LOGGING_LEVEL_VERBOSE, "second", &b));
  assert_ptr_equal(a, b);
  ort()->ReleaseEnv(b);
  OK(ort()->EnableTelemetryEvents(a));
  OK(ort()->DisableTelemetryEvents(a));
  OK(ort()->SetLanguageProjection(a, ORT_PROJECTION_CPLUSPLUS));
  ort()->ReleaseEnv(a);
  ort()->ReleaseEnv(NULL);
}

static void test_a_session_outlives_its_environments_handle(void **state) {
  (void)state;
  OrtEnv *env = test_env();
  message m = add_model();
  OrtSession *s = open_model(env, &m, NULL);
  ort()->ReleaseEnv(env);
  size_t n;
  OK(ort()->SessionGetInputCount(s, &n));
  assert_int_equal(n, 2);
  ort()->ReleaseSession(s);
}

static void test_options_make_an_environment(void **state) {
  (void)state;
  OrtEnv *env;
  OrtEnvCreationOptions o = {.version = ORT_API_VERSION, .logging_severity_level = ORT_LOGGING_LEVEL_ERROR};
  FAILS(ort()->CreateEnvWithOptions(&o, &env), ORT_INVALID_ARGUMENT, "log_id");
  o.log_id = "test";
  OK(ort()->CreateEnvWithOptions(&o, &env));
  ort()->ReleaseEnv(env);
  o.version = 0;
  FAILS(ort()->CreateEnvWithOptions(&o, &env), ORT_INVALID_ARGUMENT, "version");
}

static void test_null_arguments_are_named(void **state) {
  (void)state;
  if (!ort_is_onyx()) skip(); /* Microsoft's library dereferences them */
  OrtEnv *env;
  OrtThreadingOptions *t;
  OK(ort()->CreateThreadingOptions(&t));
  FAILS(ort()->CreateEnv(ORT_LOGGING_LEVEL_ERROR, NULL, &env), ORT_INVALID_ARGUMENT, "'logid' is NULL");
  FAILS(ort()->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "x", NULL), ORT_INVALID_ARGUMENT, "'out' is NULL");
  FAILS(ort()->CreateEnv((OrtLoggingLevel)9, "x", &env), ORT_INVALID_ARGUMENT, "level is 9");
  FAILS(ort()->CreateEnvWithCustomLogger(NULL, NULL, ORT_LOGGING_LEVEL_ERROR, "x", &env), ORT_INVALID_ARGUMENT,
        "'logging_function' is NULL");
  FAILS(ort()->CreateEnvWithGlobalThreadPools(ORT_LOGGING_LEVEL_ERROR, "x", NULL, &env), ORT_INVALID_ARGUMENT,
        "'threading_options' is NULL");
  FAILS(ort()->CreateEnvWithOptions(NULL, &env), ORT_INVALID_ARGUMENT, "'options' is NULL");
  FAILS(ort()->EnableTelemetryEvents(NULL), ORT_INVALID_ARGUMENT, "'env' is NULL");
  FAILS(ort()->EnableTelemetryEvents((OrtEnv *)t), ORT_INVALID_ARGUMENT, "another kind");
  ort()->ReleaseThreadingOptions(t);
}

/* ---- logs ---- */

typedef struct lines {
  pthread_mutex_t lock;
  int n;
  OrtLoggingLevel least;
  char id[32];
} lines;

static void on_line(void *param, OrtLoggingLevel level, const char *category, const char *id, const char *where,
                    const char *text) {
  lines *l = param;
  assert_non_null(category);
  assert_non_null(where);
  assert_non_null(text);
  pthread_mutex_lock(&l->lock);
  if (l->n++ == 0 || level < l->least) l->least = level;
  snprintf(l->id, sizeof l->id, "%s", id);
  pthread_mutex_unlock(&l->lock);
}

static void load_with(OrtEnv *env, OrtLoggingFunction function, void *param, int level) {
  OrtSessionOptions *o;
  message m = add_model();
  OK(ort()->CreateSessionOptions(&o));
  OK(ort()->SetSessionLogId(o, "mine"));
  OK(ort()->SetSessionLogSeverityLevel(o, level));
  if (function != NULL) OK(ort()->SetUserLoggingFunction(o, function, param));
  ort()->ReleaseSession(open_model(env, &m, o));
  ort()->ReleaseSessionOptions(o);
}

static void test_lines_go_to_the_environments_function_or_the_sessions(void **state) {
  (void)state;
  lines of_env = {PTHREAD_MUTEX_INITIALIZER, 0, ORT_LOGGING_LEVEL_FATAL, ""}, of_session = of_env;
  OrtEnv *env;
  OK(ort()->CreateEnvWithCustomLogger(on_line, &of_env, ORT_LOGGING_LEVEL_VERBOSE, "test", &env));
  load_with(env, NULL, NULL, -1);
  assert_true(of_env.n > 0);
  if (ort_is_onyx()) assert_string_equal(of_env.id, "mine"); /* Microsoft's ends with lines of the environment's */
  int before = of_env.n;
  load_with(env, on_line, &of_session, ORT_LOGGING_LEVEL_VERBOSE);
  assert_true(of_session.n > 0);
  assert_string_equal(of_session.id, "mine");
  if (ort_is_onyx()) assert_int_equal(of_env.n, before);
  of_session.n = 0;
  load_with(env, on_line, &of_session, ORT_LOGGING_LEVEL_ERROR);
  assert_int_equal(of_session.n, 0);
  OK(ort()->UpdateEnvWithCustomLogLevel(env, ORT_LOGGING_LEVEL_FATAL));
  before = of_env.n;
  load_with(env, NULL, NULL, -1);
  assert_int_equal(of_env.n, before);
  ort()->ReleaseEnv(env);
}

static void on_text(void *param, OrtLoggingLevel level, const char *category, const char *id, const char *where,
                    const char *text) {
  (void)level, (void)category, (void)id, (void)where;
  if (strstr(text, "no.such.key") != NULL) ++*(int *)param;
}

static void test_unknown_entries_are_logged(void **state) {
  (void)state;
  if (!ort_is_onyx()) skip(); /* Microsoft's library says nothing */
  int n = 0;
  OrtEnv *env = test_env();
  OrtSessionOptions *o;
  message m = add_model();
  OK(ort()->CreateSessionOptions(&o));
  OK(ort()->SetSessionLogSeverityLevel(o, ORT_LOGGING_LEVEL_INFO));
  OK(ort()->SetUserLoggingFunction(o, on_text, &n));
  OK(ort()->AddSessionConfigEntry(o, "session.disable_prepacking", "1"));
  OK(ort()->AddSessionConfigEntry(o, "no.such.key", "1"));
  ort()->ReleaseSession(open_model(env, &m, o));
  assert_int_equal(n, 1);
  ort()->ReleaseSessionOptions(o);
  ort()->ReleaseEnv(env);
}

static void test_fallback_to_the_cpu_can_be_forbidden(void **state) {
  (void)state;
  OrtEnv *env = test_env();
  OrtSessionOptions *o;
  OrtSession *s;
  message m = add_model();
  OK(ort()->CreateSessionOptions(&o));
  OK(ort()->AddSessionConfigEntry(o, "session.disable_cpu_ep_fallback", "1"));
  FAILS(ort()->CreateSessionFromArray(env, m.bytes, m.n, o, &s), ORT_FAIL, "cpu");
  ort()->ReleaseSessionOptions(o);
  ort()->ReleaseEnv(env);
}

static void test_a_level_that_is_none_is_refused(void **state) {
  (void)state;
  OrtEnv *env = test_env();
  OrtSessionOptions *o;
  OrtSession *s;
  message m = add_model();
  OK(ort()->CreateSessionOptions(&o));
  OK(ort()->SetSessionLogSeverityLevel(o, 9));
  FAILS(ort()->CreateSessionFromArray(env, m.bytes, m.n, o, &s), ORT_FAIL, "level is 9");
  ort()->ReleaseSessionOptions(o);
  ort()->ReleaseEnv(env);
}

/* ---- threads ---- */

enum { MOST_THREADS = 8 };
static struct {
  pthread_t ids[MOST_THREADS];
  int n_made, n_joined;
  void *param;
} threads;

typedef struct start {
  OrtThreadWorkerFn run;
  void *param;
} start;

static void *run_start(void *arg) {
  start s = *(start *)arg;
  free(arg);
  s.run(s.param);
  return NULL;
}

static OrtCustomThreadHandle make_thread(void *param, OrtThreadWorkerFn run, void *run_param) {
  start *s = malloc(sizeof *s);
  *s = (start){run, run_param};
  threads.param = param;
  if (pthread_create(&threads.ids[threads.n_made], NULL, run_start, s) != 0) return NULL;
  return (OrtCustomThreadHandle)&threads.ids[threads.n_made++];
}

static void join_thread(OrtCustomThreadHandle handle) {
  pthread_join(*(const pthread_t *)handle, NULL);
  threads.n_joined++;
}

static void test_a_session_runs_on_threads_of_the_client(void **state) {
  (void)state;
  int param;
  OrtEnv *env = test_env();
  OrtSessionOptions *o;
  OrtSession *s;
  message m = add_model();
  memset(&threads, 0, sizeof threads);
  OK(ort()->CreateSessionOptions(&o));
  OK(ort()->SetIntraOpNumThreads(o, 3));
  OK(ort()->SessionOptionsSetCustomCreateThreadFn(o, make_thread));
  OK(ort()->SessionOptionsSetCustomThreadCreationOptions(o, &param));
  FAILS(ort()->CreateSessionFromArray(env, m.bytes, m.n, o, &s), ORT_FAIL, "join");
  OK(ort()->SessionOptionsSetCustomJoinThreadFn(o, join_thread));
  s = open_model(env, &m, o);
  assert_int_equal(threads.n_made, 2);
  assert_ptr_equal(threads.param, &param);
  ort()->ReleaseSession(s);
  assert_int_equal(threads.n_joined, 2);
  ort()->ReleaseSessionOptions(o);
  ort()->ReleaseEnv(env);
}

static void test_affinities_are_checked(void **state) {
  (void)state;
  OrtEnv *env = test_env();
  message m = add_model();
  static const struct {
    const char *text;
    bool good;
  } rows[] = {{"1;1", true}, {"1,2;1-2", true}, {"1", false}, {"rubbish", false}, {"0;1", false}, {"1;2;3", false}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    OrtSessionOptions *o;
    OrtSession *s;
    OK(ort()->CreateSessionOptions(&o));
    OK(ort()->SetIntraOpNumThreads(o, 3));
    OK(ort()->AddSessionConfigEntry(o, "session.intra_op_thread_affinities", rows[i].text));
    OrtStatus *st = ort()->CreateSessionFromArray(env, m.bytes, m.n, o, &s);
    if (rows[i].good) {
      OK(st);
      ort()->ReleaseSession(s);
    } else {
      FAILS(st, ORT_FAIL, "affinity");
    }
    ort()->ReleaseSessionOptions(o);
  }
  ort()->ReleaseEnv(env);
}

static void test_sessions_can_share_the_environments_pool(void **state) {
  (void)state;
  OrtEnv *env;
  OrtThreadingOptions *t;
  OrtSessionOptions *o;
  message m = add_model();
  memset(&threads, 0, sizeof threads);
  OK(ort()->CreateThreadingOptions(&t));
  OK(ort()->SetGlobalIntraOpNumThreads(t, 3));
  OK(ort()->SetGlobalInterOpNumThreads(t, 1));
  OK(ort()->SetGlobalSpinControl(t, 0));
  OK(ort()->SetGlobalDenormalAsZero(t));
  OK(ort()->SetGlobalIntraOpThreadAffinity(t, "1;1"));
  OK(ort()->SetGlobalCustomCreateThreadFn(t, make_thread));
  OK(ort()->SetGlobalCustomThreadCreationOptions(t, &m));
  OK(ort()->SetGlobalCustomJoinThreadFn(t, join_thread));
  FAILS(ort()->SetGlobalSpinControl(t, 5), ORT_INVALID_ARGUMENT, "is 5");
  FAILS(ort()->SetGlobalIntraOpThreadAffinity(t, ""), ORT_INVALID_ARGUMENT, "0 bytes");
  OK(ort()->CreateEnvWithGlobalThreadPools(ORT_LOGGING_LEVEL_ERROR, "test", t, &env));
  ort()->ReleaseThreadingOptions(t);
  ort()->ReleaseThreadingOptions(NULL);
  assert_int_equal(threads.n_made, 2);
  OK(ort()->CreateSessionOptions(&o));
  OK(ort()->DisablePerSessionThreads(o));
  ort()->ReleaseSession(open_model(env, &m, o));
  assert_int_equal(threads.n_made, 2);
  ort()->ReleaseEnv(env);
  assert_int_equal(threads.n_joined, 2);
  OrtSession *s;
  env = test_env(); /* without pools */
  FAILS(ort()->CreateSessionFromArray(env, m.bytes, m.n, o, &s), ORT_FAIL, "without");
  ort()->ReleaseSessionOptions(o);
  ort()->ReleaseEnv(env);
}

static void test_callbacks_around_work_are_refused(void **state) {
  (void)state;
  OrtEnv *env = test_env();
  OrtThreadPoolCallbacksConfig c = {0};
  FAILS(ort()->SetPerSessionThreadPoolCallbacks(env, &c), ORT_INVALID_ARGUMENT, "version");
  c.version = ORT_API_VERSION;
  if (ort_is_onyx()) FAILS(ort()->SetPerSessionThreadPoolCallbacks(env, &c), ORT_NOT_IMPLEMENTED, "queue");
  ort()->ReleaseEnv(env);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_second_environment_is_the_first),
      cmocka_unit_test(test_a_session_outlives_its_environments_handle),
      cmocka_unit_test(test_options_make_an_environment),
      cmocka_unit_test(test_null_arguments_are_named),
      cmocka_unit_test(test_lines_go_to_the_environments_function_or_the_sessions),
      cmocka_unit_test(test_unknown_entries_are_logged),
      cmocka_unit_test(test_fallback_to_the_cpu_can_be_forbidden),
      cmocka_unit_test(test_a_level_that_is_none_is_refused),
      cmocka_unit_test(test_a_session_runs_on_threads_of_the_client),
      cmocka_unit_test(test_affinities_are_checked),
      cmocka_unit_test(test_sessions_can_share_the_environments_pool),
      cmocka_unit_test(test_callbacks_around_work_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

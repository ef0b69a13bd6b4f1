/* SPDX-License-Identifier: Apache-2.0
 * A program that closes the library right after its last run: workers of the pool may still be on their way to sleep.
 */
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ort/models.h"

/* Loads the library, runs a model on two threads, lets go of everything, closes the library. */
static void use_once(const char *path, const message *m) {
  void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  assert_non_null(lib);
  const OrtApiBase *(*get)(void) = (const OrtApiBase *(*)(void))(uintptr_t)dlsym(lib, "OrtGetApiBase");
  const OrtApi *api = get()->GetApi(1);
  OrtEnv *env;
  OrtSessionOptions *options;
  OrtSession *s;
  OrtMemoryInfo *cpu;
  OrtValue *in[2], *out = NULL;
  float data[4] = {1, 2, 3, 4};
  assert_null(api->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "unload", &env));
  assert_null(api->CreateSessionOptions(&options));
  assert_null(api->SetIntraOpNumThreads(options, 2));
  assert_null(api->CreateSessionFromArray(env, m->bytes, m->n, options, &s));
  assert_null(api->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &cpu));
  for (int i = 0; i < 2; i++)
    assert_null(api->CreateTensorWithDataAsOrtValue(cpu, data, sizeof data, (const int64_t[]){4}, 1, FLOAT, &in[i]));
  assert_null(api->Run(s, NULL, (const char *const[]){"x", "y"}, (const OrtValue *const *)in, 2,
                       (const char *const[]){"z"}, 1, &out));
  api->ReleaseValue(out);
  for (int i = 0; i < 2; i++) api->ReleaseValue(in[i]);
  api->ReleaseMemoryInfo(cpu);
  api->ReleaseSession(s);
  api->ReleaseSessionOptions(options);
  api->ReleaseEnv(env);
  assert_int_equal(dlclose(lib), 0);
}

static void test_the_library_may_be_closed(void **state) {
  (void)state;
  const char *path = getenv("ORT_LIB") != NULL ? getenv("ORT_LIB") : "build/lib/libonnxruntime.so.1";
  message m = add_model();
  for (int i = 0; i < 40; i++) {
    pid_t child = fork();
    if (child == 0) {
      use_once(path, &m);
      poll(NULL, 0, 3); /* workers go on */
      _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (status != 0) fail_msg("time %d: status %d", i, status);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_library_may_be_closed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

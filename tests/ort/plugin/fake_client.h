/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/fake_client.h - what tests of the fake library (fake_ep.h) share: it is registered, a session is made, a
 * model runs, nothing is left. */
#ifndef OX_TESTS_FAKE_CLIENT_H
#define OX_TESTS_FAKE_CLIENT_H

#ifndef _XOPEN_SOURCE
#define _XOPEN_SOURCE 700 /* realpath, mkdtemp */
#endif
#include <limits.h>
#include <math.h>
#include <unistd.h>

#include "fake_ep.h"
#include "ort/models.h"

/* Whole: a path without a folder, or a relative one, is looked for beside the library by some. */
static inline const char *fake_path(void) {
  static char whole[PATH_MAX];
  const char *path = getenv("ORT_FAKE_EP");
  return realpath(path != NULL ? path : "build/tests/libort_fake_ep.so", whole);
}

static inline fake_state *fake(void) {
  static fake_state *state;
  if (state != NULL) return state;
  void *lib = dlopen(fake_path(), RTLD_NOW | RTLD_LOCAL);
  if (lib == NULL) fail_msg("%s", dlerror());
  state = ((fake_state * (*)(void))(uintptr_t)dlsym(lib, "fake_ep_state"))();
  return state;
}

static inline void check_nothing_is_left(void) {
  const fake_state *f = fake();
  const int alive[] = {f->factories, f->eps,     f->kernels, f->programs, f->states,    f->allocators,
                       f->transfers, f->streams, f->events,  f->imported, f->profilers, f->allocations};
  for (size_t i = 0; i < sizeof alive / sizeof *alive; i++)
    if (alive[i] != 0) fail_msg("%d of kind %zu are left", alive[i], i);
}

static inline OrtEnv *begin(void) {
  *fake() = (fake_state){.fail = NULL};
  OrtEnv *env;
  OK(ort()->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "library", &env));
  return env;
}

static inline void end(OrtEnv *env) {
  fake()->fail = NULL;
  OK(ort()->UnregisterExecutionProviderLibrary(env, "fake"));
  ort()->ReleaseEnv(env);
  check_nothing_is_left();
}

static inline const OrtEpDevice *device_of(OrtEnv *env, const char *name) {
  const OrtEpDevice *const *devices;
  size_t n;
  OK(ort()->GetEpDevices(env, &devices, &n));
  for (size_t i = 0; i < n; i++)
    if (strcmp(ort()->EpDevice_EpName(devices[i]), name) == 0) return devices[i];
  return NULL;
}

static inline OrtSessionOptions *options_with(OrtEnv *env, const char *name) {
  OrtSessionOptions *o;
  const OrtEpDevice *device = device_of(env, name);
  assert_non_null(device);
  OK(ort()->CreateSessionOptions(&o));
  OK(ort()->AddSessionConfigEntry(o, "session.record_ep_graph_assignment_info", "1"));
  OK(ort()->SessionOptionsAppendExecutionProvider_V2(o, env, &device, 1, NULL, NULL, 0));
  return o;
}

/* float[N,2] x, float[2] w = {2, -3} => float[N,2] y

 * { a = Mul(x, w), b = Relu(a), c = Tan(b), d = Add(c, x), y = Mul(d, w) }; Tan is the CPU's. */
static const float w[] = {2, -3};

static inline message the_model(void) {
  message g = {0}, t = tensor("w", FLOAT, (const int64_t[]){2}, 1, w, sizeof w);
  graph_node(&g, "n_a", "Mul", "x,w", "a");
  graph_node(&g, "n_b", "Relu", "a", "b");
  graph_node(&g, "n_c", "Tan", "b", "c");
  graph_node(&g, "n_d", "Add", "c,x", "d");
  graph_node(&g, "n_y", "Mul", "d,w", "y");
  put_message(&g, 5, &t);
  graph_input(&g, "x", FLOAT, "N,2");
  graph_output(&g, "y", FLOAT, "N,2");
  return model_of(&g, NULL, 0);
}

static inline OrtStatus *run(OrtSession *s, float *x, size_t rows, OrtValue **y) {
  OrtValue *in = FLOATS(x, (int64_t)rows, 2);
  *y = NULL;
  OrtStatus *st = ort()->Run(s, NULL, (const char *[]){"x"}, (const OrtValue *[]){in}, 1, (const char *[]){"y"}, 1, y);
  ort()->ReleaseValue(in);
  return st;
}

static inline void check_run(OrtSession *s, size_t rows) {
  float x[64];
  float *got;
  OrtValue *y;
  for (size_t i = 0; i < 2 * rows; i++) x[i] = (float)i * 0.25f - 1;
  OK(run(s, x, rows, &y));
  OK(ort()->GetTensorMutableData(y, (void **)&got));
  for (size_t i = 0; i < 2 * rows; i++) {
    float a = x[i] * w[i % 2], want = (tanf(a > 0 ? a : 0) + x[i]) * w[i % 2];
    if (fabsf(got[i] - want) > 1e-5f * (1 + fabsf(want)))
      fail_msg("element %zu is %g, wanted %g", i, (double)got[i], (double)want);
  }
  ort()->ReleaseValue(y);
}

#endif

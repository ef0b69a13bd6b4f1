/* SPDX-License-Identifier: Apache-2.0
 * ort/models.h - the models of the tests of sessions, and short ways to make and run them. */
#ifndef OX_TESTS_ORT_MODELS_H
#define OX_TESTS_ORT_MODELS_H

#include "ort/client.h"
#include "ort/model_writer.h"

#define FLOAT ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT
#define INT64 ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64

/* float[4] x, y => float[4] z { z = Add(x, y) } */
static inline message add_model(void) {
  message g = {0};
  graph_node(&g, "sum", "Add", "x,y", "z");
  graph_input(&g, "x", FLOAT, "4");
  graph_input(&g, "y", FLOAT, "4");
  graph_output(&g, "z", FLOAT, "4");
  return model_of(&g, NULL, 0);
}

/* float[N,2] x, float[2] w = {1, 2} => float[N,2] y, z { y = Mul(x, w), z = Relu(y) }; w may be overridden. */
static inline message scale_model(void) {
  static const float w[] = {1, 2};
  message g = {0}, t = tensor("w", FLOAT, (const int64_t[]){2}, 1, w, sizeof w);
  graph_node(&g, "scale", "Mul", "x,w", "y");
  graph_node(&g, "clip", "Relu", "y", "z");
  put_message(&g, 5, &t);
  graph_input(&g, "x", FLOAT, "N,2");
  graph_input(&g, "w", FLOAT, "2");
  graph_output(&g, "y", FLOAT, "N,2");
  graph_output(&g, "z", FLOAT, "N,2");
  return model_of(&g, NULL, 0);
}

static inline OrtEnv *test_env(void) {
  OrtEnv *env;
  OK(ort()->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "test", &env));
  return env;
}

static inline OrtSession *open_model(OrtEnv *env, const message *m, const OrtSessionOptions *options) {
  OrtSession *s;
  OrtSessionOptions *own = NULL;
  if (options == NULL) OK(ort()->CreateSessionOptions(&own));
  OK(ort()->CreateSessionFromArray(env, m->bytes, m->n, options != NULL ? options : own, &s));
  ort()->ReleaseSessionOptions(own);
  return s;
}

/* A tensor over the caller's floats. */
static inline OrtValue *floats(float *data, const int64_t *dims, size_t rank) {
  OrtMemoryInfo *cpu;
  OrtValue *v;
  size_t n = 1;
  for (size_t i = 0; i < rank; i++) n *= (size_t)dims[i];
  OK(ort()->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &cpu));
  OK(ort()->CreateTensorWithDataAsOrtValue(cpu, data, n * sizeof *data, dims, rank, FLOAT, &v));
  ort()->ReleaseMemoryInfo(cpu);
  return v;
}

#define FLOATS(data, ...) \
  floats(data, (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

static inline void check_floats(OrtValue *v, const float *want, size_t n) {
  float *got;
  OK(ort()->GetTensorMutableData(v, (void **)&got));
  for (size_t i = 0; i < n; i++)
    if (got[i] != want[i]) fail_msg("element %zu is %g, wanted %g", i, (double)got[i], (double)want[i]);
}

static inline OrtAllocator *default_allocator(void) {
  OrtAllocator *a;
  OK(ort()->GetAllocatorWithDefaultOptions(&a));
  return a;
}

/* |text| was made by the library for the client; frees it. */
static inline void check_text(char *text, const char *want) {
  assert_non_null(text);
  assert_string_equal(text, want);
  OK(ort()->AllocatorFree(default_allocator(), text));
}

#endif

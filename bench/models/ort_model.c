/* SPDX-License-Identifier: Apache-2.0
 * bench/models/ort_model.c - a model in a libonnxruntime.so.1. */
#include "ort_model.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* All that is called here is in the table since this version, so that old libraries can be timed, too. */
enum { API_VERSION = 11, MAX_OPTIONS = 32 };

static void check(const OrtApi *api, OrtStatus *st, const char *what) {
  if (st) die("%s: %s", what, api->GetErrorMessage(st));
}

double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

void times_sort(double *times, size_t n) { qsort(times, n, sizeof *times, compare); }

double times_at(const double *times, size_t n, double part) { return times[(size_t)(part * (double)(n - 1) + 0.5)]; }

ort_library ort_library_open(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) die("%s", dlerror());
  const OrtApiBase *(*base)(void);
  *(void **)&base = dlsym(library, "OrtGetApiBase");
  if (!base) die("%s: no OrtGetApiBase", path);
  ort_library found = {base()->GetApi(API_VERSION), base()->GetVersionString()};
  if (!found.api) die("%s: version %s is too old", path, found.version);
  return found;
}

static void append_provider(const OrtApi *api, OrtSessionOptions *options, char *provider) {
  const char *keys[MAX_OPTIONS], *values[MAX_OPTIONS];
  size_t n = 0;
  char *next = strchr(provider, ',');
  if (next) *next++ = 0;
  if (strcmp(provider, "cuda") != 0) die("provider '%s': only cuda is known here", provider);
  while (next) {
    char *key = next, *value = strchr(key, '=');
    next = strchr(key, ',');
    if (next) *next++ = 0;
    if (!value || n == MAX_OPTIONS) die("'%s' is no KEY=VALUE, or one too many", key);
    *value++ = 0;
    keys[n] = key, values[n++] = value;
  }
  OrtCUDAProviderOptionsV2 *cuda;
  check(api, api->CreateCUDAProviderOptions(&cuda), "CUDA's options");
  check(api, api->UpdateCUDAProviderOptions(cuda, keys, values, n), "CUDA's options");
  check(api, api->SessionOptionsAppendExecutionProvider_CUDA_V2(options, cuda), "CUDA");
  api->ReleaseCUDAProviderOptions(cuda);
}

double ort_model_load(ort_model *m, const OrtApi *api, const char *path, int threads, char *provider) {
  double start = now_ms();
  m->api = api;
  check(api, api->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "bench", &m->env), "environment");
  check(api, api->CreateSessionOptions(&m->options), "options");
  check(api, api->SetIntraOpNumThreads(m->options, threads), "threads");
  check(api, api->SetInterOpNumThreads(m->options, 1), "threads");
  check(api, api->SetSessionGraphOptimizationLevel(m->options, ORT_ENABLE_ALL), "level");
  if (provider) append_provider(api, m->options, provider);
  check(api, api->CreateSession(m->env, path, m->options, &m->session), path);
  return now_ms() - start;
}

void ort_model_fill(ort_model *m, const char *data) {
  const OrtApi *api = m->api;
  OrtAllocator *allocator;
  check(api, api->GetAllocatorWithDefaultOptions(&allocator), "allocator");
  check(api, api->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &m->memory), "memory");
  check(api, api->SessionGetInputCount(m->session, &m->n_in), "inputs");
  check(api, api->SessionGetOutputCount(m->session, &m->n_out), "outputs");
  if (m->n_in > MAX_VALUES || m->n_out > MAX_VALUES) die("more than %d inputs or outputs", MAX_VALUES);
  for (size_t i = 0; i < m->n_in; i++) {
    tensor *t = &m->tensors[i];
    check(api, api->SessionGetInputName(m->session, i, allocator, &m->in_names[i]), "an input's name");
    if (!tensor_read(t, data, i)) die("no value for input %zu, '%s', in %s", i, m->in_names[i], data);
    check(api,
          api->CreateTensorWithDataAsOrtValue(m->memory, t->bytes, t->n_bytes, t->dims, t->rank,
                                              (ONNXTensorElementDataType)t->type, &m->in[i]),
          m->in_names[i]);
  }
  for (size_t i = 0; i < m->n_out; i++)
    check(api, api->SessionGetOutputName(m->session, i, allocator, &m->out_names[i]), "an output's name");
}

double ort_model_run(ort_model *m) {
  double start = now_ms();
  check(m->api,
        m->api->Run(m->session, NULL, (const char *const *)m->in_names, (const OrtValue *const *)m->in, m->n_in,
                    (const char *const *)m->out_names, m->n_out, m->out),
        "run");
  return now_ms() - start;
}

void ort_model_drop_outputs(ort_model *m) {
  for (size_t i = 0; i < m->n_out; i++) m->api->ReleaseValue(m->out[i]), m->out[i] = NULL;
}

/* Sequences and maps are not written: only tensors are compared. */
static void write_output(const OrtApi *api, OrtValue *value, const char *folder, size_t index) {
  OrtTensorTypeAndShapeInfo *info;
  ONNXTensorElementDataType type;
  ONNXType kind;
  size_t count;
  void *data;
  tensor t = {0};
  check(api, api->GetValueType(value, &kind), "an output's kind");
  if (kind != ONNX_TYPE_TENSOR) return;
  check(api, api->GetTensorTypeAndShape(value, &info), "an output's type");
  check(api, api->GetTensorElementType(info, &type), "an output's type");
  check(api, api->GetDimensionsCount(info, &t.rank), "an output's shape");
  if (t.rank > MAX_RANK) die("an output with more than %d dimensions", MAX_RANK);
  check(api, api->GetDimensions(info, t.dims, t.rank), "an output's shape");
  check(api, api->GetTensorShapeElementCount(info, &count), "an output's shape");
  check(api, api->GetTensorMutableData(value, &data), "an output's data");
  api->ReleaseTensorTypeAndShapeInfo(info);
  size_t element = tensor_element_bytes((int)type);
  if (!element) die("an output of type %d, which cannot be written", (int)type);
  t.type = (int)type, t.bytes = data, t.n_bytes = count * element;
  tensor_write(&t, folder, index);
}

void ort_model_write_outputs(const ort_model *m, const char *folder) {
  for (size_t i = 0; i < m->n_out; i++) write_output(m->api, m->out[i], folder, i);
}

void ort_model_close(ort_model *m) {
  for (size_t i = 0; i < m->n_in; i++) m->api->ReleaseValue(m->in[i]), free(m->tensors[i].bytes);
  m->api->ReleaseMemoryInfo(m->memory);
  m->api->ReleaseSession(m->session);
  m->api->ReleaseSessionOptions(m->options);
  m->api->ReleaseEnv(m->env);
}

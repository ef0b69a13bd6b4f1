/* SPDX-License-Identifier: Apache-2.0
 * bench/models/ort_run.c - times one model in a libonnxruntime.so.1, Microsoft's or ours: load, first run, then runs
 * for some seconds. Prints what `onyx bench --json` prints, or, given a folder for them, writes the outputs of one run.
 * usage: ort_run LIBRARY                                            prints the library's version
 *        ort_run LIBRARY MODEL DATA THREADS SECONDS [OUT]           DATA holds input_0.pb ... with raw_data
 * A provider may stand first, --provider=cuda[,KEY=VALUE...]: CUDA, asked before the CPU. */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "onyx/ort_abi.h"

/* All that is called here is in the table since this version, so that old libraries can be timed, too. */
enum { API_VERSION = 11, MAX_RANK = 32, MAX_VALUES = 512, MAX_OPTIONS = 32, WARM_RUNS = 2, LEAST_RUNS = 5 };

static const OrtApi *api;

static void die(const char *format, ...) {
  va_list args;
  va_start(args, format);
  vfprintf(stderr, format, args);
  va_end(args);
  fputc('\n', stderr);
  exit(1);
}

static void check(OrtStatus *st, const char *what) {
  if (st) die("%s: %s", what, api->GetErrorMessage(st));
}

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* ---- tensors in files: the four fields of TensorProto that matter here (onnx.proto) ---- */

enum { FIELD_DIMS = 1, FIELD_TYPE = 2, FIELD_RAW = 9, VARINT = 0, BYTES = 2 };

typedef struct {
  unsigned char *file, *raw;
  size_t n_bytes, rank;
  int64_t dims[MAX_RANK];
  int type; /* TensorProto's numbers are ONNXTensorElementDataType's */
} tensor;

static unsigned char *read_file(const char *path, size_t *out_size) {
  FILE *f = fopen(path, "rb");
  if (!f) return NULL;
  fseek(f, 0, SEEK_END);
  long size = ftell(f);
  rewind(f);
  unsigned char *bytes = malloc((size_t)size + 1);
  if (!bytes || fread(bytes, 1, (size_t)size, f) != (size_t)size) die("%s: cannot be read", path);
  fclose(f);
  *out_size = (size_t)size;
  return bytes;
}

static uint64_t varint(unsigned char **at, const unsigned char *end) {
  uint64_t v = 0;
  for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
    unsigned char byte = *(*at)++;
    v |= (uint64_t)(byte & 127) << shift;
    if (byte < 128) return v;
  }
  die("a number in a tensor does not end");
  return 0;
}

static void add_dim(tensor *t, uint64_t dim) {
  if (t->rank == MAX_RANK) die("a tensor with more than %d dimensions", MAX_RANK);
  t->dims[t->rank++] = (int64_t)dim;
}

static void parse(tensor *t, unsigned char *at, const unsigned char *end) {
  while (at < end) {
    uint64_t key = varint(&at, end), value = varint(&at, end);
    if ((key & 7) == VARINT) {
      if (key >> 3 == FIELD_DIMS) add_dim(t, value);
      if (key >> 3 == FIELD_TYPE) t->type = (int)value;
      continue;
    }
    if ((key & 7) != BYTES || value > (uint64_t)(end - at)) die("not a tensor");
    unsigned char *stop = at + value;
    if (key >> 3 == FIELD_RAW) t->raw = at, t->n_bytes = value;
    if (key >> 3 == FIELD_DIMS)
      for (unsigned char *p = at; p < stop;) add_dim(t, varint(&p, stop));
    at = stop;
  }
}

static bool read_tensor(tensor *t, const char *folder, size_t index) {
  char path[4096];
  snprintf(path, sizeof path, "%s/input_%zu.pb", folder, index);
  size_t size;
  memset(t, 0, sizeof *t);
  t->file = read_file(path, &size);
  if (!t->file) return false;
  parse(t, t->file, t->file + size);
  void *aligned = NULL; /* raw_data stands anywhere in the file */
  if (posix_memalign(&aligned, 64, t->n_bytes + 64)) die("no memory for %s", path);
  if (t->n_bytes) memcpy(aligned, t->raw, t->n_bytes);
  free(t->file);
  t->file = t->raw = aligned;
  return true;
}

static size_t type_bytes(ONNXTensorElementDataType type) {
  static const unsigned char bytes[] = {0, 4, 1, 1, 2, 2, 4, 8, 0, 1, 2, 8, 4, 8, 8, 16, 2, 1, 1, 1, 1};
  size_t n = (size_t)type < sizeof bytes ? bytes[type] : 0;
  if (!n) die("an output of type %d, which cannot be written", (int)type);
  return n;
}

static void put_varint(FILE *f, uint64_t v) {
  for (; v > 127; v >>= 7) fputc((int)(v & 127) | 128, f);
  fputc((int)v, f);
}

/* Sequences and maps are not written: only tensors are compared. */
static void write_tensor(OrtValue *value, const char *folder, size_t index) {
  OrtTensorTypeAndShapeInfo *info;
  ONNXTensorElementDataType type;
  ONNXType kind;
  size_t rank, count;
  int64_t dims[MAX_RANK];
  void *data;
  check(api->GetValueType(value, &kind), "an output's kind");
  if (kind != ONNX_TYPE_TENSOR) return;
  check(api->GetTensorTypeAndShape(value, &info), "an output's type");
  check(api->GetTensorElementType(info, &type), "an output's type");
  check(api->GetDimensionsCount(info, &rank), "an output's shape");
  if (rank > MAX_RANK) die("an output with more than %d dimensions", MAX_RANK);
  check(api->GetDimensions(info, dims, rank), "an output's shape");
  check(api->GetTensorShapeElementCount(info, &count), "an output's shape");
  check(api->GetTensorMutableData(value, &data), "an output's data");
  api->ReleaseTensorTypeAndShapeInfo(info);
  char path[4096];
  snprintf(path, sizeof path, "%s/output_%zu.pb", folder, index);
  FILE *f = fopen(path, "wb");
  if (!f) die("%s: cannot be written", path);
  for (size_t i = 0; i < rank; i++) put_varint(f, FIELD_DIMS << 3 | VARINT), put_varint(f, (uint64_t)dims[i]);
  put_varint(f, FIELD_TYPE << 3 | VARINT), put_varint(f, (uint64_t)type);
  size_t n_bytes = count * type_bytes(type);
  put_varint(f, FIELD_RAW << 3 | BYTES), put_varint(f, n_bytes);
  bool whole = fwrite(data, 1, n_bytes, f) == n_bytes;
  if (fclose(f) != 0 || !whole) die("%s: cannot be written", path);
}

/* ---- the model ---- */

typedef struct {
  OrtEnv *env;
  OrtSessionOptions *options;
  OrtSession *session;
  OrtMemoryInfo *memory;
  size_t n_in, n_out;
  tensor tensors[MAX_VALUES];
  OrtValue *in[MAX_VALUES], *out[MAX_VALUES];
  char *in_names[MAX_VALUES], *out_names[MAX_VALUES];
} model;

/* |provider|: cuda[,KEY=VALUE...]; the text is cut at its commas. */
static void append_provider(OrtSessionOptions *options, char *provider) {
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
  check(api->CreateCUDAProviderOptions(&cuda), "CUDA's options");
  check(api->UpdateCUDAProviderOptions(cuda, keys, values, n), "CUDA's options");
  check(api->SessionOptionsAppendExecutionProvider_CUDA_V2(options, cuda), "CUDA");
  api->ReleaseCUDAProviderOptions(cuda);
}

static double load(model *m, const char *path, int threads, char *provider) {
  double start = now_ms();
  check(api->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "bench", &m->env), "environment");
  check(api->CreateSessionOptions(&m->options), "options");
  check(api->SetIntraOpNumThreads(m->options, threads), "threads");
  check(api->SetInterOpNumThreads(m->options, 1), "threads");
  check(api->SetSessionGraphOptimizationLevel(m->options, ORT_ENABLE_ALL), "level");
  if (provider) append_provider(m->options, provider);
  check(api->CreateSession(m->env, path, m->options, &m->session), path);
  return now_ms() - start;
}

static void fill(model *m, const char *data) {
  OrtAllocator *allocator;
  check(api->GetAllocatorWithDefaultOptions(&allocator), "allocator");
  check(api->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &m->memory), "memory");
  check(api->SessionGetInputCount(m->session, &m->n_in), "inputs");
  check(api->SessionGetOutputCount(m->session, &m->n_out), "outputs");
  if (m->n_in > MAX_VALUES || m->n_out > MAX_VALUES) die("more than %d inputs or outputs", MAX_VALUES);
  for (size_t i = 0; i < m->n_in; i++) {
    tensor *t = &m->tensors[i];
    check(api->SessionGetInputName(m->session, i, allocator, &m->in_names[i]), "an input's name");
    if (!read_tensor(t, data, i)) die("no value for input %zu, '%s', in %s", i, m->in_names[i], data);
    check(api->CreateTensorWithDataAsOrtValue(m->memory, t->raw, t->n_bytes, t->dims, t->rank,
                                              (ONNXTensorElementDataType)t->type, &m->in[i]),
          m->in_names[i]);
  }
  for (size_t i = 0; i < m->n_out; i++)
    check(api->SessionGetOutputName(m->session, i, allocator, &m->out_names[i]), "an output's name");
}

static double run(model *m) {
  double start = now_ms();
  check(api->Run(m->session, NULL, (const char *const *)m->in_names, (const OrtValue *const *)m->in, m->n_in,
                 (const char *const *)m->out_names, m->n_out, m->out),
        "run");
  return now_ms() - start;
}

static void drop_outputs(model *m) {
  for (size_t i = 0; i < m->n_out; i++) api->ReleaseValue(m->out[i]), m->out[i] = NULL;
}

static void close_model(model *m) {
  for (size_t i = 0; i < m->n_in; i++) api->ReleaseValue(m->in[i]), free(m->tensors[i].file);
  api->ReleaseMemoryInfo(m->memory);
  api->ReleaseSession(m->session);
  api->ReleaseSessionOptions(m->options);
  api->ReleaseEnv(m->env);
}

/* ---- times ---- */

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double *measure(model *m, double seconds, size_t *out_n) {
  for (int i = 0; i < WARM_RUNS; i++) run(m), drop_outputs(m);
  size_t n = 0, capacity = 0;
  double *times = NULL;
  for (double end = now_ms() + seconds * 1e3; now_ms() < end || n < LEAST_RUNS;) {
    if (n == capacity) {
      capacity = capacity ? capacity * 2 : 1024;
      times = realloc(times, capacity * sizeof *times);
      if (!times) die("no memory for the times");
    }
    double start = now_ms();
    run(m), drop_outputs(m); /* whoever takes outputs has to give them back, so both count, as in onyx bench */
    times[n++] = now_ms() - start;
  }
  qsort(times, n, sizeof *times, compare);
  *out_n = n;
  return times;
}

static double at(const double *times, size_t n, double part) { return times[(size_t)(part * (double)(n - 1) + 0.5)]; }

static void report(const char *version, double load_ms, double first_ms, const double *times, size_t n) {
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
  printf("{\"version\": \"%s\", \"load_ms\": %.4f, \"first_ms\": %.4f, \"median_ms\": %.6f, \"p90_ms\": %.6f, ",
         version, load_ms, first_ms, at(times, n, 0.5), at(times, n, 0.9));
  printf("\"p99_ms\": %.6f, \"min_ms\": %.6f, \"runs\": %zu, \"peak_rss_mb\": %.2f}\n", at(times, n, 0.99), times[0], n,
         (double)u.ru_maxrss / 1024);
}

int main(int argc, char **argv) {
  static char option[] = "--provider=";
  char *provider = argc > 1 && !strncmp(argv[1], option, sizeof option - 1) ? argv[1] + sizeof option - 1 : NULL;
  if (provider) argc--, argv++;
  if (argc != 2 && argc != 6 && argc != 7) die("usage: ort_run [--provider=cuda[,KEY=VALUE...]] LIBRARY [MODEL DATA THREADS SECONDS [OUT]]");
  void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!library) die("%s", dlerror());
  const OrtApiBase *(*base)(void);
  *(void **)&base = dlsym(library, "OrtGetApiBase");
  if (!base) die("%s: no OrtGetApiBase", argv[1]);
  const char *version = base()->GetVersionString();
  api = base()->GetApi(API_VERSION);
  if (!api) die("%s: version %s is too old", argv[1], version);
  if (argc == 2) {
    printf("%s\n", version);
    return 0;
  }
  static model m;
  double load_ms = load(&m, argv[2], atoi(argv[4]), provider);
  fill(&m, argv[3]);
  double first_ms = run(&m);
  if (argc == 7) {
    for (size_t i = 0; i < m.n_out; i++) write_tensor(m.out[i], argv[6], i);
    drop_outputs(&m);
  } else {
    drop_outputs(&m);
    size_t n;
    double *times = measure(&m, atof(argv[5]), &n);
    report(version, load_ms, first_ms, times, n);
    free(times);
  }
  close_model(&m);
  return 0;
}

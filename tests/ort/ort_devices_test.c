/* SPDX-License-Identifier: Apache-2.0
 * Values on the devices of OpenCL and, by a stand-in for a GPU, of CUDA through the ABI: bindings that stay there, the
 * arenas that they come from. What is copied and allocated is counted below the provider, in the API. */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include "ort/models.h"
#ifdef CUDA_STANDIN
#include "plugins/device/use_standin.h"
#endif

typedef struct device {
  const char *name, *memory; /* of the provider; of its memory's info */
  const char *counts, *prefix;
  uint32_t vendor;
  long (*copies)(int way);
  long (*allocations)(void);
} device;

static device devices[] = {
#ifdef OPENCL_COUNTS
    {.name = "OpenCL", .memory = "OpenCL", .counts = OPENCL_COUNTS, .prefix = "opencl"},
#endif
#ifdef CUDA_STANDIN
    {.name = "CUDAExecutionProvider", .memory = "Cuda", .counts = CUDA_STANDIN, .prefix = "standin", .vendor = 0x10de},
#endif
};
enum { N_DEVICES = sizeof devices / sizeof *devices };

typedef struct opened {
  const device *on;
  OrtEnv *env;
  OrtMemoryInfo *info;
  OrtSessionOptions *options;
  OrtSession *s;
  OrtIoBinding *b;
  OrtAllocator *there; /* of the environment */
} opened;

static void open_env(opened *o, const device *on) {
  *o = (opened){.on = on, .env = test_env()};
  OK(ort()->CreateMemoryInfo_V2(on->memory, OrtMemoryInfoDeviceType_GPU, on->vendor, 0, OrtDeviceMemoryType_DEFAULT, 0,
                                OrtDeviceAllocator, &o->info));
  OK(ort()->CreateSessionOptions(&o->options));
}

static void open_session(opened *o, const message *m, const char *key, const char *value) {
  OK(ort()->SessionOptionsAppendExecutionProvider(o->options, o->on->name, &key, &value, key != NULL));
  o->s = open_model(o->env, m, o->options);
  OK(ort()->CreateIoBinding(o->s, &o->b));
  OK(ort()->GetSharedAllocator(o->env, o->info, &o->there));
  assert_non_null(o->there);
}

static void close_all(opened *o) {
  ort()->ReleaseIoBinding(o->b);
  ort()->ReleaseSession(o->s);
  ort()->ReleaseSessionOptions(o->options);
  ort()->ReleaseMemoryInfo(o->info);
  ort()->ReleaseEnv(o->env);
}

static OrtValue *to_device(const opened *o, float *data, const int64_t *dims, size_t rank) {
  OrtValue *v, *here = floats(data, dims, rank);
  OK(ort()->CreateTensorAsOrtValue(o->there, dims, rank, FLOAT, &v));
  OK(ort()->CopyTensors(o->env, (const OrtValue *const *)&here, &v, NULL, 1));
  ort()->ReleaseValue(here);
  return v;
}

/* The elements of |v|, which lies on the device, in |out| of |most|; returns how many. */
static size_t from_device(const opened *o, const OrtValue *v, float *out, size_t most) {
  const OrtMemoryInfo *info;
  const char *name;
  OrtTensorTypeAndShapeInfo *type;
  int64_t dims[4];
  size_t rank, n;
  OK(ort()->GetTensorMemoryInfo(v, &info));
  OK(ort()->MemoryInfoGetName(info, &name));
  assert_string_equal(name, o->on->memory);
  OK(ort()->GetTensorTypeAndShape(v, &type));
  OK(ort()->GetDimensionsCount(type, &rank));
  OK(ort()->GetDimensions(type, dims, rank));
  OK(ort()->GetTensorShapeElementCount(type, &n));
  ort()->ReleaseTensorTypeAndShapeInfo(type);
  assert_true(n <= most);
  OrtValue *here = floats(out, dims, rank);
  OK(ort()->CopyTensors(o->env, &v, &here, NULL, 1));
  ort()->ReleaseValue(here);
  return n;
}

static void check_there(const opened *o, const OrtValue *v, const float *want, size_t n) {
  float got[16];
  assert_int_equal(from_device(o, v, got, 16), n);
  for (size_t i = 0; i < n; i++)
    if (got[i] != want[i])
      fail_msg("%s: element %zu is %g, wanted %g", o->on->name, i, (double)got[i], (double)want[i]);
}

/* The output of the last run, the caller's to release. */
static OrtValue *bound_output(const opened *o) {
  OrtValue **values, *v;
  size_t n;
  OK(ort()->GetBoundOutputValues(o->b, default_allocator(), &values, &n));
  assert_int_equal(n, 1);
  v = values[0];
  OK(ort()->AllocatorFree(default_allocator(), values));
  return v;
}

static void forget_counts(const opened *o) {
  for (int way = 0; way < 3; way++) (void)o->on->copies(way);
  (void)o->on->allocations();
}

static void check_counts(const opened *o, long to, long back, long within, long allocations) {
  const long want[] = {to, back, within};
  for (int way = 0; way < 3; way++) {
    long n = o->on->copies(way);
    if (n != want[way]) fail_msg("%s: %ld copies of kind %d, wanted %ld", o->on->name, n, way, want[way]);
  }
  assert_int_equal(o->on->allocations(), allocations);
}

/* ---- bindings ---- */

/* float[N,2] x => float[N,2] y = Neg(Relu(x)) */
static message chain_model(void) {
  message g = {0};
  graph_node(&g, "r", "Relu", "x", "a");
  graph_node(&g, "n", "Neg", "a", "y");
  graph_input(&g, "x", FLOAT, "N,2");
  graph_output(&g, "y", FLOAT, "N,2");
  return model_of(&g, NULL, 0);
}

/* Made there by each run, given once, and fed to the next run; each batch comes twice. */
static void test_bound_values_stay_there(void **state) {
  float data[3][4] = {{1, -2, 3, -4}, {5, -6}, {7, 8, -9, 10}};
  const int64_t rows[] = {2, 1, 2};
  (void)state;
  if (!ort_is_onyx()) skip();
  for (size_t d = 0; d < N_DEVICES; d++) {
    opened o;
    message m = chain_model();
    open_env(&o, &devices[d]);
    open_session(&o, &m, NULL, NULL);
    OK(ort()->BindOutputToDevice(o.b, "y", o.info)); /* its shape is each run's own */
    for (int i = 0; i < 9; i++) {
      const int64_t dims[] = {rows[i % 3], 2};
      OrtValue *x = to_device(&o, data[i % 3], dims, 2);
      OK(ort()->BindInput(o.b, "x", x));
      ort()->ReleaseValue(x);
      OK(ort()->SynchronizeBoundInputs(o.b));
      for (int run = 0; run < 4; run++) {
        forget_counts(&o);
        OK(ort()->RunWithBinding(o.s, NULL, o.b));
        OK(ort()->SynchronizeBoundOutputs(o.b));
        if (run > 2) check_counts(&o, 0, 0, 0, 0);
      }
      OrtValue *y = bound_output(&o);
      float want[4];
      for (int k = 0; k < dims[0] * 2; k++) want[k] = data[i % 3][k] > 0 ? -data[i % 3][k] : -0.0f;
      check_there(&o, y, want, (size_t)dims[0] * 2);
      ort()->ReleaseValue(y);
    }
    OrtValue *y = to_device(&o, (float[]){9, 9, 9, 9}, (int64_t[]){2, 2}, 2);
    OK(ort()->BindOutput(o.b, "y", y));
    for (int run = 0; run < 4; run++) {
      forget_counts(&o);
      OK(ort()->RunWithBinding(o.s, NULL, o.b));
      if (run > 2) check_counts(&o, 0, 0, 0, 0);
    }
    check_there(&o, y, (float[]){-7, -8, 0, -10}, 4);
    ort()->ReleaseValue(y);
    close_all(&o);
  }
}

static void test_an_output_is_the_next_input(void **state) {
  (void)state;
  if (!ort_is_onyx()) skip();
  for (size_t d = 0; d < N_DEVICES; d++) {
    opened o;
    message g = {0};
    graph_node(&g, "s", "Add", "x,x", "a");
    graph_node(&g, "n", "Neg", "a", "y");
    graph_input(&g, "x", FLOAT, "N");
    graph_output(&g, "y", FLOAT, "N");
    message m = model_of(&g, NULL, 0);
    open_env(&o, &devices[d]);
    open_session(&o, &m, NULL, NULL);
    OrtValue *x = to_device(&o, (float[]){1, -1}, (int64_t[]){2}, 1);
    OK(ort()->BindOutputToDevice(o.b, "y", o.info));
    for (int run = 0; run < 10; run++) {
      OK(ort()->BindInput(o.b, "x", x));
      ort()->ReleaseValue(x);
      forget_counts(&o);
      OK(ort()->RunWithBinding(o.s, NULL, o.b));
      if (run > 3) check_counts(&o, 0, 0, 0, 0);
      x = bound_output(&o);
    }
    check_there(&o, x, (float[]){1024, -1024}, 2);
    ort()->ReleaseValue(x);
    close_all(&o);
  }
}

/* The CPU finds out the shape in the run; what is made of it lies on the device. */
static void test_a_shape_that_only_the_run_knows(void **state) {
  (void)state;
  if (!ort_is_onyx()) skip();
  for (size_t d = 0; d < N_DEVICES; d++) {
    opened o;
    message g = {0}, cast = node("c", "Cast", "i", "f"), to = int_attribute("to", FLOAT);
    put_message(&cast, 5, &to);
    graph_node(&g, "r", "Relu", "x", "a");
    graph_node(&g, "z", "NonZero", "a", "i");
    put_message(&g, 1, &cast);
    graph_node(&g, "n", "Neg", "f", "y");
    graph_input(&g, "x", FLOAT, "4");
    graph_output(&g, "y", FLOAT, "1,K");
    message m = model_of(&g, NULL, 0);
    open_env(&o, &devices[d]);
    open_session(&o, &m, NULL, NULL);
    OK(ort()->BindOutputToDevice(o.b, "y", o.info));
    float data[2][4] = {{1, -1, 2, 3}, {-1, -2, -3, 4}};
    const float want[2][3] = {{0, -2, -3}, {-3}};
    for (int run = 0; run < 8; run++) {
      OrtValue *x = to_device(&o, data[run % 2], (int64_t[]){4}, 1);
      OK(ort()->BindInput(o.b, "x", x));
      ort()->ReleaseValue(x);
      forget_counts(&o);
      OK(ort()->RunWithBinding(o.s, NULL, o.b));
      if (run > 4) check_counts(&o, 1, 1, 0, 0);
      OrtValue *y = bound_output(&o);
      check_there(&o, y, want[run % 2], run % 2 ? 1 : 3);
      ort()->ReleaseValue(y);
    }
    close_all(&o);
  }
}

/* Memory of the client's own, taken from the place's allocator. */
static void test_tensors_over_memory_there(void **state) {
  (void)state;
  if (!ort_is_onyx()) skip();
  for (size_t d = 0; d < N_DEVICES; d++) {
    opened o;
    message m = chain_model();
    void *block;
    open_env(&o, &devices[d]);
    open_session(&o, &m, NULL, NULL);
    OK(ort()->AllocatorAlloc(o.there, 4 * sizeof(float), &block));
    OrtValue *y, *x = to_device(&o, (float[]){1, -2, 3, -4}, (int64_t[]){2, 2}, 2);
    OK(ort()->CreateTensorWithDataAsOrtValue(o.info, block, 4 * sizeof(float), (int64_t[]){2, 2}, 2, FLOAT, &y));
    OK(ort()->BindInput(o.b, "x", x));
    OK(ort()->BindOutput(o.b, "y", y));
    for (int run = 0; run < 4; run++) {
      forget_counts(&o);
      OK(ort()->RunWithBinding(o.s, NULL, o.b));
      if (run > 2) check_counts(&o, 0, 0, 0, 0);
    }
    check_there(&o, y, (float[]){-1, 0, -3, 0}, 4);
    ort()->ReleaseValue(x);
    ort()->ReleaseIoBinding(o.b), o.b = NULL;
    ort()->ReleaseValue(y);
    OK(ort()->AllocatorFree(o.there, block));
    close_all(&o);
  }
}

/* ---- arenas ---- */

static long stat_of(OrtAllocator *allocator, const char *key) {
  OrtKeyValuePairs *stats;
  OK(ort()->AllocatorGetStats(allocator, &stats));
  const char *value = ort()->GetKeyValue(stats, key);
  assert_non_null(value);
  long n = atol(value);
  ort()->ReleaseKeyValuePairs(stats);
  return n;
}

static void run_rows(const opened *o, int64_t n, const char *shrink) {
  static float data[1 << 12];
  OrtRunOptions *ro;
  OrtValue *y = NULL, *x = floats(data, (int64_t[]){n, 2}, 2);
  OK(ort()->CreateRunOptions(&ro));
  if (shrink != NULL) OK(ort()->AddRunConfigEntry(ro, "memory.enable_memory_arena_shrinkage", shrink));
  OK(ort()->Run(o->s, ro, (const char *[]){"x"}, (const OrtValue *const *)&x, 1, (const char *[]){"y"}, 1, &y));
  ort()->ReleaseValue(x), ort()->ReleaseValue(y);
  ort()->ReleaseRunOptions(ro);
}

/* Of the environment, used by two sessions: it grows as it was told to, counts, and shrinks after a run. */
static void test_an_arena_of_the_environment(void **state) {
  static const struct {
    int strategy;
    long first; /* bytes after a block of one byte */
  } rows[] = {{0, 1 << 20}, {1, 256}};
  (void)state;
  if (!ort_is_onyx()) skip();
  for (size_t d = 0; d < N_DEVICES; d++)
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
      opened o;
      OrtArenaCfg *cfg;
      OrtSession *other;
      void *block;
      message m = chain_model();
      open_env(&o, &devices[d]);
      OK(ort()->CreateArenaCfgV2((const char *[]){"max_mem", "arena_extend_strategy"},
                                 (size_t[]){1 << 24, (size_t)rows[i].strategy}, 2, &cfg));
      OK(ort()->CreateAndRegisterAllocatorV2(o.env, o.on->name, o.info, cfg, NULL, NULL, 0));
      ort()->ReleaseArenaCfg(cfg);
      OK(ort()->AddSessionConfigEntry(o.options, "session.use_env_allocators", "1"));
      open_session(&o, &m, NULL, NULL);
      other = open_model(o.env, &m, o.options);
      OK(ort()->AllocatorAlloc(o.there, 1, &block));
      assert_int_equal(stat_of(o.there, "TotalAllocated"), rows[i].first);
      assert_int_equal(stat_of(o.there, "Limit"), 1 << 24);
      assert_int_equal(stat_of(o.there, "MaxAllocSize"), 256);
      OK(ort()->AllocatorFree(o.there, block));
      assert_int_equal(stat_of(o.there, "InUse"), 0);
      run_rows(&o, 4, NULL);
      long taken = stat_of(o.there, "NumAllocs"), used = stat_of(o.there, "InUse");
      assert_true(taken > 1 && used > 0);
      OrtSession *first = o.s;
      o.s = other;
      run_rows(&o, 4, NULL);
      assert_true(stat_of(o.there, "NumAllocs") > taken && stat_of(o.there, "InUse") > used);
      run_rows(&o, 4, "gpu:0");
      o.s = first;
      run_rows(&o, 4, "gpu:0"); /* nobody has anything in use: the arena is empty */
      assert_int_equal(stat_of(o.there, "TotalAllocated"), 0);
      assert_true(stat_of(o.there, "NumArenaShrinkages") > 0);
      run_rows(&o, 4, NULL);
      ort()->ReleaseSession(other);
      close_all(&o);
    }
}

/* CreateAllocator's: what the session has there, and what clients take. */
static void test_the_allocator_of_a_session(void **state) {
  (void)state;
  if (!ort_is_onyx()) skip();
  for (size_t d = 0; d < N_DEVICES; d++) {
    opened o;
    message m = chain_model();
    OrtAllocator *a;
    OrtValue *v;
    void *block;
    open_env(&o, &devices[d]);
    open_session(&o, &m, "gpu_mem_limit", "1048576");
    OK(ort()->CreateAllocator(o.s, o.info, &a));
    assert_int_equal(stat_of(a, "Limit"), 1048576);
    assert_int_equal(stat_of(a, "InUse"), 0);
    run_rows(&o, 4, NULL);
    long used = stat_of(a, "InUse"), taken = stat_of(a, "NumAllocs");
    assert_true(used > 0 && taken > 0);
    assert_int_equal(stat_of(o.there, "InUse"), 0); /* the environment has nothing to do with it */
    run_rows(&o, 4, NULL);
    assert_int_equal(stat_of(a, "NumAllocs"), taken);
    OK(ort()->AllocatorAlloc(a, 1000, &block));
    assert_int_equal(stat_of(a, "InUse"), used + 1024);
    OK(ort()->AllocatorFree(a, block));
    OK(ort()->CreateTensorAsOrtValue(a, (int64_t[]){2, 2}, 2, FLOAT, &v));
    OK(ort()->BindOutput(o.b, "y", v));
    OrtValue *x = to_device(&o, (float[]){1, 2, 3, -4}, (int64_t[]){2, 2}, 2);
    OK(ort()->BindInput(o.b, "x", x));
    OK(ort()->RunWithBinding(o.s, NULL, o.b));
    check_there(&o, v, (float[]){-1, -2, -3, 0}, 4);
    ort()->ReleaseValue(x), ort()->ReleaseValue(v);
    run_rows(&o, 4, "gpu:0");
    assert_true(stat_of(a, "NumArenaShrinkages") > 0 && stat_of(a, "InUse") < used + 1024);
    ort()->ReleaseAllocator(a);
    close_all(&o);
  }
}

static void test_a_limit_of_a_session(void **state) {
  (void)state;
  if (!ort_is_onyx()) skip();
  for (size_t d = 0; d < N_DEVICES; d++) {
    opened o;
    message m = chain_model();
    static float data[1 << 12];
    open_env(&o, &devices[d]);
    open_session(&o, &m, "gpu_mem_limit", "4096");
    OrtValue *x = floats(data, (int64_t[]){1 << 11, 2}, 2);
    OK(ort()->BindInput(o.b, "x", x));
    OK(ort()->BindOutputToDevice(o.b, "y", o.info));
    OrtStatus *st = ort()->RunWithBinding(o.s, NULL, o.b);
    assert_non_null(st);
    static const char *const named[] = {"'y'", "16384 bytes", "the limit is 4096"};
    for (size_t i = 0; i < 3; i++)
      if (strstr(ort()->GetErrorMessage(st), named[i]) == NULL)
        fail_msg("%s: no %s in %s", o.on->name, named[i], ort()->GetErrorMessage(st));
    ort()->ReleaseStatus(st);
    run_rows(&o, 4, NULL); /* goes on */
    ort()->ReleaseValue(x);
    close_all(&o);
  }
}

/* ---- */

static void *symbol(void *library, const char *prefix, const char *rest) {
  char name[64];
  snprintf(name, sizeof name, "%s_%s", prefix, rest);
  void *found = dlsym(library, name);
  if (found == NULL) fail_msg("%s", dlerror());
  return found;
}

static int find_devices(void **state) {
  (void)state;
#ifdef CUDA_STANDIN
  use_standin();
#endif
  for (size_t d = 0; d < N_DEVICES; d++) {
    void *library = dlopen(devices[d].counts, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return 1;
    *(void **)(void *)&devices[d].copies = symbol(library, devices[d].prefix, "copies");
    *(void **)(void *)&devices[d].allocations = symbol(library, devices[d].prefix, "allocations");
  }
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_bound_values_stay_there),
      cmocka_unit_test(test_an_output_is_the_next_input),
      cmocka_unit_test(test_a_shape_that_only_the_run_knows),
      cmocka_unit_test(test_tensors_over_memory_there),
      cmocka_unit_test(test_an_arena_of_the_environment),
      cmocka_unit_test(test_the_allocator_of_a_session),
      cmocka_unit_test(test_a_limit_of_a_session),
  };
  return cmocka_run_group_tests(tests, find_devices, NULL);
}

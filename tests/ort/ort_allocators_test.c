/* SPDX-License-Identifier: Apache-2.0
 * Allocators: the default one, those of sessions with their arena and its statistics, those that an environment shares.
 */
#include "ort/models.h"
#include "ort/values.h"

/* An environment with a session of a small model. */
typedef struct world {
  OrtEnv *env;
  OrtSession *session;
  OrtMemoryInfo *heap, *arena, *cuda;
} world;

static world open_world(const char *key, const char *value, bool arena) {
  world w = {.env = test_env()};
  OrtSessionOptions *options;
  OK(ort()->CreateSessionOptions(&options));
  if (key != NULL) OK(ort()->AddSessionConfigEntry(options, key, value));
  if (!arena) OK(ort()->DisableCpuMemArena(options));
  message m = add_model();
  w.session = open_model(w.env, &m, options);
  ort()->ReleaseSessionOptions(options);
  OK(ort()->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &w.heap));
  OK(ort()->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &w.arena));
  OK(ort()->CreateMemoryInfo("Cuda", OrtDeviceAllocator, 0, OrtMemTypeDefault, &w.cuda));
  return w;
}

static void close_world(world *w) {
  ort()->ReleaseMemoryInfo(w->heap), ort()->ReleaseMemoryInfo(w->arena), ort()->ReleaseMemoryInfo(w->cuda);
  ort()->ReleaseSession(w->session);
  ort()->ReleaseEnv(w->env);
}

/* The statistics in one line, sorted by their key. */
static const char *stats_of(const OrtAllocator *allocator) {
  static char text[512];
  OrtKeyValuePairs *pairs = NULL;
  const char *const *keys, *const *values;
  size_t n;
  OK(ort()->AllocatorGetStats(allocator, &pairs));
  ort()->GetKeyValuePairs(pairs, &keys, &values, &n);
  text[0] = 0;
  for (size_t i = 0; i < n; i++)
    snprintf(text + strlen(text), sizeof text - strlen(text), "%s=%s ", keys[i], values[i]);
  ort()->ReleaseKeyValuePairs(pairs);
  return text;
}

static const char *stats_text(int limit, int in_use, int requested, int total, int max_in_use, int max_alloc,
                              int allocs, int extensions, int shrinkages, int reserves) {
  static char text[512];
  snprintf(text, sizeof text,
           "InUse=%d Limit=%d MaxAllocSize=%d MaxInUse=%d NumAllocs=%d NumArenaExtensions=%d NumArenaShrinkages=%d "
           "NumReserves=%d RequestedInUse=%d TotalAllocated=%d ",
           in_use, limit, max_alloc, max_in_use, allocs, extensions, shrinkages, reserves, requested, total);
  return text;
}

static void *take(OrtAllocator *allocator, size_t bytes) {
  void *p = NULL;
  OK(ort()->AllocatorAlloc(allocator, bytes, &p));
  assert_non_null(p);
  assert_int_equal((uintptr_t)p % 64, 0);
  memset(p, 7, bytes);
  return p;
}

static void test_the_default_allocator(void **state) {
  (void)state;
  OrtAllocator *a = heap();
  const OrtMemoryInfo *info;
  OrtMemoryInfo *cpu;
  void *p = a;
  int differ = 1;
  OK(ort()->AllocatorAlloc(a, 0, &p));
  assert_null(p);
  OK(ort()->AllocatorFree(a, NULL));
  static const size_t sizes[] = {1, 63, 64, 65, 4096, 1000003};
  for (size_t i = 0; i < COUNT(sizes); i++) OK(ort()->AllocatorFree(a, take(a, sizes[i])));
  FAILS(ort()->AllocatorAlloc(a, (size_t)1 << 60, &p), ORT_RUNTIME_EXCEPTION, "1152921504606846976 bytes");
  OK(ort()->AllocatorGetInfo(a, &info));
  OK(ort()->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &cpu));
  OK(ort()->CompareMemoryInfo(info, cpu, &differ));
  assert_int_equal(differ, 0);
  ort()->ReleaseMemoryInfo(cpu);
  assert_string_equal(stats_of(a), "");
  assert_true(a->version >= 23);
  p = a->Reserve(a, 10);
  assert_non_null(p);
  a->Free(a, p);
  if (!ort_is_onyx()) return; /* Microsoft's has no members behind GetStats, and wraps sizes */
  FAILS(ort()->AllocatorAlloc(a, SIZE_MAX, &p), ORT_RUNTIME_EXCEPTION, "out of memory");
  p = a->AllocOnStream(a, 10, NULL);
  assert_non_null(p);
  a->Free(a, p);
  OK(a->Shrink(a));
}

static void test_an_old_allocator_has_no_statistics(void **state) {
  (void)state;
  if (!ort_is_onyx()) skip(); /* Microsoft's calls what is not there */
  counting c;
  counting_init(&c); /* its table ends before GetStats */
  assert_string_equal(stats_of(&c.table), "");
  counting_deinit(&c);
}

static void test_the_arena_of_a_session(void **state) {
  (void)state;
  enum { MIB = 1 << 20 };
  world w = open_world(NULL, NULL, true);
  OrtAllocator *a, *again;
  const OrtMemoryInfo *info;
  OrtAllocatorType type;
  OK(ort()->CreateAllocator(w.session, w.heap, &a)); /* there is one, however it is asked for */
  OK(ort()->AllocatorGetInfo(a, &info));
  OK(ort()->MemoryInfoGetType(info, &type));
  assert_int_equal(type, OrtArenaAllocator);
  void *p = take(a, 1000);
  assert_string_equal(stats_of(a), stats_text(-1, 1024, 1000, MIB, 1024, 1024, 1, 1, 0, 0));
  OK(ort()->AllocatorFree(a, p));
  assert_string_equal(stats_of(a), stats_text(-1, 0, 0, MIB, 1024, 1024, 1, 1, 0, 0));
  p = a->Reserve(a, 5000);
  assert_string_equal(stats_of(a), stats_text(-1, 5000, 5000, MIB + 5000, 5000, 5000, 2, 1, 0, 1));
  a->Free(a, p);
  OK(ort()->CreateAllocator(w.session, w.arena, &again));
  p = take(again, 1);
  assert_string_equal(stats_of(a), stats_text(-1, 256, 1, MIB, 5000, 5000, 3, 1, 0, 1));
  OK(ort()->AllocatorFree(again, p));
  ort()->ReleaseAllocator(again);
  ort()->ReleaseAllocator(a);
  ort()->ReleaseAllocator(NULL);
  FAILS(ort()->CreateAllocator(w.session, w.cuda, &a), ORT_INVALID_ARGUMENT, "No requested allocator available");
  close_world(&w);
}

static void test_a_session_without_an_arena_has_the_heap(void **state) {
  (void)state;
  world w = open_world(NULL, NULL, false);
  OrtAllocator *a;
  OK(ort()->CreateAllocator(w.session, w.arena, &a));
  OK(ort()->AllocatorFree(a, take(a, 100)));
  assert_string_equal(stats_of(a), "");
  ort()->ReleaseAllocator(a);
  close_world(&w);
}

static OrtArenaCfg *config(size_t strategy) {
  static const char *const keys[] = {"max_mem",
                                     "arena_extend_strategy",
                                     "initial_chunk_size_bytes",
                                     "max_dead_bytes_per_chunk",
                                     "initial_growth_chunk_size_bytes",
                                     "max_power_of_two_extend_bytes"};
  const size_t values[] = {1 << 20, strategy, 4096, 100, 4096, 1 << 20};
  OrtArenaCfg *c;
  OK(ort()->CreateArenaCfgV2(keys, values, COUNT(keys), &c));
  return c;
}

/* A session on an arena with a limit of one MiB that the environment has. */
static world open_limited(size_t strategy, OrtAllocator **out) {
  world w = {.env = test_env()};
  OrtMemoryInfo *info;
  OrtArenaCfg *c = config(strategy);
  OK(ort()->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &info));
  OK(ort()->CreateAndRegisterAllocator(w.env, info, c));
  ort()->ReleaseArenaCfg(c);
  ort()->ReleaseMemoryInfo(info);
  OrtEnv *first = w.env;
  w = open_world("session.use_env_allocators", "1", true);
  ort()->ReleaseEnv(first);
  OK(ort()->CreateAllocator(w.session, w.arena, out));
  return w;
}

static void close_limited(world *w, OrtAllocator *a) {
  ort()->ReleaseAllocator(a);
  OK(ort()->UnregisterAllocator(w->env, w->arena));
  close_world(w);
}

static void test_regions_as_requested(void **state) {
  (void)state;
  enum { LIMIT = 1 << 20 };
  OrtAllocator *a;
  world w = open_limited(1, &a);
  void *p[5];
  p[0] = take(a, 1000);
  assert_string_equal(stats_of(a), stats_text(LIMIT, 1024, 1000, 1024, 1024, 1024, 1, 1, 0, 0));
  p[1] = take(a, 5000);
  assert_string_equal(stats_of(a), stats_text(LIMIT, 6144, 6000, 6144, 6144, 5120, 2, 2, 0, 0));
  FAILS(ort()->AllocatorAlloc(a, 2 << 20, &p[2]), ORT_FAIL, "its limit, max_mem, is 1048576");
  OrtValue *value;
  const int64_t dims[] = {1 << 20};
  FAILS(ort()->CreateTensorAsOrtValue(a, dims, 1, F32, &value), ORT_FAIL, "its limit, max_mem, is 1048576");
  p[2] = take(a, 300000);
  OK(ort()->AllocatorFree(a, p[0]));
  p[3] = take(a, 200); /* out of the first region */
  assert_ptr_equal(p[3], p[0]);
  OK(ort()->AllocatorFree(a, p[3]));
  OK(ort()->AllocatorFree(a, p[1]));
  assert_string_equal(stats_of(a), stats_text(LIMIT, 300032, 300000, 306176, 306176, 300032, 4, 3, 0, 0));
  p[1] = take(a, 4000); /* the smallest hole that is large enough, and what is left of it is split off */
  p[4] = take(a, 100);
  assert_string_equal(stats_of(a), stats_text(LIMIT, 304384, 304100, 306176, 306176, 300032, 6, 3, 0, 0));
  void *reserved = a->Reserve(a, 2 << 20); /* not limited */
  assert_non_null(reserved);
  a->Free(a, reserved);
  OK(ort()->AllocatorFree(a, p[1]));
  OK(ort()->AllocatorFree(a, p[4]));
  OK(ort()->AllocatorFree(a, p[2]));
  if (ort_is_onyx()) { /* Microsoft's wrapper does not have it */
    OK(a->Shrink(a));
    assert_string_equal(stats_of(a), stats_text(LIMIT, 0, 0, 0, 2401536, 2 << 20, 7, 3, 3, 1));
    OK(ort()->AllocatorFree(a, take(a, 100)));
  }
  close_limited(&w, a);
}

static void test_regions_double(void **state) {
  (void)state;
  enum { LIMIT = 1 << 20 };
  OrtAllocator *a;
  world w = open_limited(0, &a);
  void *p[4];
  p[0] = take(a, 1000);
  assert_string_equal(stats_of(a), stats_text(LIMIT, 1024, 1000, 4096, 1024, 1024, 1, 1, 0, 0));
  p[1] = take(a, 5000);
  assert_string_equal(stats_of(a), stats_text(LIMIT, 6144, 6000, 12288, 6144, 5120, 2, 2, 0, 0));
  p[2] = take(a, 300000);
  assert_string_equal(stats_of(a), stats_text(LIMIT, 306176, 306000, 536576, 306176, 300032, 3, 3, 0, 0));
  p[3] = take(a, 500000); /* the last region has what the limit leaves */
  assert_string_equal(stats_of(a), stats_text(LIMIT, 806400, 806000, LIMIT, 806400, 500224, 4, 4, 0, 0));
  for (size_t i = 0; i < 4; i++) OK(ort()->AllocatorFree(a, p[i]));
  if (ort_is_onyx()) {
    OK(a->Shrink(a)); /* the first region stays */
    assert_string_equal(stats_of(a), stats_text(LIMIT, 0, 0, 4096, 806400, 500224, 4, 4, 3, 0));
  }
  close_limited(&w, a);
}

/* Random requests, each filled with its own byte: none may overlap another. */
static void test_an_arena_under_load(void **state) {
  (void)state;
  enum { SLOTS = 64 };
  OrtAllocator *a;
  world w = open_limited(0, &a);
  unsigned char *p[SLOTS] = {NULL};
  size_t bytes[SLOTS] = {0};
  uint32_t random = 12345;
  for (int step = 0; step < 20000; step++) {
    random = random * 1664525 + 1013904223;
    size_t i = random >> 26;
    if (p[i] != NULL) {
      for (size_t k = 0; k < bytes[i]; k++) assert_int_equal(p[i][k], i);
      OK(ort()->AllocatorFree(a, p[i]));
      p[i] = NULL;
      continue;
    }
    void *got = NULL;
    bytes[i] = 1 + (random >> 10) % 12000;
    OK(ort()->AllocatorAlloc(a, bytes[i], &got));
    p[i] = got;
    memset(p[i], (int)i, bytes[i]);
  }
  for (size_t i = 0; i < SLOTS; i++) OK(ort()->AllocatorFree(a, p[i]));
  void *whole = take(a, 1 << 16); /* holes have become one again */
  OK(ort()->AllocatorFree(a, whole));
  if (ort_is_onyx()) {
    OK(ort()->AllocatorFree(a, &w)); /* what it never gave is left alone */
    OK(ort()->AllocatorFree(a, whole));
  }
  close_limited(&w, a);
}

static void test_configurations(void **state) {
  (void)state;
  static const struct {
    const char *key;
    long long value;
    bool ok;
  } rows[] = {{"max_mem", 0, true},
              {"max_mem", -1, true},
              {"max_mem", 1, true},
              {"arena_extend_strategy", -1, true},
              {"arena_extend_strategy", 1, true},
              {"arena_extend_strategy", 2, false},
              {"arena_extend_strategy", -2, false},
              {"initial_chunk_size_bytes", 0, true},
              {"initial_chunk_size_bytes", -2, false},
              {"max_dead_bytes_per_chunk", -2, false},
              {"initial_growth_chunk_size_bytes", -2, false},
              {"max_power_of_two_extend_bytes", 1LL << 40, true},
              {"max_power_of_two_extend_bytes", -2, false},
              {"use_cuda_mempool", 1, true},
              {"max_men", 1, false}};
  OrtArenaCfg *c;
  for (size_t i = 0; i < COUNT(rows); i++) {
    const size_t value = (size_t)rows[i].value;
    if (!rows[i].ok) {
      FAILS(ort()->CreateArenaCfgV2(&rows[i].key, &value, 1, &c), ORT_INVALID_ARGUMENT, rows[i].key);
      continue;
    }
    OK(ort()->CreateArenaCfgV2(&rows[i].key, &value, 1, &c));
    ort()->ReleaseArenaCfg(c);
  }
  OK(ort()->CreateArenaCfg(0, -1, -1, -1, &c));
  ort()->ReleaseArenaCfg(c);
  ort()->ReleaseArenaCfg(NULL);
  FAILS(ort()->CreateArenaCfg(0, 2, -1, -1, &c), ORT_INVALID_ARGUMENT, "arena_extend_strategy is 2");
  FAILS(ort()->CreateArenaCfg(0, 0, -2, -1, &c), ORT_INVALID_ARGUMENT, "initial_chunk_size_bytes is -2");
}

static void test_shared_allocators(void **state) {
  (void)state;
  world w = open_world(NULL, NULL, true);
  counting c;
  OrtAllocator *found = NULL;
  counting_init(&c);
  OK(ort()->GetSharedAllocator(w.env, w.heap, &found)); /* the CPU's is always there */
  assert_non_null(found);
  OK(ort()->AllocatorFree(found, take(found, 8)));
  OK(ort()->GetSharedAllocator(w.env, w.cuda, &found));
  assert_null(found);
  OK(ort()->RegisterAllocator(w.env, &c.table));
  OK(ort()->GetSharedAllocator(w.env, w.heap, &found));
  assert_ptr_equal(found, &c.table);
  OK(ort()->GetSharedAllocator(w.env, w.arena, &found));
  assert_ptr_equal(found, &c.table);
  OK(ort()->UnregisterAllocator(w.env, w.heap));
  FAILS(ort()->UnregisterAllocator(w.env, w.heap), ORT_INVALID_ARGUMENT, "No allocator for this device");
  OK(ort()->GetSharedAllocator(w.env, w.heap, &found));
  assert_ptr_not_equal(found, &c.table);
  OrtArenaCfg *cfg = config(0);
  FAILS(ort()->CreateAndRegisterAllocator(w.env, w.cuda, cfg), ORT_INVALID_ARGUMENT, "Only CPU devices");
  OK(ort()->CreateAndRegisterAllocator(w.env, w.heap, NULL));
  OK(ort()->CreateAndRegisterAllocator(w.env, w.arena, cfg)); /* in its place */
  OK(ort()->UnregisterAllocator(w.env, w.arena));
  OK(ort()->CreateAndRegisterAllocatorV2(w.env, "CPUExecutionProvider", w.arena, cfg, NULL, NULL, 0));
  FAILS(ort()->CreateAndRegisterAllocatorV2(w.env, "OtherExecutionProvider", w.heap, cfg, NULL, NULL, 0),
        ORT_INVALID_ARGUMENT, "OtherExecutionProvider");
  ort()->ReleaseArenaCfg(cfg);
  counting_deinit(&c);
  close_world(&w); /* releases what is still registered */
}

static void test_devices_without_memory_share_none(void **state) {
  (void)state;
  world w = open_world(NULL, NULL, true);
  const OrtEpDevice *const *devices;
  size_t n;
  OrtAllocator *a;
  OK(ort()->GetEpDevices(w.env, &devices, &n));
  assert_true(n > 0);
  FAILS(ort()->CreateSharedAllocator(w.env, devices[0], OrtDeviceMemoryType_DEFAULT, OrtDeviceAllocator, NULL, &a),
        ORT_INVALID_ARGUMENT, "Invalid memory type");
  FAILS(ort()->ReleaseSharedAllocator(w.env, devices[0], OrtDeviceMemoryType_HOST_ACCESSIBLE), ORT_INVALID_ARGUMENT,
        "Invalid memory type");
  close_world(&w);
}

static void test_null_is_an_error_that_names_the_argument(void **state) {
  (void)state;
  if (!ort_is_onyx()) skip(); /* Microsoft's crashes */
  world w = open_world(NULL, NULL, true);
  OrtAllocator *a, incomplete = {.version = 1};
  OrtArenaCfg *c;
  void *p;
  OrtKeyValuePairs *pairs;
  const OrtMemoryInfo *info;
  const char *const key = NULL;
  const size_t value = 1;
#define REFUSES(call, argument) FAILS(call, ORT_INVALID_ARGUMENT, "'" argument "'")
  REFUSES(ort()->GetAllocatorWithDefaultOptions(NULL), "out");
  REFUSES(ort()->AllocatorAlloc(NULL, 1, &p), "allocator");
  REFUSES(ort()->AllocatorAlloc(heap(), 1, NULL), "out");
  REFUSES(ort()->AllocatorFree(NULL, NULL), "allocator");
  REFUSES(ort()->AllocatorGetInfo(NULL, &info), "allocator");
  REFUSES(ort()->AllocatorGetInfo(heap(), NULL), "out");
  REFUSES(ort()->AllocatorGetStats(NULL, &pairs), "allocator");
  REFUSES(ort()->AllocatorGetStats(heap(), NULL), "out");
  REFUSES(ort()->CreateAllocator(NULL, w.heap, &a), "session");
  REFUSES(ort()->CreateAllocator(w.session, NULL, &a), "mem_info");
  REFUSES(ort()->CreateAllocator(w.session, w.heap, NULL), "out");
  REFUSES(ort()->CreateArenaCfg(0, 0, 0, 0, NULL), "out");
  REFUSES(ort()->CreateArenaCfgV2(NULL, &value, 1, &c), "keys");
  REFUSES(ort()->CreateArenaCfgV2(&key, NULL, 1, &c), "values");
  REFUSES(ort()->CreateArenaCfgV2(&key, &value, 1, &c), "keys");
  REFUSES(ort()->RegisterAllocator(NULL, heap()), "env");
  REFUSES(ort()->RegisterAllocator(w.env, NULL), "allocator");
  REFUSES(ort()->RegisterAllocator(w.env, &incomplete), "allocator");
  REFUSES(ort()->UnregisterAllocator(w.env, NULL), "mem_info");
  REFUSES(ort()->UnregisterAllocator(NULL, w.heap), "env");
  REFUSES(ort()->CreateAndRegisterAllocator(NULL, w.heap, NULL), "env");
  REFUSES(ort()->CreateAndRegisterAllocator(w.env, NULL, NULL), "mem_info");
  REFUSES(ort()->CreateAndRegisterAllocatorV2(w.env, NULL, w.heap, NULL, NULL, NULL, 0), "provider_type");
  REFUSES(ort()->CreateAndRegisterAllocatorV2(w.env, "CPUExecutionProvider", w.heap, NULL, NULL, NULL, 1), "keys");
  REFUSES(ort()->CreateSharedAllocator(w.env, NULL, 0, OrtDeviceAllocator, NULL, &a), "ep_device");
  REFUSES(ort()->GetSharedAllocator(w.env, NULL, &a), "mem_info");
  REFUSES(ort()->GetSharedAllocator(NULL, w.heap, &a), "env");
  REFUSES(ort()->GetSharedAllocator(w.env, w.heap, NULL), "allocator");
  REFUSES(ort()->ReleaseSharedAllocator(w.env, NULL, 0), "ep_device");
  close_world(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_default_allocator),
      cmocka_unit_test(test_an_old_allocator_has_no_statistics),
      cmocka_unit_test(test_the_arena_of_a_session),
      cmocka_unit_test(test_a_session_without_an_arena_has_the_heap),
      cmocka_unit_test(test_regions_as_requested),
      cmocka_unit_test(test_regions_double),
      cmocka_unit_test(test_an_arena_under_load),
      cmocka_unit_test(test_configurations),
      cmocka_unit_test(test_shared_allocators),
      cmocka_unit_test(test_devices_without_memory_share_none),
      cmocka_unit_test(test_null_is_an_error_that_names_the_argument),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

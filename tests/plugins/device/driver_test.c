/* SPDX-License-Identifier: Apache-2.0
 * plugins/device/driver_test.c - every driver of the build through all of device/driver.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "graph/dtype.h"
#include "plugins/device/short.h"

/* ---- the device ---- */

static void test_it_says_what_it_is(void **state) {
  (void)state;
  const dev_info *i = r.v->info(r.d);
  assert_true(*i->name && *i->key && *r.v->name);
  assert_true(i->n_units >= 1 && i->max_items >= 256 && i->local_bytes >= 32768);
  assert_true(i->align && (i->align & (i->align - 1)) == 0);
}

static void test_a_device_that_is_not_there(void **state) {
  rig other;
  const char *const far[] = {"device_id", "1000", NULL}, *const minus[] = {"device_id", "-1", NULL};
  const char *const *wrong[] = {far, minus};
  for (size_t i = 0; i < OX_COUNT(wrong); i++) {
    rig_driver from = *(const rig_driver *)*state;
    from.options = wrong[i];
    from.live = NULL; /* the first device is open */
    rig_host(&other, &from);
    CHECK_FAILS(rig_open(&other), OX_INVALID_ARGUMENT, "device_id");
    assert_null(other.d);
    rig_close(&other);
  }
}

/* ---- memory ---- */

static void test_allocations_lie_apart(void **state) {
  (void)state;
  static const size_t sizes[] = {1, 2, 63, 256, 4096, 4097, 1000003};
  char *p[OX_COUNT(sizes)];
  for (size_t i = 0; i < OX_COUNT(sizes); i++) {
    p[i] = device_alloc(sizes[i]);
    assert_non_null(p[i]);
    assert_int_equal((uintptr_t)p[i] % r.v->info(r.d)->align, 0);
    for (size_t j = 0; j < i; j++)
      assert_true((uintptr_t)p[j] + sizes[j] <= (uintptr_t)p[i] || (uintptr_t)p[i] + sizes[i] <= (uintptr_t)p[j]);
  }
  for (size_t i = 0; i < OX_COUNT(sizes); i += 2) r.v->free(r.d, p[i], sizes[i]);
  void *again = device_alloc(63);
  r.v->free(r.d, again, 63);
  for (size_t i = 1; i < OX_COUNT(sizes); i += 2) r.v->free(r.d, p[i], sizes[i]);
  r.v->free(r.d, NULL, 0);
}

static void test_what_is_too_large(void **state) {
  (void)state;
  void *p = &p;
  CHECK_FAILS(r.v->alloc(r.d, (size_t)1 << 50, &p), OX_OUT_OF_MEMORY, "");
  assert_null(p);
}

static void test_copies_with_offsets(void **state) {
  (void)state;
  enum { N = 100000 };
  static const struct {
    size_t to, from, bytes;
  } cases[] = {
      {0, 0, 0}, {N, N, 0}, {0, 0, 1}, {N - 1, 0, 1}, {0, N - 1, 1}, {1, 3, 4097}, {5, 70001, 29999}, {0, 0, N},
  };
  unsigned char *host = malloc(N), *want = malloc(N), *back = malloc(N);
  char *a = device_alloc(N), *b = device_alloc(N);
  for (size_t i = 0; i < N; i++) host[i] = (unsigned char)(i * 7 + i / 256);
  for (size_t c = 0; c < OX_COUNT(cases); c++) {
    memset(want, 0x55, N);
    put(a, host, N);
    put(b, want, N);
    CHECK_OK(r.v->copy(r.d, NULL, b + cases[c].to, a + cases[c].from, cases[c].bytes, DEV_WITHIN));
    if (cases[c].bytes) memcpy(want + cases[c].to, host + cases[c].from, cases[c].bytes);
    get(back, b, N);
    assert_memory_equal(back, want, N);
    put(b + cases[c].to, host + cases[c].from, cases[c].bytes); /* what is there already */
    memset(back, 0, N);
    get(back + cases[c].from, b + cases[c].to, cases[c].bytes);
    if (cases[c].bytes) assert_memory_equal(back + cases[c].from, host + cases[c].from, cases[c].bytes);
  }
  r.v->free(r.d, a, N);
  r.v->free(r.d, b, N);
  free(host), free(want), free(back);
}

/* Large enough for all that a driver does with pieces; on a queue, both ways, without waiting in between. */
static void test_large_copies_in_a_queue(void **state) {
  (void)state;
  size_t n = ((size_t)37 << 20) + 12345;
  unsigned char *host = malloc(n), *back = calloc(1, n);
  char *a = device_alloc(n), *b = device_alloc(n);
  dev_queue *q = queue();
  for (size_t i = 0; i < n; i++) host[i] = (unsigned char)(i * 31 + (i >> 13));
  CHECK_OK(r.v->copy(r.d, q, a, host, n, DEV_TO_DEVICE));
  CHECK_OK(r.v->copy(r.d, q, b, a, n, DEV_WITHIN));
  CHECK_OK(r.v->copy(r.d, q, back, b, n, DEV_TO_HOST));
  CHECK_OK(r.v->queue_sync(q));
  assert_memory_equal(back, host, n);
  r.v->queue_release(q);
  r.v->free(r.d, a, n);
  r.v->free(r.d, b, n);
  free(host), free(back);
}

/* ---- launches ---- */

static float element(const void *p, size_t i, bool f16) {
  return f16 ? ox_f16_to_f32(((const uint16_t *)p)[i]) : ((const float *)p)[i];
}

static void fill(void *p, size_t n, bool f16) {
  for (size_t i = 0; i < n; i++) {
    float v = (float)((int)(i * 37 % 101) - 50) / 4;
    if (f16)
      ((uint16_t *)p)[i] = ox_f16_from_f32(v);
    else
      ((float *)p)[i] = v;
  }
}

/* Sizes around that of a group, at an offset; the neighbours stay as they are. */
static void test_launches_of_both_types(void **state) {
  (void)state;
  enum { ROOM = 1200, AT = 64 };
  static const int sizes[] = {1, 63, 64, 65, 1000};
  for (int f16 = 0; f16 < 2; f16++) {
    size_t e = f16 ? 2 : 4;
    dev_module *m = build(f16);
    dev_kernel *k = kernel(m, f16 ? "axpb_f16" : "axpb_f32");
    dev_queue *q = queue();
    char *x = device_alloc(ROOM * e), *y = device_alloc(ROOM * e);
    float host[ROOM], back[ROOM];
    fill(host, ROOM, f16);
    for (size_t s = 0; s < OX_COUNT(sizes); s++) {
      axpb p = {sizes[s], 2.0f, 0.5f}; /* some sums are 0 */
      put(x, host, ROOM * e);
      put(y, host, ROOM * e);
      dev_launch l = axpb_launch(k, x + 2 * AT * e, y + AT * e, &p);
      CHECK_OK(r.v->launch(q, &l));
      p.n = 0, p.scale = NAN; /* copied before launch returns */
      CHECK_OK(r.v->queue_sync(q));
      get(back, y, ROOM * e);
      for (int i = 0; i < ROOM; i++) {
        bool in = i >= AT && i < AT + sizes[s];
        float want = in ? element(host, (size_t)i + AT, f16) * 2 + 0.5f : element(host, (size_t)i, f16);
        if (element(back, (size_t)i, f16) != want) fail_msg("size %d, element %d", sizes[s], i);
      }
    }
    r.v->queue_release(q);
    r.v->module_release(m);
    r.v->free(r.d, x, ROOM * e);
    r.v->free(r.d, y, ROOM * e);
  }
}

static void test_buffers_that_are_not_there(void **state) {
  (void)state;
  dev_module *m = build(false);
  dev_kernel *k = kernel(m, "maybe_f32");
  dev_queue *q = queue();
  float host[64], back[64];
  char *x = device_alloc(sizeof host), *y = device_alloc(sizeof host), *more = device_alloc(sizeof host);
  fill(host, 64, false);
  put(x, host, sizeof host);
  put(more, host, sizeof host);
  for (int pass = 0; pass < 4; pass++) { /* with, without, with, without: no argument stays */
    const int p[2] = {64, pass % 2 == 0};
    dev_launch l = {.kernel = k,
                    .groups = {1, 1, 1},
                    .items = 64,
                    .n_buffers = p[1] ? 8 : 4,
                    .buffers = {x, NULL, NULL, y, NULL, NULL, NULL, p[1] ? more : NULL},
                    .params = p,
                    .params_bytes = sizeof p};
    CHECK_OK(r.v->launch(q, &l));
    CHECK_OK(r.v->queue_sync(q));
    get(back, y, sizeof back);
    for (int i = 0; i < 64; i++) assert_true(back[i] == host[i] * (float)(1 + p[1]));
  }
  r.v->queue_release(q);
  r.v->module_release(m);
  r.v->free(r.d, x, sizeof host);
  r.v->free(r.d, y, sizeof host);
  r.v->free(r.d, more, sizeof host);
}

static void test_groups_share_and_wait(void **state) {
  (void)state;
  enum { N = 256 * 5 - 3 };
  dev_module *m = build(false);
  dev_queue *q = queue();
  float host[N], back[N];
  char *x = device_alloc(sizeof host), *y = device_alloc(sizeof host);
  fill(host, N, false);
  put(x, host, sizeof host);
  const int n = N;
  dev_launch l = {.kernel = kernel(m, "turn_f32"),
                  .groups = {5, 1, 1},
                  .items = 256,
                  .n_buffers = 2,
                  .buffers = {x, y},
                  .params = &n,
                  .params_bytes = sizeof n};
  CHECK_OK(r.v->launch(q, &l));
  CHECK_OK(r.v->queue_sync(q));
  get(back, y, sizeof back);
  for (int i = 0; i < N; i++) {
    int mirror = i / 256 * 256 + 255 - i % 256;
    float other = mirror < N ? host[mirror] : 0;
    if (back[i] != host[i] + 2 * other + (float)(i % 256)) fail_msg("element %d: %g", i, (double)back[i]);
  }
  r.v->queue_release(q);
  r.v->module_release(m);
  r.v->free(r.d, x, sizeof host);
  r.v->free(r.d, y, sizeof host);
}

static void test_groups_on_three_axes(void **state) {
  (void)state;
  const int n = 3 * 4 * 5;
  float back[3 * 4 * 5];
  dev_module *m = build(false);
  dev_queue *q = queue();
  char *y = device_alloc(sizeof back);
  dev_launch l = n_launch(kernel(m, "grid_f32"), y, &n);
  memcpy(l.groups, (uint32_t[]){3, 4, 5}, sizeof l.groups);
  CHECK_OK(r.v->launch(q, &l));
  CHECK_OK(r.v->queue_sync(q));
  get(back, y, sizeof back);
  for (int i = 0; i < n; i++) assert_true(back[i] == (float)(i % 3 + i / 3 % 4 * 10 + i / 12 * 100));
  r.v->queue_release(q);
  r.v->module_release(m);
  r.v->free(r.d, y, sizeof back);
}

static void test_as_many_parameters_as_there_may_be(void **state) {
  (void)state;
  int p[256];
  float back[256];
  for (int i = 0; i < 256; i++) p[i] = i * 3 - 5;
  assert_int_equal(sizeof p, DEV_MAX_PARAMS);
  dev_module *m = build(false);
  dev_queue *q = queue();
  char *y = device_alloc(sizeof back);
  dev_launch l = n_launch(kernel(m, "wide_f32"), y, p);
  l.items = 256, l.params_bytes = sizeof p;
  CHECK_OK(r.v->launch(q, &l));
  memset(p, 0, sizeof p);
  CHECK_OK(r.v->queue_sync(q));
  get(back, y, sizeof back);
  for (int i = 0; i < 256; i++) assert_true(back[i] == (float)(i * 3 - 5));
  r.v->queue_release(q);
  r.v->module_release(m);
  r.v->free(r.d, y, sizeof back);
}

/* Not even the last bit of a quotient or a root, and what is no number stays none. */
static void test_arithmetic_is_exact(void **state) {
  (void)state;
  const float host[8] = {3.0f, NAN, INFINITY, -0.0f, 1e-40f, 7.25f, -INFINITY, 1.1f};
  const int n = 8;
  float back[32];
  dev_module *m = build(false);
  dev_queue *q = queue();
  char *x = device_alloc(sizeof host), *y = device_alloc(sizeof back);
  put(x, host, sizeof host);
  dev_launch l = {.kernel = kernel(m, "exact_f32"),
                  .groups = {1, 1, 1},
                  .items = 64,
                  .n_buffers = 2,
                  .buffers = {x, y},
                  .params = &n,
                  .params_bytes = sizeof n};
  CHECK_OK(r.v->launch(q, &l));
  CHECK_OK(r.v->queue_sync(q));
  get(back, y, sizeof back);
  for (int i = 0; i < 8; i++) {
    const float want[4] = {isnan(host[i]) ? 1.0f : 0.0f, host[i] - host[i], 1.0f / host[i], sqrtf(host[i])};
    for (int j = 0; j < 4; j++)
      if (isnan(want[j]) ? !isnan(back[4 * i + j]) : back[4 * i + j] != want[j])
        fail_msg("%g, result %d: %a, wanted %a", (double)host[i], j, (double)back[4 * i + j], (double)want[j]);
  }
  r.v->queue_release(q);
  r.v->module_release(m);
  r.v->free(r.d, x, sizeof host);
  r.v->free(r.d, y, sizeof back);
}

/* ---- builds ---- */

static void test_builds_that_fail_say_why(void **state) {
  (void)state;
  dev_module *m = (dev_module *)&m;
  char text[1 << 16];
  snprintf(text, sizeof text, "%s\nthis is not C at all;\n", rig_source(false));
  CHECK_FAILS(r.v->build(r.d, "wrong.h", text, NULL, 0, &m), OX_FAIL, "wrong.h");
  assert_null(m);
  CHECK_FAILS(r.v->build(r.d, "wrong.h", text, NULL, 0, &m), OX_FAIL, "error");
  m = build(false);
  dev_kernel *k = (dev_kernel *)&k;
  CHECK_FAILS(r.v->kernel(m, "nobody_f32", &k), OX_INVALID_ARGUMENT, "nobody_f32");
  assert_null(k);
  r.v->module_release(m);
}

static void test_binaries_are_used_again(void **state) {
  (void)state;
  dev_module *m = build(false), *again;
  size_t n = 0;
  const void *binary = r.v->module_binary(m, &n);
  assert_non_null(binary);
  assert_ptr_equal(r.v->module_binary(m, &n), binary);
  unsigned char *kept = malloc(n + 1);
  memcpy(kept, binary, n);
  r.v->module_release(m);
  CHECK_OK(r.v->build(r.d, "test", NULL, kept, n, &again));
  const int long_time = 3;
  float y = 4;
  dev_queue *q = queue();
  char *at = device_alloc(4);
  put(at, &y, 4);
  dev_launch l = n_launch(kernel(again, "slow_f32"), at, &long_time);
  CHECK_OK(r.v->launch(q, &l));
  CHECK_OK(r.v->queue_sync(q));
  get(&y, at, 4);
  assert_true(y == 5);
  r.v->queue_release(q);
  r.v->module_release(again);
  r.v->free(r.d, at, 4);
  const struct {
    size_t bytes, wrong;
  } damage[] = {{0, 0}, {1, n}, {n / 2, n}, {n - 1, n}, {n, 0}, {n, n / 2}, {n + 1, n}};
  for (size_t i = 0; i < OX_COUNT(damage); i++) {
    kept[n] = 0;
    kept[damage[i].wrong] ^= 0x55;
    ox_status *st = r.v->build(r.d, "test", NULL, kept, damage[i].bytes, &again);
    if (!st) fail_msg("damage %zu is not noticed", i);
    assert_null(again);
    ox_status_free(st);
    kept[damage[i].wrong] ^= 0x55;
  }
  free(kept);
}

#define TESTS(X)                                                                                            \
  X(test_it_says_what_it_is)                                                                                \
  X(test_a_device_that_is_not_there)                                                                        \
  X(test_allocations_lie_apart)                                                                             \
  X(test_what_is_too_large)                                                                                 \
  X(test_copies_with_offsets)                                                                               \
  X(test_large_copies_in_a_queue) X(test_launches_of_both_types) X(test_buffers_that_are_not_there)         \
      X(test_groups_share_and_wait) X(test_groups_on_three_axes) X(test_as_many_parameters_as_there_may_be) \
          X(test_arithmetic_is_exact) X(test_builds_that_fail_say_why) X(test_binaries_are_used_again)
RIG_MAIN(TESTS)

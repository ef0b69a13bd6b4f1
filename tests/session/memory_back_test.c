/* SPDX-License-Identifier: Apache-2.0
 * session/memory_back_test.c - a session that is released gives its memory back to the system: packed weights, folded
 * constants and slabs, also where the heap would keep them for later. */
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "base/quota.h"
#include "support/check.h"
#include "support/resident.h"
#include "support/text_session.h"

/* 12 MiB of weights that are computed at load, then packed. */
static const char model[] =
    "<ir_version: 8, opset_import: [\"\" : 17]> g (float[N,1024] x) => (float[N,1024] y) <float begin = {0}, float end "
    "= {1048576}, float one = {1}, int64[2] shape = {1024, 1024}>"
    "{ r = Range (begin, end, one) s = Sin (r) u = Cos (r) t = Tan (s) a = Reshape (s, shape) b = Reshape (u, shape)"
    " c = Reshape (t, shape) p = MatMul (x, a) q = Tanh (p) v = MatMul (q, b) w = Tanh (v) z = MatMul (w, c)"
    " y = Tanh (z) }";

enum { ROUNDS = 4, SESSIONS = 4, WEIGHTS = SESSIONS * (12 << 20), MOST_KEPT = 6 << 20 };

static void use(ox_env *env, ox_session **s) {
  const char *in = "x";
  const int64_t dims[2] = {64, 1024};
  ox_value *x = ramp_value(env, 0, 1e-6f, 2, dims);
  for (int i = 0; i < SESSIONS; i++) CHECK_OK(text_session(env, model, NULL, &s[i]));
  for (int i = 0; i < 2 * SESSIONS; i++) {
    ox_value *y = NULL;
    CHECK_OK(ox_session_run(s[i % SESSIONS], NULL, &in, (const ox_value **)&x, 1, NULL, &y, 1));
    ox_value_release(y);
  }
  ox_value_release(x);
}

static void test_sessions_come_and_go(void **state) {
  (void)state;
  ox_env *env;
  ox_session *s[SESSIONS];
  if (!resident()) skip();
  void *volatile large = malloc(30 << 20);
  free(large); /* from then on glibc takes blocks of up to this size from what it keeps */
  CHECK_OK(ox_env_create(NULL, &env));
  size_t before = resident();
  for (int round = 0; round < ROUNDS; round++) {
    use(env, s);
    size_t held = resident();
    for (int i = 0; i < SESSIONS; i++) ox_session_release(s[i]);
    size_t after = resident();
    if (held < before + WEIGHTS) fail_msg("round %d: %zu bytes with sessions, %zu without", round, held, before);
    if (after > before + MOST_KEPT)
      fail_msg("round %d: %zu bytes before the sessions, %zu after", round, before, after);
  }
  ox_env_release(env);
}

/* The heap's pages only, and none beside the block. */
static const struct {
  size_t bytes, align;
} blocks[] = {{0, 16}, {1, 16}, {65535, 16}, {65536, 16}, {65537, 64}, {100000, 4096}, {3 << 20, 64}, {5000001, 16}};

static void test_neighbours_keep_their_bytes(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(blocks); i++) {
    ox_quota *q = ox_quota_create(ox_alloc_heap(), SIZE_MAX);
    ox_alloc a = ox_quota_alloc(q);
    size_t n = blocks[i].bytes;
    char *p[3];
    for (int k = 0; k < 3; k++) {
      p[k] = ox_new_aligned(a, n, blocks[i].align);
      assert_non_null(p[k]);
      memset(p[k], 7, n);
    }
    ox_delete(a, p[1], n);
    for (size_t j = 0; j < n; j++)
      if (p[0][j] != 7 || p[2][j] != 7) fail_msg("blocks of %zu: byte %zu has changed", n, j);
    ox_delete(a, p[0], n), ox_delete(a, p[2], n);
    ox_quota_release(q);
  }
}

static void *give(void *ctx, size_t bytes, size_t align) {
  (void)bytes, (void)align;
  return ctx;
}

static void take_back(void *ctx, void *p, size_t bytes) {
  assert_ptr_equal(ctx, p);
  memset(p, ((char *)p)[bytes / 2] + 1, 1);
}

/* A caller's allocator may have pinned its pages. */
static void test_a_callers_memory_is_left_alone(void **state) {
  (void)state;
  enum { N = 1 << 20 };
  char *room = malloc(N);
  assert_non_null(room);
  ox_alloc a = {give, take_back, room};
  memset(ox_new(a, N), 7, N);
  ox_delete_pages(a, NULL, N);
  assert_int_equal(room[0], 7);
  ox_delete_pages(a, room, N);
  assert_int_equal(room[0], 8);
  free(room);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_sessions_come_and_go),
                                     cmocka_unit_test(test_neighbours_keep_their_bytes),
                                     cmocka_unit_test(test_a_callers_memory_is_left_alone)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 * ep/host_test.c - the loops that a provider is offered keep to the session's cap and to its own. */
#include "ep/host.h"

#include <stdatomic.h>

#include "base/macros.h"
#include "support/check.h"

enum { TILES = 1000 };

typedef struct {
  atomic_int seen[TILES];
  atomic_uint workers; /* the highest number, and one more */
  int64_t fail_at;     /* the tile that fails; -1: none */
} visits;

static ox_status *visit(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  visits *v = ctx;
  for (unsigned w = atomic_load(&v->workers);
       w <= worker && !atomic_compare_exchange_weak(&v->workers, &w, worker + 1);) {
  }
  for (int64_t i = begin; i < end; i++) {
    if (i == v->fail_at) return ox_fail(OX_FAIL, "tile %d fails", (int)i);
    atomic_fetch_add(&v->seen[i], 1);
  }
  return NULL;
}

static void join(void *ctx, uint32_t member, uint32_t size) {
  atomic_uint *sum = ctx;
  atomic_fetch_add(sum, member < size ? 1 + (size << 8) : 1u << 31);
}

static const struct {
  uint32_t session, own, most; /* caps, and what they allow */
} rows[] = {{1, 0, 1}, {1, 9, 1}, {3, 0, 3}, {3, 1, 1}, {3, 2, 2}, {3, 4, 3}, {4, UINT32_MAX, 4}};

static void test_loops_keep_to_both_caps(void **state) {
  (void)state;
  const ox_pool_opts po = {.struct_size = sizeof po, .n_threads = 4};
  const ox_ep_api api = {.struct_size = sizeof api};
  ox_pool *pool;
  CHECK_OK(ox_pool_create(&po, &pool));
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    const ox_ep_services s = {.alloc = ox_alloc_heap(), .pool = pool, .max_threads = rows[i].session, .provider = "p"};
    const ox_ep_host h = ox_ep_host_make(&s, &api);
    for (int k = 0; k < 50; k++) {
      visits v = {.fail_at = -1};
      atomic_uint team = 0;
      CHECK_OK(h.parallel_tiles(&h, TILES, rows[i].own, visit, &v));
      for (int t = 0; t < TILES; t++) assert_int_equal(v.seen[t], 1);
      assert_true(v.workers >= 1 && v.workers <= rows[i].most);
      h.parallel_team(&h, rows[i].own, join, &team);
      uint32_t size = team & 255;
      assert_true(size >= 1 && size <= rows[i].most);
      assert_int_equal(team >> 8, size * size);
    }
  }
  ox_pool_destroy(pool);
}

static void test_edges(void **state) {
  (void)state;
  const ox_ep_api api = {.struct_size = sizeof api};
  const ox_ep_services s = {.alloc = ox_alloc_heap(), .max_threads = 1, .provider = "p"}; /* no pool */
  const ox_ep_host h = ox_ep_host_make(&s, &api);
  visits v = {.fail_at = 7};
  CHECK_OK(h.parallel_tiles(&h, 0, 0, visit, &v));
  CHECK_OK(h.parallel_tiles(&h, -5, 0, visit, &v));
  assert_int_equal(v.workers, 0);
  ox_status *st = h.parallel_tiles(&h, TILES, 0, visit, &v);
  assert_non_null(st);
  assert_string_equal(ox_status_message(st), "tile 7 fails");
  ox_status_free(st);
  assert_int_equal(v.seen[8], 0);
}

static void test_notes_go_before_the_text(void **state) {
  (void)state;
  const ox_ep_services services = {0};
  const ox_ep_api api = {.struct_size = sizeof api};
  const ox_ep_host h = ox_ep_host_make(&services, &api);
  ox_status *st = h.status_note(h.status_make(OX_LIMIT, "too much"), "node 'x' (Conv)");
  assert_int_equal(ox_status_code(st), OX_LIMIT);
  assert_string_equal(ox_status_message(st), "node 'x' (Conv): too much");
  h.status_free(st);
  h.status_free(NULL);
  assert_null(h.status_note(NULL, "node"));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_loops_keep_to_both_caps), cmocka_unit_test(test_edges),
                                     cmocka_unit_test(test_notes_go_before_the_text)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

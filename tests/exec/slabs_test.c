/* SPDX-License-Identifier: Apache-2.0
 * exec/slabs_test.c - which slab a context gets, and what is left when none is wanted. */
#include "exec/slabs.h"

#include "base/macros.h"
#include "support/check.h"
#include "support/counting_alloc.h"

enum { MOST = 4 };

typedef struct {
  counting_alloc count;
  ox_alloc alloc;
  ox_workspace account;
  ox_slabs slabs;
} bench;

static void trim(void *slabs) { ox_slabs_trim(slabs); }

static void open_bench(bench *b, size_t limit) {
  *b = (bench){.count = {.fail_at = -1}, .account = {.limit = limit, .trim = trim, .ctx = &b->slabs}};
  b->alloc = counting_alloc_of(&b->count);
  ox_slabs_init(&b->slabs, &b->alloc);
}

static void close_bench(bench *b) {
  ox_slabs_deinit(&b->slabs);
  assert_int_equal(atomic_load(&b->count.live), 0);
}

static void test_which_slab_it_is(void **state) {
  static const struct {
    size_t limit, free[MOST]; /* given back in this order */
    int was;                  /* index in |free|; -1: none */
    size_t wanted;
    int is;                   /* index in |free|; -1: a new one */
    size_t bytes;             /* of it */
    long live;                /* slabs afterwards */
  } cases[] = {
      {0, {0}, -1, 1, -1, 16, 1},                          /* room for the link */
      {0, {0}, -1, 8000, -1, 8000, 1},                     /* the first one is exact */
      {0, {8000}, -1, 8000, 0, 8000, 1},                   /* one that fits to the byte */
      {0, {8000}, -1, 1, 0, 8000, 1},
      {0, {8000}, -1, 8001, -1, 8001 + 1000, 1},           /* replaced, with an eighth more */
      {1 << 20, {8000}, -1, 8001, -1, 8001, 1},            /* nothing more where there is a limit */
      {0, {9000, 8000, 10000}, -1, 7000, 1, 8000, 3},      /* the smallest with room */
      {0, {9000, 8000, 10000}, -1, 8500, 0, 9000, 3},
      {0, {9000, 8000, 10000}, 2, 7000, 2, 10000, 3},      /* the same address comes first */
      {0, {9000, 8000, 10000}, 1, 8500, 0, 9000, 3},       /* unless it is too small */
      {0, {9000, 10000, 8000}, -1, 16000, -1, 18000, 3},   /* the largest goes: 9000 and 8000 stay */
  };
  (void)state;
  for (size_t i = 0; i < OX_COUNT(cases); i++) {
    bench b;
    ox_slab had[MOST] = {{0}}, got;
    open_bench(&b, 0);
    for (int k = 0; k < MOST && cases[i].free[k]; k++)
      assert_true(ox_slabs_take(&b.slabs, &b.account, cases[i].free[k], NULL, &had[k]));
    for (int k = 0; k < MOST && cases[i].free[k]; k++) ox_slabs_give(&b.slabs, had[k]);
    b.account.limit = cases[i].limit;
    const char *was = cases[i].was < 0 ? NULL : had[cases[i].was].at;
    assert_true(ox_slabs_take(&b.slabs, &b.account, cases[i].wanted, was, &got));
    bool same = cases[i].is < 0 || got.at == had[cases[i].is].at;
    if (!same || got.bytes != cases[i].bytes || atomic_load(&b.count.live) != cases[i].live)
      fail_msg("case %zu: %zu bytes, %ld slabs", i, got.bytes, atomic_load(&b.count.live));
    assert_int_equal((uintptr_t)got.at % OX_ALIGN_BYTES, 0);
    ox_slabs_give(&b.slabs, got);
    close_bench(&b);
  }
}

static void test_without_memory(void **state) {
  (void)state;
  bench b;
  ox_slab a, c;
  open_bench(&b, 0);
  assert_true(ox_slabs_take(&b.slabs, &b.account, 1000, NULL, &a));
  b.count.fail_at = 0;
  assert_false(ox_slabs_take(&b.slabs, &b.account, 1000, NULL, &c)); /* the other one is in use */
  ox_slabs_give(&b.slabs, a);
  assert_true(ox_slabs_take(&b.slabs, &b.account, 1000, NULL, &c));
  assert_ptr_equal(c.at, a.at);
  ox_slabs_give(&b.slabs, c);
  assert_false(ox_slabs_take(&b.slabs, &b.account, SIZE_MAX, NULL, &c));
  close_bench(&b);
}

static void test_trim_frees_what_is_free(void **state) {
  (void)state;
  bench b;
  ox_slab a, c;
  open_bench(&b, 0);
  assert_true(ox_slabs_take(&b.slabs, &b.account, 1000, NULL, &a));
  assert_true(ox_slabs_take(&b.slabs, &b.account, 2000, NULL, &c));
  ox_slabs_give(&b.slabs, a);
  ox_slabs_trim(&b.slabs);
  assert_int_equal(atomic_load(&b.count.live_bytes), 2000);
  ox_slabs_give(&b.slabs, c);
  ox_slabs_trim(&b.slabs);
  assert_int_equal(atomic_load(&b.count.live), 0);
  close_bench(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_which_slab_it_is),
      cmocka_unit_test(test_without_memory),
      cmocka_unit_test(test_trim_frees_what_is_free),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

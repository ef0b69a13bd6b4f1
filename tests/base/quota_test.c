/* SPDX-License-Identifier: Apache-2.0
 * base/quota_test.c - what a limit lets through, what it says, and who frees it. */
#include "base/quota.h"

#include <pthread.h>
#include <string.h>

#include "support/check.h"
#include "support/counting_alloc.h"

static void test_the_limit_is_exact(void **state) {
  static const struct {
    size_t limit, has, wants;
    bool fits;
  } cases[] = {
      {0, 0, 0, true},      {0, 0, 1, false},          {100, 0, 100, true},
      {100, 0, 101, false}, {100, 60, 40, true},       {100, 60, 41, false},
      {100, 100, 0, true},  {100, 1, SIZE_MAX, false}, {SIZE_MAX, 100, 1 << 20, true},
  };
  (void)state;
  for (size_t i = 0; i < OX_COUNT(cases); i++) {
    counting_alloc count = {.fail_at = -1};
    ox_quota *q = ox_quota_create(counting_alloc_of(&count), cases[i].limit);
    ox_alloc a = ox_quota_alloc(q);
    void *first = ox_new(a, cases[i].has), *second = ox_new(a, cases[i].wants);
    assert_non_null(first);
    if ((second != NULL) != cases[i].fits) fail_msg("case %zu", i);
    assert_int_equal(ox_quota_refusals(q), !cases[i].fits);
    ox_delete(a, second, cases[i].wants);
    ox_delete(a, first, cases[i].has);
    assert_int_equal(ox_quota_left(q), cases[i].limit); /* all is back */
    ox_quota_release(q);
    assert_int_equal(count.live, 0);
  }
}

static void test_only_what_was_refused_is_explained(void **state) {
  (void)state;
  counting_alloc count = {.fail_at = -1};
  ox_quota *q = ox_quota_create(counting_alloc_of(&count), 100);
  ox_alloc a = ox_quota_alloc(q);
  void *p = ox_new(a, 70);
  assert_null(ox_quota_explain(q, 0, "most", NULL));
  CHECK_FAILS(ox_quota_explain(q, 0, "most", ox_oom()), OX_OUT_OF_MEMORY, "out of memory"); /* nobody was refused */
  assert_null(ox_new(a, 31));
  CHECK_FAILS(ox_quota_explain(q, 0, "most", ox_fail(OX_FAIL, "else")), OX_FAIL, "else");
  CHECK_FAILS(ox_quota_explain(q, 0, "most", ox_status_note(ox_oom(), "node")), OX_LIMIT,
              "node: out of memory: wanted 31 bytes; 70 are in use, most is 100");
  CHECK_FAILS(ox_quota_explain(q, 1, "most", ox_oom()), OX_OUT_OF_MEMORY, ""); /* it was before */
  ox_quota_raise(q, 101);
  ox_quota_raise(q, 50); /* never lower */
  void *second = ox_new(a, 31);
  assert_non_null(second);
  count.fail_at = count.calls;
  ox_quota_raise(q, SIZE_MAX);
  assert_null(ox_new(a, 1)); /* the system's fault */
  assert_int_equal(ox_quota_refusals(q), 1);
  assert_int_equal(ox_quota_left(q), SIZE_MAX - 101);
  ox_quota_release(q); /* before its blocks */
  assert_int_equal(count.live, 3);
  ox_delete(a, p, 70);
  ox_delete(a, second, 31);
  assert_int_equal(count.live, 0);
}

typedef struct {
  ox_alloc alloc;
  void *idle;
  int calls;
} hoard;

static void give_up(void *ctx) {
  hoard *h = ctx;
  ox_delete(h->alloc, h->idle, 80);
  h->idle = NULL, h->calls++;
}

static void test_what_is_idle_goes_first(void **state) {
  (void)state;
  counting_alloc count = {.fail_at = -1};
  ox_quota *q = ox_quota_create(counting_alloc_of(&count), 100);
  hoard h = {ox_quota_alloc(q), NULL, 0};
  h.idle = ox_new(h.alloc, 80);
  ox_quota_set_trim(q, give_up, &h);
  void *p = ox_new(h.alloc, 90);
  assert_non_null(p);
  assert_int_equal(h.calls, 1);
  assert_int_equal(ox_quota_refusals(q), 0);
  assert_null(ox_new(h.alloc, 90)); /* nothing idle is left */
  assert_int_equal(h.calls, 2);
  ox_delete(h.alloc, p, 90);
  ox_quota_release(q);
  assert_int_equal(count.live, 0);
}

enum { THREADS = 4, TURNS = 20000 };

static void *take_and_give(void *ctx) {
  ox_alloc a = ox_quota_alloc(ctx);
  for (int i = 0; i < TURNS; i++) {
    void *p = ox_new(a, 40);
    ox_delete(a, p, 40);
  }
  return NULL;
}

/* Two of four fit at once; the most that ever lives is the limit. */
static void test_many_threads_share_it(void **state) {
  (void)state;
  counting_alloc count = {.fail_at = -1};
  ox_quota *q = ox_quota_create(counting_alloc_of(&count), 80);
  long before = count.live_bytes;
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, take_and_give, q), 0);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  assert_true(count.peak_bytes - before <= 80);
  assert_int_equal(ox_quota_left(q), 80);
  ox_quota_release(q);
  assert_int_equal(count.live, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_limit_is_exact),
      cmocka_unit_test(test_only_what_was_refused_is_explained),
      cmocka_unit_test(test_what_is_idle_goes_first),
      cmocka_unit_test(test_many_threads_share_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

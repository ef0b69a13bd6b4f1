/* SPDX-License-Identifier: Apache-2.0
 * task/policy/fair_test.c - who naps, when callers get more processor time than others: small stories told in
 * milliseconds. */
#include "task/policy/fair.h"

#include <string.h>

#include "support/check.h"
#include "base/macros.h"

enum { CALLERS = 3, MS = 1000 * 1000 };

typedef struct step {
  uint32_t who;
  uint64_t at_ms, cpu_ms, sleeps;
  bool ahead; /* expected */
} step;

static const struct {
  const char *name;
  step steps[10];
} stories[] = {
    {"alone", {{0, 1, 0, 0, false}, {0, 20, 19, 0, false}, {0, 40, 39, 0, false}}},
    {"two, one gets more: who is 3 ms ahead naps, until the other has caught up",
     {{0, 1, 0, 0, false},
      {1, 1, 0, 0, false},
      {1, 3, 1, 0, false},
      {0, 4, 3, 0, false},
      {0, 5, 4, 0, false}, /* 3 ms ahead */
      {0, 7, 6, 0, true},
      {1, 9, 3, 0, false},
      {0, 9, 6, 0, false}}},
    {"who slept since the last look does not count",
     {{0, 1, 0, 0, false},
      {1, 1, 0, 0, false},
      {0, 11, 10, 0, false},
      {1, 12, 1, 1, false}, /* brought to 10 ms */
      {0, 16, 15, 0, false},
      {1, 17, 2, 2, false},
      {1, 18, 3, 2, false}, /* competes, from 15 ms on */
      {0, 21, 20, 0, true}}},
    {"a newcomer begins where the last one is",
     {{0, 100, 0, 0, false},
      {0, 110, 10, 0, false},
      {0, 120, 20, 0, false},
      {2, 120, 500, 7, false},
      {2, 122, 501, 7, false},
      {0, 123, 21, 0, false},
      {2, 130, 504, 7, false}, /* 24 ms against 21 */
      {2, 131, 506, 7, true}}},
    {"who was away for 50 ms neither counts nor catches up",
     {{0, 1, 0, 0, false},
      {1, 1, 0, 0, false},
      {0, 10, 1, 0, false},
      {1, 10, 1, 0, false},
      {0, 62, 53, 0, false}, /* too long ago as well: its own account is only brought near */
      {0, 70, 61, 0, false},
      {1, 90, 2, 0, false},
      {1, 91, 3, 0, false}}},
};

static void stories_end_well(void **state) {
  (void)state;
  for (size_t k = 0; k < OX_COUNT(stories); k++) {
    ox_fair fair;
    ox_fair_look looks[CALLERS];
    memset(&fair, 0, sizeof fair), memset(looks, 0, sizeof looks);
    for (size_t i = 0; i < OX_COUNT(stories[k].steps) && stories[k].steps[i].at_ms; i++) {
      const step *s = &stories[k].steps[i];
      ox_thread_usage usage = {s->cpu_ms * MS, s->sleeps};
      bool ahead = ox_fair_is_ahead(&fair, s->who, &looks[s->who], s->at_ms * MS, usage);
      if (ahead != s->ahead) fail_msg("%s: step %d: ahead is %d", stories[k].name, (int)i, ahead);
    }
  }
}

/* More callers than accounts, and callers that change between pools, are only less exact. */
static void any_number_has_an_account(void **state) {
  (void)state;
  ox_fair fairs[2];
  memset(fairs, 0, sizeof fairs);
  static const uint32_t numbers[] = {0, 1, OX_FAIR_ACCOUNTS - 1, OX_FAIR_ACCOUNTS, 1000001, UINT32_MAX};
  for (size_t k = 0; k < OX_COUNT(numbers); k++) {
    ox_fair_look look = {0};
    for (uint64_t i = 1; i < 20; i++)
      (void)ox_fair_is_ahead(&fairs[i % 2], numbers[k], &look, i * MS, (ox_thread_usage){i * MS, 0});
  }
}

/* A simulation: processor time is dealt out unevenly, but not to who naps. */
static void shares_become_equal(void **state) {
  (void)state;
  static const double speed[CALLERS] = {0.9, 0.6, 0.5};
  ox_fair fair;
  ox_fair_look looks[CALLERS];
  memset(&fair, 0, sizeof fair), memset(looks, 0, sizeof looks);
  double cpu[CALLERS] = {0};
  bool naps[CALLERS] = {false};
  for (uint64_t t = 1; t < 2000; t++) { /* half milliseconds */
    for (uint32_t i = 0; i < CALLERS; i++) {
      if (!naps[i]) cpu[i] += speed[i] * MS / 2;
      ox_thread_usage usage = {(uint64_t)cpu[i], 0};
      naps[i] = ox_fair_is_ahead(&fair, i, &looks[i], t * MS / 2, usage);
    }
  }
  assert_true(cpu[2] > 490.0 * MS); /* the last never napped */
  assert_true(cpu[0] - cpu[2] < 5.0 * MS && cpu[1] - cpu[2] < 5.0 * MS);
}

static ox_thread_usage usage_now(void) {
  ox_thread_usage u = {0, 0};
  (void)ox_thread_get_usage(&u);
  return u;
}

static void usage_tells_work_from_sleep(void **state) {
  (void)state;
  ox_thread_usage a;
  if (!ox_thread_get_usage(&a)) skip();
  uint64_t start = ox_thread_cpu_ns();
  while (ox_thread_cpu_ns() - start < 20 * MS) {
  }
  ox_thread_usage b = usage_now();
  ox_thread_nap(2 * MS);
  ox_thread_usage c = usage_now();
  assert_true(b.cpu_ns - a.cpu_ns >= 19 * MS && b.sleeps == a.sleeps);
  assert_true(c.sleeps > b.sleeps && c.cpu_ns - b.cpu_ns < 2 * MS);
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(stories_end_well),
      cmocka_unit_test(any_number_has_an_account),
      cmocka_unit_test(shares_become_equal),
      cmocka_unit_test(usage_tells_work_from_sleep),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

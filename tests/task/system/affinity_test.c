/* SPDX-License-Identifier: Apache-2.0
 * task/system/affinity_test.c - strings that are right and strings that are not; pinned workers. */
#include "task/system/affinity.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "support/check.h"

static const struct {
  const char *text;
  uint64_t masks[3]; /* of the first 64 processors; 0 ends */
} good[] = {
    {"1", {1}},   {"1;2", {1, 2}}, {"1,2;3-4;5", {3, 12, 16}}, {"1-3,5,7-8", {0xd7}}, {"64;1-64", {1ull << 63, ~0ull}},
    {"2,2", {2}},
};

static const struct {
  const char *text;
  uint32_t n;
  const char *part;
} bad[] = {
    {"", 1, "position 1"},
    {"1;2", 1, "more entries"},
    {"1", 2, "1 entries for 2"},
    {"0", 1, "position"},
    {"1,", 1, "position"},
    {"1;", 2, "position"},
    {";1", 2, "position 1"},
    {"2-1", 1, "position"},
    {"1-", 1, "position"},
    {"a", 1, "position 1"},
    {"1 ", 1, "position 2"},
    {"1025", 1, "position"},
    {"99999999999999999999", 1, "position"},
    {"-1", 1, "position 1"},
    {"1--2", 1, "position"},
    {"1", 0, "more entries"},
};

static void good_strings_are_read(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(good); i++) {
    uint32_t n = 0;
    while (n < 3 && good[i].masks[n]) n++;
    ox_cpu_mask masks[3];
    CHECK_OK(ox_affinity_parse(good[i].text, n, masks));
    for (uint32_t k = 0; k < n; k++)
      if (masks[k].bits[0] != good[i].masks[k] || masks[k].bits[1])
        fail_msg("\"%s\", entry %u", good[i].text, (unsigned)k);
  }
  ox_cpu_mask last;
  CHECK_OK(ox_affinity_parse("1024", 1, &last));
  assert_true(last.bits[15] == 1ull << 63);
}

static void bad_strings_are_explained(void **state) {
  (void)state;
  ox_cpu_mask masks[4];
  for (size_t i = 0; i < OX_COUNT(bad); i++)
    CHECK_FAILS(ox_affinity_parse(bad[i].text, bad[i].n, masks), OX_INVALID_ARGUMENT, bad[i].part);
}

static int cpus_of(const ox_cpu_mask *mask) {
  int n = 0;
  for (size_t i = 0; i < OX_COUNT(mask->bits); i++) n += __builtin_popcountll(mask->bits[i]);
  return n;
}

static atomic_int counts[3];
static ox_status *note_mask(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  (void)begin, (void)end;
  ox_cpu_mask set = ox_thread_mask();
  if (worker) atomic_store(&((atomic_int *)ctx)[worker], cpus_of(&set));
  for (volatile int i = 0; i < 20000; i++) {
  }
  return NULL;
}

static void workers_are_pinned(void **state) {
  (void)state;
  ox_cpu_mask mine = ox_thread_mask();
  if (!cpus_of(&mine)) skip(); /* the system has no masks */
  int cpu = 0;
  while (!(mine.bits[cpu / 64] >> cpu % 64 & 1)) cpu++;
  char text[64];
  snprintf(text, sizeof text, "%d;1000", cpu + 1); /* the second may not be used: that worker stays where it likes */
  ox_pool_opts o = {.struct_size = sizeof o, .n_threads = 3, .affinity = text};
  ox_pool *pool;
  CHECK_OK(ox_pool_create(&o, &pool));
  for (int i = 0; i < 2000 && !(atomic_load(&counts[1]) && atomic_load(&counts[2])); i++)
    CHECK_OK(ox_task_for(pool, 64, note_mask, counts));
  if (counts[1]) assert_int_equal(counts[1], 1);
  if (counts[2]) assert_int_equal(counts[2], cpus_of(&mine));
  ox_pool_destroy(pool);
  o.n_threads = 2;
  CHECK_FAILS(ox_pool_create(&o, &pool), OX_INVALID_ARGUMENT, "more entries");
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(good_strings_are_read),
      cmocka_unit_test(bad_strings_are_explained),
      cmocka_unit_test(workers_are_pinned),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

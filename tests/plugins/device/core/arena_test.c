/* SPDX-License-Identifier: Apache-2.0
 * plugins/device/core/arena_test.c - device memory cut from blocks: nothing overlaps, what is given back is used again,
 * limits hold and are named. */
#include "plugins/device/arena.h"

#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "ep/host.h"
#include "plugins/device/core/fake_driver.h"
#include "support/check.h"
#include "support/counting_alloc.h"

enum { KB = 1024, MB = 1024 * KB };

static ox_ep_services services;
static ox_ep_host host;
static counting_alloc counter;

static void make(dev_arena *a, size_t room, size_t limit, dev_extend extend) {
  static const ox_ep_api api = {.struct_size = sizeof api};
  counter = (counting_alloc){.fail_at = -1};
  services = (ox_ep_services){.alloc = counting_alloc_of(&counter)};
  host = ox_ep_host_make(&services, &api);
  fake_driver = (struct fake_driver){.room = room};
  CHECK_OK(dev_arena_init(a, &host, NULL, limit, extend));
}

static void end(dev_arena *a) {
  dev_arena_deinit(a);
  assert_int_equal(fake_driver.blocks, 0);
  assert_int_equal(atomic_load(&counter.live), 0);
}

/* Takes of these sizes one after the other: how many blocks that makes, and whether the last one fails. */
static const struct {
  const char *name;
  dev_extend extend;
  size_t room, limit, n, sizes[4], blocks;
  const char *error; /* of the last take */
} takes[] = {
    {"no bytes are some", DEV_SAME_AS_REQUESTED, MB, 0, 2, {0, 0}, 2, NULL},
    {"small ones share a block", DEV_NEXT_POWER_OF_TWO, 64 * MB, 0, 4, {1, 300, 4 * KB, 100 * KB}, 1, NULL},
    {"blocks double", DEV_NEXT_POWER_OF_TWO, 64 * MB, 0, 4, {MB, 2 * MB, 4 * MB, 3 * MB}, 4, NULL},
    {"a large one has its own", DEV_NEXT_POWER_OF_TWO, 64 * MB, 0, 2, {20 * MB, KB}, 2, NULL},
    {"as requested", DEV_SAME_AS_REQUESTED, 64 * MB, 0, 4, {KB, 2 * KB, 3 * KB, 4 * KB}, 4, NULL},
    {"less than a block is left", DEV_NEXT_POWER_OF_TWO, 100 * KB, 0, 1, {50 * KB}, 1, NULL},
    {"nothing is left", DEV_NEXT_POWER_OF_TWO, 100 * KB, 0, 2, {50 * KB, 60 * KB}, 1, "fake: 61440 bytes"},
    {"up to the limit", DEV_NEXT_POWER_OF_TWO, 64 * MB, 64 * KB, 2, {32 * KB, 32 * KB}, 1, NULL},
    {"over the limit",
     DEV_SAME_AS_REQUESTED,
     64 * MB,
     64 * KB,
     2,
     {32 * KB, 33 * KB},
     1,
     "33792 bytes of device memory: 32768 of at most 65536 are in use"},
    {"more than there are numbers", DEV_SAME_AS_REQUESTED, 64 * MB, 0, 1, {SIZE_MAX}, 0, "out of memory"},
};

static void test_takes(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(takes); i++) {
    dev_arena a;
    ox_status *st = NULL;
    void *address[4] = {0};
    make(&a, takes[i].room, takes[i].limit, takes[i].extend);
    for (size_t k = 0; k < takes[i].n && !st; k++) st = dev_arena_take(&a, takes[i].sizes[k], &address[k]);
    if (strcmp(ox_status_message(st), takes[i].error ? takes[i].error : "") != 0)
      fail_msg("%s: '%s'", takes[i].name, ox_status_message(st));
    if (fake_driver.blocks != takes[i].blocks) fail_msg("%s: %zu blocks", takes[i].name, fake_driver.blocks);
    ox_status_free(st);
    for (size_t k = 0; k < 4; k++) dev_arena_give(&a, address[k]);
    assert_int_equal(a.taken, 0);
    end(&a);
  }
}

/* Pieces at random: none overlaps another, all lie at multiples of 256, and in the end the blocks are whole again. */
static void test_pieces_at_random(void **state) {
  (void)state;
  enum { PIECES = 64, ROUNDS = 20000 };
  struct {
    char *at;
    size_t bytes;
  } piece[PIECES] = {{0}};
  dev_arena a;
  make(&a, 1024 * (size_t)MB, 0, DEV_NEXT_POWER_OF_TWO);
  srand(7);
  for (int round = 0; round < ROUNDS; round++) {
    size_t k = (size_t)rand() % PIECES;
    if (piece[k].at) {
      dev_arena_give(&a, piece[k].at);
      piece[k].at = NULL;
      continue;
    }
    void *at;
    piece[k].bytes = 1 + (size_t)rand() % (rand() % 8 ? 4 * KB : 200 * KB);
    CHECK_OK(dev_arena_take(&a, piece[k].bytes, &at));
    piece[k].at = at;
    assert_int_equal((uintptr_t)at % 256, 0);
    for (size_t j = 0; j < PIECES; j++)
      if (j != k && piece[j].at && piece[j].at < piece[k].at + piece[k].bytes &&
          piece[k].at < piece[j].at + piece[j].bytes)
        fail_msg("round %d: piece %zu lies in piece %zu", round, k, j);
  }
  size_t allocs = fake_driver.allocs;
  assert_in_range(allocs, 1, 6); /* 64 pieces of 200 KB at most */
  for (size_t k = 0; k < PIECES; k++) dev_arena_give(&a, piece[k].at);
  assert_int_equal(fake_driver.blocks, allocs);
  dev_arena_shrink(&a);
  assert_int_equal(fake_driver.blocks, 0);
  assert_int_equal(a.total, 0);
  end(&a);
}

static void test_a_repeated_take_allocates_nothing(void **state) {
  (void)state;
  dev_arena a;
  void *x, *y;
  long before = 0;
  make(&a, 64 * MB, 0, DEV_NEXT_POWER_OF_TWO);
  for (int i = 0; i < 5; i++) {
    CHECK_OK(dev_arena_take(&a, 10 * KB, &x));
    CHECK_OK(dev_arena_take(&a, 90 * KB, &y));
    dev_arena_give(&a, x);
    dev_arena_give(&a, y);
    if (i == 0) before = atomic_load(&counter.calls);
  }
  assert_int_equal(atomic_load(&counter.calls), before);
  assert_int_equal(fake_driver.allocs, 1);
  end(&a);
}

static void test_every_allocation_fails_once(void **state) {
  (void)state;
  for (long n = 0;; n++) {
    dev_arena a;
    void *x = NULL, *y = NULL;
    make(&a, 64 * MB, 0, DEV_NEXT_POWER_OF_TWO);
    counter.fail_at = n;
    ox_status *st = dev_arena_take(&a, KB, &x);
    if (!st) st = dev_arena_take(&a, 3 * MB, &y);
    bool reached = atomic_load(&counter.calls) > n;
    counter.fail_at = -1;
    ox_status_free(st);
    dev_arena_give(&a, x);
    dev_arena_give(&a, y);
    assert_int_equal(a.taken, 0);
    end(&a);
    if (!reached) break;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_takes), cmocka_unit_test(test_pieces_at_random),
                                     cmocka_unit_test(test_a_repeated_take_allocates_nothing),
                                     cmocka_unit_test(test_every_allocation_fails_once)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

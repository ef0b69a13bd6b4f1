/* SPDX-License-Identifier: Apache-2.0
 * plan/pack_room_test.c - pieces of any size: aligned, apart from each other, few blocks for small ones; and no memory.
 */
#include "plan/pack_room.h"

#include <stdint.h>
#include <string.h>

#include "base/macros.h"
#include "support/check.h"
#include "support/counting_alloc.h"

enum { KB = 1 << 10, MB = 1 << 20, PIECES = 200 };

/* The edges first, then all sorts. */
static size_t size_of(int i) {
  static const size_t edges[] = {0,           1,      63,         64,    65, 256 * KB - 64, 256 * KB, 256 * KB + 1,
                                 2 * MB - 64, 2 * MB, 2 * MB + 1, 9 * MB};
  return i < (int)OX_COUNT(edges) ? edges[i] : (size_t)(i * 7919) % (150 * KB);
}

static void test_pieces_are_apart(void **state) {
  counting_alloc count = {.fail_at = -1};
  ox_pack_room r;
  unsigned char *p[PIECES];
  (void)state;
  ox_pack_room_init(&r, counting_alloc_of(&count));
  assert_int_equal(count.calls, 0);
  for (int i = 0; i < PIECES; i++) {
    p[i] = ox_pack_room_take(&r, size_of(i));
    assert_non_null(p[i]);
    assert_int_equal((uintptr_t)p[i] % OX_ALIGN_BYTES, 0);
    memset(p[i], i, size_of(i));
  }
  for (int i = 0; i < PIECES; i++)
    for (size_t k = 0; k < size_of(i); k++)
      if (p[i][k] != (unsigned char)i) fail_msg("byte %zu of piece %d is another's", k, i);
  assert_true(count.live <= 2 * 16); /* a block, and what tells of it */
  ox_pack_room_deinit(&r);
  assert_int_equal(count.live, 0);
}

static void test_a_small_plan_takes_little(void **state) {
  counting_alloc count = {.fail_at = -1};
  ox_pack_room r;
  (void)state;
  ox_pack_room_init(&r, counting_alloc_of(&count));
  for (size_t used = 0; used < 20 * MB; used += 40 * KB) {
    assert_non_null(ox_pack_room_take(&r, 40 * KB));
    assert_true((size_t)count.live_bytes <= OX_MAX(2 * (used + 40 * KB), (size_t)512 * KB) + 300 * KB);
  }
  ox_pack_room_deinit(&r);
  assert_int_equal(count.live, 0);
}

static void test_without_memory(void **state) {
  (void)state;
  bool ok = false;
  for (long at = 0; !ok; at++) {
    counting_alloc count = {.fail_at = at};
    ox_pack_room r;
    ok = true;
    ox_pack_room_init(&r, counting_alloc_of(&count));
    for (int i = 0; i < PIECES; i++) ok = ox_pack_room_take(&r, size_of(i)) && ok;
    assert_null(ox_pack_room_take(&r, SIZE_MAX));
    ox_pack_room_deinit(&r);
    assert_int_equal(count.live, 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_pieces_are_apart),
                                     cmocka_unit_test(test_a_small_plan_takes_little),
                                     cmocka_unit_test(test_without_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

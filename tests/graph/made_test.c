/* SPDX-License-Identifier: Apache-2.0
 * graph/made_test.c - constants that can be made again: their pages go when the last reader closes, once nobody else reads
 * them, and the bytes come back. */
#include <string.h>

#include "graph/made.h"
#include "support/check.h"
#include "support/counting_alloc.h"

static int made; /* how often */

static void add_up(const ox_tensor *from, const void *arg, void *to) {
  for (size_t i = 0; i < from->bytes; i++)
    ((unsigned char *)to)[i] = (unsigned char)(((const unsigned char *)from->data)[i] + *(const int *)arg);
  made++;
}

static void check(const void *data, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (((const unsigned char *)data)[i] != (unsigned char)(i * 7 + 5)) fail_msg("byte %zu of %zu is wrong", i, n);
}

static void test_bytes_come_back(void **state) {
  static const size_t sizes[] = {0, 1, 4095, (64 << 10) - 1, 64 << 10, (64 << 10) + 1, 300001, 5 << 20};
  static unsigned char source[5 << 20];
  (void)state;
  for (size_t i = 0; i < sizeof source; i++) source[i] = (unsigned char)(i * 7);
  for (size_t i = 0; i < OX_COUNT(sizes); i++) {
    counting_alloc count = {.fail_at = -1};
    const ox_tensor from = {.dtype = OX_U8, .data = source, .bytes = sizes[i]};
    const int five = 5;
    void *data;
    ox_model *m;
    CHECK_OK(ox_model_create(counting_alloc_of(&count), NULL, &m));
    made = 0;
    CHECK_OK(ox_made_add(m, sizes[i], &from, add_up, &five, &data));
    const ox_tensor t = {.dtype = OX_U8, .data = data, .bytes = sizes[i]}, other = {.data = source};
    check(data, sizes[i]);
    ox_made_open(m, &t); /* others still read it: it stays */
    ox_made_close(m, &t);
    assert_int_equal(made, 1);
    check(data, sizes[i]);
    ox_made_spent(m, &t);
    ox_made_open(m, &t);
    ox_made_open(m, &t);
    ox_made_close(m, &t);
    assert_int_equal(made, 1); /* one reader is left */
    check(data, sizes[i]);
    ox_made_close(m, &t);
#if defined(__linux__)
    if (sizes[i] >= 64 << 10) {
      assert_int_equal(((unsigned char *)data)[4096], 0);
      ox_made_close(m, &other), ox_made_open(m, &other), ox_made_spent(m, &other); /* not one of them */
      ox_made_open(m, &t);
      assert_int_equal(made, 2);
      check(data, sizes[i]);
      ox_made_close(m, &t);
    }
#endif
    ox_model_destroy(m);
    assert_int_equal(count.live, 0);
  }
}

static void test_without_memory(void **state) {
  (void)state;
  const ox_tensor from = {.dtype = OX_U8, .data = (unsigned char[1]){0}, .bytes = 1};
  bool ok = false;
  for (long at = 0; !ok; at++) {
    counting_alloc count = {.fail_at = at};
    ox_model *m = NULL;
    void *data;
    ox_status *st = ox_model_create(counting_alloc_of(&count), NULL, &m);
    if (!st) st = ox_made_add(m, 1 << 20, &from, add_up, &(int){1}, &data);
    ok = !st;
    if (st) assert_int_equal(ox_status_code(st), OX_OUT_OF_MEMORY);
    ox_status_free(st);
    ox_model_destroy(m);
    assert_int_equal(count.live, 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_bytes_come_back), cmocka_unit_test(test_without_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

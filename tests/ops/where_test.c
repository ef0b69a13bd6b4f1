/* SPDX-License-Identifier: Apache-2.0
 * ops/where_test.c - Where of elements of every size, its condition one for a row, a column or each element. */
#include <string.h>

#include "support/check.h"
#include "support/levels.h"
#include "support/one_node.h"

enum { ROWS = 5, COLUMNS = 67, N = ROWS * COLUMNS };

/* |c|, |x|, |y|: which of the two dimensions each has. */
static void check(size_t level, uint32_t dtype, size_t size, unsigned c, unsigned x, unsigned y) {
  static uint8_t cond[N], a[N * 16], b[N * 16];
  const unsigned has[3] = {c, x, y};
  one_node n;
  one_node_init(&n, "", "Where", 16, 1);
  n.isa = test_levels[level].have;
  for (int i = 0; i < N; i++) cond[i] = i * 7919 % 3 != 0;
  for (size_t i = 0; i < N * size; i++) a[i] = (uint8_t)(i * 7), b[i] = (uint8_t)(i * 13 + 1);
  int64_t dims[3][2], strides[3][2];
  for (int k = 0; k < 3; k++) {
    dims[k][0] = has[k] & 1 ? ROWS : 1, dims[k][1] = has[k] & 2 ? COLUMNS : 1;
    strides[k][0] = has[k] & 1 ? dims[k][1] : 0, strides[k][1] = has[k] & 2 ? 1 : 0;
  }
  one_node_input(&n, OX_BOOL, 2, dims[0], cond);
  one_node_input(&n, dtype, 2, dims[1], a), one_node_input(&n, dtype, 2, dims[2], b);
  CHECK_OK(one_node_run(&n));
  const int64_t *out = n.out[0].shape.dim;
  for (int64_t i = 0; i < out[0] * out[1]; i++) {
    size_t at[3];
    for (int k = 0; k < 3; k++) at[k] = (size_t)(i / out[1] * strides[k][0] + i % out[1] * strides[k][1]);
    const uint8_t *want = cond[at[0]] ? a + at[1] * size : b + at[2] * size;
    if (memcmp((const char *)n.out[0].data + (size_t)i * size, want, size) != 0)
      fail_msg("%s, %zu bytes, condition %u, x %u, y %u: element %d", test_levels[level].name, size, c, x, y, (int)i);
  }
  one_node_deinit(&n);
}

static void test_broadcasts(void **state) {
  (void)state;
  static const struct {
    uint32_t dtype;
    size_t size;
  } types[] = {{OX_U8, 1}, {OX_F16, 2}, {OX_F32, 4}, {OX_I64, 8}, {OX_C128, 16}};
  for (size_t l = 0; level_next(&l); l++)
    for (size_t t = 0; t < OX_COUNT(types); t++)
      for (unsigned k = 0; k < 64; k++) check(l, types[t].dtype, types[t].size, k & 3, k >> 2 & 3, k >> 4);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_broadcasts)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

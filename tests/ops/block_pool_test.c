/* SPDX-License-Identifier: Apache-2.0
 * ops/block_pool_test.c - BlockMaxPool and BlockAveragePool as nodes against MaxPool and AveragePool, element by
 * element and without tolerance: attributes, shapes, NaN within a window. Sums themselves: kern/window_test.c. */
#include "support/check.h"

#include <math.h>
#include <string.h>

#include "base/macros.h"
#include "support/block_layout.h"
#include "support/one_node.h"

typedef struct pool_case {
  int axes;
  int64_t n, channels, x[3], kernel[3], stride[3], dilation[3], pads[6];
  bool ceil, include_pad;
  const char *auto_pad;
} pool_case;

#define ONES \
  { 1, 1, 1 }
static const pool_case cases[] = {
    {2, 1, 1, {1, 1}, {1, 1}, ONES, ONES, {0}, 0, 0, NULL},
    {2, 0, 5, {4, 4}, {2, 2}, ONES, ONES, {0}, 0, 0, NULL},
    {2, 1, 64, {20, 22}, {3, 3}, {2, 2}, ONES, {1, 1, 1, 1}, 0, 0, NULL},
    {2, 2, 17, {9, 14}, {2, 2}, {2, 2}, ONES, {0}, 0, 0, NULL},
    {2, 2, 17, {9, 14}, {2, 2}, {2, 2}, ONES, {0}, 1, 0, NULL},
    {2, 1, 33, {9, 14}, {3, 3}, {2, 2}, ONES, {0, 1, 1, 0}, 1, 0, NULL},
    {2, 1, 33, {9, 14}, {3, 3}, {2, 2}, ONES, {0, 1, 1, 0}, 1, 1, NULL},
    {2, 1, 33, {9, 14}, {3, 3}, {2, 2}, ONES, {1, 1, 1, 1}, 0, 1, NULL},
    {2, 1, 20, {13, 13}, {5, 5}, ONES, ONES, {2, 2, 2, 2}, 0, 0, NULL},
    {2, 1, 20, {13, 13}, {13, 13}, ONES, ONES, {6, 6, 6, 6}, 0, 0, NULL},
    {2, 1, 20, {13, 11}, {3, 2}, {1, 2}, {2, 3}, {1, 2, 1, 2}, 0, 1, NULL},
    {2, 1, 7, {10, 11}, {3, 4}, {2, 3}, ONES, {0}, 0, 0, "SAME_UPPER"},
    {2, 1, 7, {10, 11}, {3, 4}, {2, 3}, ONES, {0}, 0, 1, "SAME_LOWER"},
    {2, 1, 7, {10, 11}, {3, 4}, {2, 3}, ONES, {0}, 0, 0, "VALID"},
    {2, 1, 3, {1, 5}, {2, 2}, {2, 2}, ONES, {0}, 0, 0, NULL}, /* longer than the input by less than a stride */
    {2, 1, 3, {1, 4}, {3, 2}, {2, 1}, ONES, {0}, 0, 0, NULL}, /* ... and more: nothing */
    {1, 2, 18, {50}, {3}, {2}, {2}, {1, 1}, 0, 0, NULL},
    {3, 1, 18, {5, 6, 7}, {2, 3, 3}, {1, 2, 2}, ONES, {0, 1, 1, 1, 1, 1}, 0, 0, NULL},
};

enum { MOST = 1 << 16 };
static float plain[MOST], blocks[MOST];

static int64_t pixels_of(const pool_case *c) {
  int64_t n = 1;
  for (int i = 0; i < c->axes; i++) n *= c->x[i];
  return n;
}

static void start(one_node *n, const pool_case *c, bool in_blocks, const char *op) {
  const char *block_op = op[0] == 'A' ? "BlockAveragePool" : "BlockMaxPool";
  size_t axes = (size_t)c->axes;
  one_node_init(n, in_blocks ? "ai.onyx" : "", in_blocks ? block_op : op, in_blocks ? 1 : 22, 1);
  one_node_ints(n, "kernel_shape", axes, c->kernel), one_node_ints(n, "strides", axes, c->stride);
  one_node_ints(n, "dilations", axes, c->dilation), one_node_int(n, "ceil_mode", c->ceil);
  if (c->auto_pad)
    one_node_str(n, "auto_pad", c->auto_pad);
  else
    one_node_ints(n, "pads", 2 * axes, c->pads);
  if (op[0] == 'A') one_node_int(n, "count_include_pad", c->include_pad);
  int64_t dims[6] = {c->n, in_blocks ? (c->channels + 15) / 16 : c->channels, c->x[0], c->x[1], c->x[2]};
  dims[c->axes + 2] = 16;
  one_node_input(n, OX_F32, c->axes + 2 + in_blocks, dims, in_blocks ? blocks : plain);
}

static void check(const pool_case *c, const char *op, int64_t tiles) {
  one_node got, want;
  start(&got, c, true, op), start(&want, c, false, op);
  got.run_tiles = tiles;
  CHECK_OK(one_node_run(&got));
  CHECK_OK(one_node_run(&want));
  const ox_shape *y = &want.out[0].shape, *yb = &got.out[0].shape;
  assert_int_equal(yb->rank, c->axes + 3);
  assert_int_equal(yb->dim[1], (c->channels + 15) / 16);
  assert_int_equal(yb->dim[c->axes + 2], 16);
  int64_t count = c->n * c->channels, pixels = 1;
  for (int i = 2; i < y->rank; i++) {
    assert_int_equal(y->dim[i], yb->dim[i]);
    pixels *= y->dim[i];
  }
  for (int64_t i = 0; i < count * pixels; i++) {
    float g = ((const float *)got.out[0].data)[block_at(i, c->channels, pixels)],
          w = ((const float *)want.out[0].data)[i];
    if (!(g == w || (isnan(g) && isnan(w))))
      fail_msg("%s, row %d: [%lld] is %g, wanted %g", op, (int)(c - cases), (long long)i, (double)g, (double)w);
  }
  one_node_deinit(&got), one_node_deinit(&want);
}

/* |nan|: one element is NaN, where every window that holds it lies inside. */
static void fill(const pool_case *c, int64_t nan) {
  int64_t pixels = pixels_of(c), n = c->n * c->channels * pixels;
  uint32_t seed = 5;
  memset(blocks, 0xff, sizeof blocks);
  for (int64_t i = 0; i < n; i++) {
    seed = seed * 1664525u + 1013904223u;
    plain[i] = i == nan ? NAN : (float)(seed >> 16 & 1023) / 64 - 8;
    blocks[block_at(i, c->channels, pixels)] = plain[i];
  }
}

static void test_as_the_standard(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(cases); i++)
    for (int64_t tiles = 0; tiles < 2; tiles++) {
      fill(&cases[i], -1);
      check(&cases[i], "MaxPool", tiles), check(&cases[i], "AveragePool", tiles);
    }
}

static void test_nan(void **state) {
  (void)state;
  fill(&cases[2], 3 * 440 + 10 * 22 + 11);
  check(&cases[2], "MaxPool", 0), check(&cases[2], "AveragePool", 0);
}

static void test_refuses(void **state) {
  (void)state;
  const pool_case c = {2, 1, 16, {4, 4}, {2, 2}, ONES, ONES, {0}, 0, 0, NULL};
  one_node n;
  start(&n, &c, true, "MaxPool");
  n.in[0].shape.dim[4] = 8;
  CHECK_FAILS(one_node_run(&n), OX_SHAPE_MISMATCH, "not in blocks");
  one_node_deinit(&n);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_as_the_standard),
      cmocka_unit_test(test_nan),
      cmocka_unit_test(test_refuses),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 * ops/blocks_layout_test.c - ToBlocks and FromBlocks, to channels first and last, on every instruction set, against the
 * index formula of docs/blocks.md: all bits, since nothing is computed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "kern/blocks/blocks.h"
#include "support/block_layout.h"
#include "support/check.h"
#include "support/one_node.h"

static const struct {
  int rank;
  int64_t dim[6];
} cases[] = {
    {2, {3, 5}},        {2, {2, 32}},          {3, {1, 1, 1}},       {3, {2, 16, 1}},       {3, {2, 17, 15}},
    {3, {1, 40, 33}},   {3, {2, 31, 3001}},    {4, {1, 3, 7, 5}},    {4, {2, 16, 4, 4}},    {4, {2, 48, 7, 7}},
    {4, {1, 8, 1, 1}},  {4, {3, 24, 1, 1}},    {4, {1, 20, 61, 50}}, {5, {1, 33, 2, 3, 5}}, {4, {0, 16, 2, 2}},
    {4, {1, 16, 0, 3}}, {5, {2, 16, 3, 4, 4}},
};

static const char *const isas[] = {"scalar", "avx2", "avx512", "neon"};

static void check(int rank, const int64_t *dim, ox_isa isa, int64_t run_tiles) {
  int64_t channels = dim[1], blocks = OX_CEIL_DIV(channels, 16), pixels = 1, blocked[7] = {dim[0], blocks};
  for (int i = 2; i < rank; i++) pixels *= dim[i], blocked[i] = dim[i];
  blocked[rank] = 16;
  int64_t n_plain = dim[0] * channels * pixels, n_blocked = dim[0] * blocks * pixels * 16;
  uint32_t *plain = calloc((size_t)n_plain + 1, 4), *turned = malloc((size_t)(n_blocked + 1) * 4);
  for (int64_t i = 0; i < n_plain; i++) plain[i] = (uint32_t)i * 2654435761u; /* NaNs, infinities and denormals too */
  for (int64_t i = 0; i < n_blocked; i++) turned[i] = 0;
  for (int64_t i = 0; i < n_plain; i++)
    turned[block_place(i / pixels / channels, i / pixels % channels, i % pixels, channels, pixels)] = plain[i];

  one_node n;
  one_node_init(&n, "ai.onyx", "ToBlocks", 1, 1);
  n.isa = isa, n.run_tiles = run_tiles;
  one_node_input(&n, OX_F32, rank, dim, plain);
  CHECK_OK(one_node_run(&n));
  ox_shape want = ox_shape_of(rank + 1, blocked);
  assert_true(ox_shape_equal(&n.out[0].shape, &want));
  assert_memory_equal(n.out[0].data, turned, (size_t)n_blocked * 4);
  one_node_deinit(&n);

  for (int64_t i = 0; i < n_blocked; i++)
    if (i / 16 / pixels % blocks * 16 + i % 16 >= channels) turned[i] = 0x7fc12345; /* must be dropped */
  one_node_init(&n, "ai.onyx", "FromBlocks", 1, 1);
  n.isa = isa, n.run_tiles = run_tiles;
  one_node_int(&n, "channels", channels);
  one_node_input(&n, OX_F32, rank + 1, blocked, turned);
  CHECK_OK(one_node_run(&n));
  want = ox_shape_of(rank, dim);
  assert_true(ox_shape_equal(&n.out[0].shape, &want));
  assert_memory_equal(n.out[0].data, plain, (size_t)n_plain * 4);
  one_node_deinit(&n);

  int64_t last[7] = {dim[0]};
  for (int i = 2; i < rank; i++) last[i - 1] = dim[i];
  last[rank - 1] = channels;
  one_node_init(&n, "ai.onyx", "FromBlocks", 1, 1);
  n.isa = isa, n.run_tiles = run_tiles;
  one_node_int(&n, "channels", channels), one_node_int(&n, "last", 1);
  one_node_input(&n, OX_F32, rank + 1, blocked, turned);
  CHECK_OK(one_node_run(&n));
  want = ox_shape_of(rank, last);
  assert_true(ox_shape_equal(&n.out[0].shape, &want));
  for (int64_t i = 0; i < n_plain; i++) {
    int64_t at = (i / pixels / channels * pixels + i % pixels) * channels + i / pixels % channels;
    assert_int_equal(((uint32_t *)n.out[0].data)[at], plain[i]);
  }
  one_node_deinit(&n);
  free(plain), free(turned);
}

static void test_there_and_back(void **state) {
  (void)state;
  for (size_t k = 0; k < OX_COUNT(isas); k++)
    for (size_t i = 0; i < OX_COUNT(cases); i++) {
      check(cases[i].rank, cases[i].dim, ox_isa_cap(ox_isa_host(), isas[k]), 0);
      check(cases[i].rank, cases[i].dim, ox_isa_cap(ox_isa_host(), isas[k]), 1);
    }
}

static void test_what_does_not_fit_is_refused(void **state) {
  (void)state;
  static const float x[64];
  one_node n;
  one_node_init(&n, "ai.onyx", "ToBlocks", 1, 1);
  one_node_input(&n, OX_F32, 1, (int64_t[]){5}, x);
  CHECK_FAILS(one_node_run(&n), OX_INVALID_MODEL, "X has rank 1, wanted 2 to 15");
  one_node_deinit(&n);
  static const struct {
    int64_t channels, dim[3];
    const char *error;
  } rows[] = {{16, {1, 2, 16}, "X has 2 blocks of 16 channels, wanted 1 of 16"},
              {17, {1, 1, 16}, "X has 1 blocks of 16 channels, wanted 2 of 16"},
              {8, {1, 1, 8}, "X has 1 blocks of 8 channels, wanted 1 of 16"},
              {0, {1, 1, 16}, "channels"}};
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    one_node_init(&n, "ai.onyx", "FromBlocks", 1, 1);
    one_node_int(&n, "channels", rows[i].channels);
    one_node_input(&n, OX_F32, 3, rows[i].dim, x);
    CHECK_FAILS(one_node_run(&n), rows[i].channels ? OX_SHAPE_MISMATCH : OX_INVALID_MODEL, rows[i].error);
    one_node_deinit(&n);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_there_and_back),
                                     cmocka_unit_test(test_what_does_not_fit_is_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 * ops/concat_split_test.c - joining and cutting, short rows and long ones, tile by tile. */
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "support/check.h"
#include "support/one_node.h"

/* rows x (a + b) from two parts, and back. */
static void round_trip(int64_t rows, int64_t a, int64_t b, int64_t tiles) {
  int64_t n = rows * (a + b);
  int32_t *x = calloc((size_t)n + 1, 4), *left = calloc((size_t)(rows * a) + 1, 4),
          *right = calloc((size_t)(rows * b) + 1, 4);
  for (int64_t i = 0; i < n; i++) {
    int64_t r = i / (a + b), c = i % (a + b);
    x[i] = (int32_t)i;
    if (c < a)
      left[r * a + c] = x[i];
    else
      right[r * b + c - a] = x[i];
  }
  one_node node;
  one_node_init(&node, "", "Concat", 13, 1);
  node.run_tiles = tiles;
  one_node_int(&node, "axis", 1);
  one_node_input(&node, OX_I32, 2, (int64_t[]){rows, a}, left);
  one_node_input(&node, OX_I32, 2, (int64_t[]){rows, b}, right);
  CHECK_OK(one_node_run(&node));
  assert_int_equal(node.out[0].shape.dim[1], a + b);
  if (n) assert_memory_equal(node.out[0].data, x, (size_t)n * 4);
  one_node_deinit(&node);

  one_node_init(&node, "", "Split", 13, 2);
  node.run_tiles = tiles;
  one_node_int(&node, "axis", -1);
  one_node_input(&node, OX_I32, 2, (int64_t[]){rows, a + b}, x);
  one_node_input(&node, OX_I64, 1, (int64_t[]){2}, (int64_t[]){a, b});
  CHECK_OK(one_node_run(&node));
  if (rows * a > 0) assert_memory_equal(node.out[0].data, left, (size_t)(rows * a) * 4);
  if (rows * b > 0) assert_memory_equal(node.out[1].data, right, (size_t)(rows * b) * 4);
  one_node_deinit(&node);
  free(x), free(left), free(right);
}

static void test_round_trips(void **state) {
  (void)state;
  static const int64_t sizes[][3] = {{1, 1, 1},      {3, 0, 2},     {0, 2, 3},    {5, 3, 4},
                                     {1000, 17, 40}, {3, 30000, 7}, {2, 5, 50001}};
  for (size_t i = 0; i < OX_COUNT(sizes); i++)
    for (int64_t tiles = 0; tiles < 2; tiles++) round_trip(sizes[i][0], sizes[i][1], sizes[i][2], tiles);
}

/* |n| columns of |size| bytes, joined and cut; few levels have a transposition of their own. */
static void columns(uint32_t isa, uint32_t dtype, int64_t size, int64_t rows, uint32_t n) {
  enum { MOST = 8 };
  char *part[MOST], *x = malloc((size_t)(rows * n * size) + 1);
  one_node node;
  one_node_init(&node, "", "Concat", 13, 1);
  node.isa = isa, node.run_tiles = 1;
  one_node_int(&node, "axis", -1);
  for (uint32_t k = 0; k < n; k++) {
    part[k] = malloc((size_t)(rows * size) + 1);
    for (int64_t i = 0; i < rows * size; i++) part[k][i] = (char)(i * 7 + k * 31 + i / 251);
    for (int64_t r = 0; r < rows; r++) memcpy(x + (r * n + k) * size, part[k] + r * size, (size_t)size);
    one_node_input(&node, dtype, 3, (int64_t[]){1, rows, 1}, part[k]);
  }
  CHECK_OK(one_node_run(&node));
  if (memcmp(node.out[0].data, x, (size_t)(rows * n * size)) != 0)
    fail_msg("%u columns of %d x %d bytes", n, (int)rows, (int)size);
  one_node_deinit(&node);

  one_node_init(&node, "", "Split", 13, n);
  node.isa = isa, node.run_tiles = 1;
  one_node_int(&node, "axis", 2);
  one_node_input(&node, dtype, 3, (int64_t[]){1, rows, n}, x);
  CHECK_OK(one_node_run(&node));
  for (uint32_t k = 0; k < n; k++) {
    if (memcmp(node.out[k].data, part[k], (size_t)(rows * size)) != 0)
      fail_msg("column %u of %u, %d x %d bytes", k, n, (int)rows, (int)size);
    free(part[k]);
  }
  one_node_deinit(&node);
  free(x);
}

static void test_columns(void **state) {
  (void)state;
  static const struct {
    uint32_t dtype;
    int64_t size;
  } types[] = {{OX_U8, 1}, {OX_F16, 2}, {OX_F32, 4}, {OX_I64, 8}, {OX_C128, 16}};
  static const int64_t rows[] = {1, 15, 16, 17, 255, 1000, 5000, 70001};
  for (size_t t = 0; t < OX_COUNT(types); t++)
    for (uint32_t n = 2; n <= 8; n++)
      for (size_t r = 0; r < OX_COUNT(rows); r++) {
        columns(0, types[t].dtype, types[t].size, rows[r], n);
        columns(ox_isa_host(), types[t].dtype, types[t].size, rows[r], n);
      }
}

static void test_uneven_parts(void **state) {
  (void)state;
  const int64_t want[4] = {2, 2, 1, 0};
  one_node node;
  one_node_init(&node, "", "Split", 18, 4);
  one_node_int(&node, "num_outputs", 4);
  one_node_input(&node, OX_I32, 1, (int64_t[]){5}, (int32_t[]){1, 2, 3, 4, 5});
  CHECK_OK(one_node_run(&node));
  for (int i = 0; i < 4; i++) assert_int_equal(node.out[i].shape.dim[0], want[i]);
  assert_int_equal(*(const int32_t *)node.out[2].data, 5);
  one_node_deinit(&node);
}

/* Version 1 has an input of lengths that are floats. */
static void test_lengths_of_the_first_version(void **state) {
  (void)state;
  for (int constant = 0; constant < 2; constant++) {
    const float lengths[] = {3, 0, 2}, wrong[] = {2.5f, 0, 2.5f};
    one_node node;
    one_node_init(&node, "", "Split", 1, 3);
    one_node_input(&node, OX_F32, 1, (int64_t[]){5}, (float[]){1, 2, 3, 4, 5});
    (constant ? one_node_const : one_node_input)(&node, OX_F32, 1, (int64_t[]){3}, lengths);
    CHECK_OK(one_node_run(&node));
    assert_memory_equal(node.out[0].data, ((float[]){1, 2, 3}), 12);
    assert_int_equal(node.out[1].shape.dim[0], 0);
    assert_memory_equal(node.out[2].data, ((float[]){4, 5}), 8);
    one_node_deinit(&node);
    one_node_init(&node, "", "Split", 1, 3);
    one_node_input(&node, OX_F32, 1, (int64_t[]){5}, (float[]){1, 2, 3, 4, 5});
    (constant ? one_node_const : one_node_input)(&node, OX_F32, 1, (int64_t[]){3}, wrong);
    CHECK_FAILS(one_node_run(&node), OX_SHAPE_MISMATCH, "length -1 of part 0");
    one_node_deinit(&node);
  }
}

static void split_fails(int version, const int64_t *lengths, ox_code code, const char *part) {
  one_node node;
  one_node_init(&node, "", "Split", version, 2);
  one_node_input(&node, OX_F32, 1, (int64_t[]){5}, (float[5]){0});
  if (lengths) one_node_input(&node, OX_I64, 1, (int64_t[]){2}, lengths);
  CHECK_FAILS(one_node_run(&node), code, part);
  one_node_deinit(&node);
}

static void test_lengths_must_add_up(void **state) {
  (void)state;
  split_fails(13, (int64_t[]){2, 2}, OX_SHAPE_MISMATCH, "add up to 4, the dimension is 5");
  split_fails(13, (int64_t[]){-1, 6}, OX_SHAPE_MISMATCH, "length -1");
  split_fails(13, (int64_t[]){INT64_MAX, INT64_MAX}, OX_SHAPE_MISMATCH, "exceeds dimension 5");
  split_fails(13, NULL, OX_SHAPE_MISMATCH, "does not divide into 2");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_round_trips),         cmocka_unit_test(test_columns),
      cmocka_unit_test(test_uneven_parts),        cmocka_unit_test(test_lengths_of_the_first_version),
      cmocka_unit_test(test_lengths_must_add_up),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

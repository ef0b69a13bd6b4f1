/* SPDX-License-Identifier: Apache-2.0
 * ops/pad_test.c - every mode on two axes against index arithmetic; cropping; packed elements. */
#include <string.h>

#include "base/macros.h"
#include "support/check.h"
#include "support/one_node.h"

/* The input index that output index |o| shows; -1: the constant. */
static int64_t naive(const char *mode, int64_t o, int64_t begin, int64_t dim) {
  int64_t i = o - begin;
  if (i >= 0 && i < dim) return i;
  if (strcmp(mode, "edge") == 0) return i < 0 ? 0 : dim - 1;
  if (strcmp(mode, "wrap") == 0) {
    while (i < 0) i += dim;
    return i % dim;
  }
  if (strcmp(mode, "reflect") == 0) {
    while (dim > 1 && (i < 0 || i >= dim)) i = i < 0 ? -i : 2 * (dim - 1) - i;
    return dim > 1 ? i : 0;
  }
  return -1;
}

static void check(const char *mode, int64_t rows, int64_t cols, const int64_t *pads, int64_t tiles) {
  int32_t x[64], fill = -7;
  for (int i = 0; i < 64; i++) x[i] = i;
  one_node n;
  one_node_init(&n, "", "Pad", 21, 1);
  n.run_tiles = tiles;
  one_node_str(&n, "mode", mode);
  one_node_input(&n, OX_I32, 2, (int64_t[]){rows, cols}, x);
  one_node_input(&n, OX_I64, 1, (int64_t[]){4}, pads);
  one_node_input(&n, OX_I32, 0, NULL, &fill);
  CHECK_OK(one_node_run(&n));
  int64_t h = rows + pads[0] + pads[2], w = cols + pads[1] + pads[3];
  assert_int_equal(n.out[0].shape.dim[0], h);
  assert_int_equal(n.out[0].shape.dim[1], w);
  for (int64_t i = 0; i < h * w; i++) {
    int64_t r = naive(mode, i / w, pads[0], rows), c = naive(mode, i % w, pads[1], cols);
    int32_t want = r < 0 || c < 0 ? fill : x[r * cols + c], got = ((const int32_t *)n.out[0].data)[i];
    if (got != want) fail_msg("%s, element %d: got %d, wanted %d", mode, (int)i, got, want);
  }
  one_node_deinit(&n);
}

static void test_modes(void **state) {
  (void)state;
  static const char *const modes[] = {"constant", "reflect", "edge", "wrap"};
  static const int64_t pads[][4] = {{0, 0, 0, 0},  {1, 2, 0, 3},    {2, 0, 1, 0},
                                    {0, -1, 0, 2}, {-1, -1, -1, 0}, {7, 9, 5, 8}};
  for (size_t m = 0; m < OX_COUNT(modes); m++)
    for (size_t p = 0; p < OX_COUNT(pads); p++)
      for (int64_t tiles = 0; tiles < 2; tiles++) check(modes[m], 3, 4, pads[p], tiles);
  check("reflect", 1, 4, (int64_t[]){2, 1, 1, 1}, 0);
  check("constant", 2, 2, (int64_t[]){-2, 0, 0, 0}, 0);
}

/* Four axes of every element size; the bytes of an element differ. */
static void check_size(const char *mode, uint32_t dtype, size_t size, const int64_t *pads) {
  static const int64_t dims[4] = {2, 2, 5, 6};
  uint8_t x[2 * 2 * 5 * 6 * 16], fill[16];
  for (size_t i = 0; i < sizeof x; i++) x[i] = (uint8_t)(i * 89 / 7);
  memset(fill, 0x5a, sizeof fill), fill[0] = 3;
  one_node n;
  one_node_init(&n, "", "Pad", 21, 1);
  one_node_str(&n, "mode", mode);
  one_node_input(&n, dtype, 4, dims, x);
  one_node_input(&n, OX_I64, 1, (int64_t[]){8}, pads);
  one_node_input(&n, dtype, 0, NULL, fill);
  CHECK_OK(one_node_run(&n));
  const int64_t *out = n.out[0].shape.dim;
  for (int64_t i = 0; i < out[0] * out[1] * out[2] * out[3]; i++) {
    int64_t rest = i, at = 0, pitch = 1;
    for (int a = 3; a >= 0; rest /= out[a], pitch *= dims[a], a--) {
      int64_t k = naive(mode, rest % out[a], pads[a], dims[a]);
      at = k < 0 || at < 0 ? -1 : at + k * pitch;
    }
    if (memcmp((char *)n.out[0].data + (size_t)i * size, at < 0 ? fill : x + (size_t)at * size, size) != 0)
      fail_msg("%s, %d bytes: element %d", mode, (int)size, (int)i);
  }
  one_node_deinit(&n);
}

static void test_element_sizes(void **state) {
  (void)state;
  static const char *const modes[] = {"constant", "reflect", "edge", "wrap"};
  static const uint32_t types[] = {OX_U8, OX_F16, OX_F32, OX_I64, OX_C128};
  static const int64_t pads[][8] = {{0, 0, 1, 1, 0, 0, 1, 1},   {1, 0, 0, 2, 0, 1, 3, 0}, {0, 0, 2, 0, 0, 0, 1, 0},
                                    {0, 0, 0, 20, 0, 0, 0, 17}, {1, 1, 1, 0, 1, 1, 1, 0}, {0, -1, 2, -2, 1, 0, -1, 3}};
  for (size_t m = 0; m < OX_COUNT(modes); m++)
    for (size_t t = 0; t < OX_COUNT(types); t++)
      for (size_t p = 0; p < OX_COUNT(pads); p++) check_size(modes[m], types[t], (size_t)1 << t, pads[p]);
}

/* Rows that are moved whole are not elements: the constant is smaller than what is moved. */
static void test_rows_of_small_elements(void **state) {
  (void)state;
  one_node n;
  one_node_init(&n, "", "Pad", 21, 1);
  one_node_input(&n, OX_U8, 2, (int64_t[]){1, 4}, (uint8_t[]){1, 2, 3, 4});
  one_node_input(&n, OX_I64, 1, (int64_t[]){4}, (int64_t[]){1, 0, 1, 0});
  one_node_input(&n, OX_U8, 0, NULL, (uint8_t[]){9});
  CHECK_OK(one_node_run(&n));
  assert_memory_equal(n.out[0].data, ((uint8_t[]){9, 9, 9, 9, 1, 2, 3, 4, 9, 9, 9, 9}), 12);
  one_node_deinit(&n);
}

static void test_packed_elements(void **state) {
  (void)state;
  one_node n;
  one_node_init(&n, "", "Pad", 21, 1);
  one_node_input(&n, OX_I4, 1, (int64_t[]){3}, (uint8_t[]){0x21, 0x03});
  one_node_input(&n, OX_I64, 1, (int64_t[]){2}, (int64_t[]){1, 1});
  one_node_input(&n, OX_I4, 0, NULL, (uint8_t[]){0x0f});
  CHECK_OK(one_node_run(&n));
  assert_memory_equal(n.out[0].data, ((uint8_t[]){0x1f, 0x32, 0x0f}), 3);
  one_node_deinit(&n);
}

static void test_impossible_pads_are_refused(void **state) {
  (void)state;
  one_node n;
  one_node_init(&n, "", "Pad", 21, 1);
  one_node_input(&n, OX_F32, 1, (int64_t[]){3}, (float[3]){0});
  one_node_input(&n, OX_I64, 1, (int64_t[]){2}, (int64_t[]){-2, -2});
  CHECK_FAILS(one_node_run(&n), OX_SHAPE_MISMATCH, "pads -2 and -2 of axis 0 do not fit dimension 3");
  one_node_deinit(&n);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_modes),
      cmocka_unit_test(test_element_sizes),
      cmocka_unit_test(test_rows_of_small_elements),
      cmocka_unit_test(test_packed_elements),
      cmocka_unit_test(test_impossible_pads_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

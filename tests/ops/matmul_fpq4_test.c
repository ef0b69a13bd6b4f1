/* SPDX-License-Identifier: Apache-2.0
 * ops/matmul_fpq4_test.c - blobs of each type against doubles; ONNX Runtime 1.31 gives the same for types 0 and 1. */
#include <string.h>

#include "support/typed.h"

#define DIMS(...) ((const int64_t[]){__VA_ARGS__})
enum { MOST = 1 << 16 };

/* A blob of made-up bytes whose scales are small; and the matrix it stands for, [k, n]. */
static size_t make_blob(int type, int64_t k, int64_t n, uint8_t *blob, double *b) {
  int64_t length = type == 2 ? 64 : 32;
  unsigned x = 12345;
  uint8_t *at = blob;
  for (int64_t column = 0; column < n; column++)
    for (int64_t first = 0; first < k; first += length) {
      x = x * 1664525U + 1013904223U;
      float scale = (float)((int)(x >> 20) - 2000) / 16384;
      int zero = 8;
      memcpy(at, &scale, sizeof scale), at += sizeof scale;
      if (type == 1) *at++ = (uint8_t)(zero = x >> 8 & 15);
      for (int64_t piece = 0; piece < length; piece += 32)
        for (int i = 0; i < 16; i++, at++) {
          x = x * 1664525U + 1013904223U;
          *at = (uint8_t)(x >> 24);
          int64_t low = first + piece + i, high = low + 16;
          if (low < k) b[low * n + column] = ((*at & 15) - zero) * (double)scale;
          if (high < k) b[high * n + column] = ((*at >> 4) - zero) * (double)scale;
        }
    }
  return (size_t)(at - blob);
}

static void product(int type, int64_t rows, int64_t k, int64_t n, bool constant) {
  uint8_t *blob = malloc(MOST);
  double *b = malloc(MOST * sizeof *b);
  assert_true(blob && b);
  int64_t bytes = (int64_t)make_blob(type, k, n, blob, b);
  one_node node;
  one_node_init(&node, "com.microsoft", "MatMulFpQ4", 1, 1);
  one_node_int(&node, "blk_quant_type", type);
  const ox_tensor *a = typed_input(&node, OX_F32, 3, DIMS(1, rows, k), 2);
  one_node_input(&node, OX_U8, 1, &bytes, blob);
  if (constant)
    one_node_const(&node, OX_I64, 1, DIMS(2), DIMS(k, n));
  else
    one_node_input(&node, OX_I64, 1, DIMS(2), DIMS(k, n));
  node.run_tiles = 1;
  CHECK_OK(one_node_run(&node));
  for (int64_t i = 0; i < rows * n; i++) {
    double want = 0;
    for (int64_t e = 0; e < k; e++) want += typed_at(a, i / n * k + e) * b[e * n + i % n];
    typed_near(&node.out[0], i, want, 20);
  }
  one_node_deinit(&node);
  free(blob), free(b);
}

static void test_products(void **state) {
  (void)state;
  static const int64_t sizes[][3] = {{1, 1, 1},   {3, 32, 3},  {2, 33, 17}, {5, 64, 16},
                                     {3, 200, 5}, {1, 65, 40}, {0, 32, 4},  {2, 32, 0}};
  for (int type = 0; type < 3; type++)
    for (size_t i = 0; i < OX_COUNT(sizes); i++)
      for (int constant = 0; constant < 2; constant++) product(type, sizes[i][0], sizes[i][1], sizes[i][2], constant);
}

static void test_wrong_models(void **state) {
  (void)state;
  static const uint8_t blob[64] = {0};
  static const struct {
    int64_t type, bytes, k, n;
    const char *text;
  } rows[] = {{3, 20, 32, 1, "blk_quant_type 3"},
              {0, 21, 32, 1, "21 bytes"},
              {0, 20, 31, 1, "31 columns"},
              {0, 20, 0, 1, "B_shape"},
              {0, 20, INT64_MAX, INT64_MAX, "columns"},
              {0, 20, 32, INT64_MAX, "20 bytes"}};
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    one_node n;
    one_node_init(&n, "com.microsoft", "MatMulFpQ4", 1, 1);
    one_node_int(&n, "blk_quant_type", rows[i].type);
    typed_input(&n, OX_F32, 2, DIMS(1, 32), 1);
    one_node_input(&n, OX_U8, 1, &rows[i].bytes, blob);
    one_node_input(&n, OX_I64, 1, DIMS(2), DIMS(rows[i].k, rows[i].n));
    CHECK_FAILS_WITH(one_node_run(&n), rows[i].text);
    one_node_deinit(&n);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_products),
      cmocka_unit_test(test_wrong_models),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 * ops/scale_pair_test.c - QuantizeLinear and its inverse where scales and zero points differ in shape. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/one_node.h"

enum { MOST = 64 };

/* X of two axes, and what it is divided by. */
static const struct {
  const char *name;
  int64_t rows, columns, axis, block;
  int64_t scale[2], zero[2];
  int scale_rank, zero_rank; /* zero: -1, none */
} rows[] = {
    {"no zero point", 3, 4, 1, 0, {4}, {0}, 1, -1},
    {"one each", 3, 4, 1, 0, {1}, {1}, 0, 0},
    {"one zero point for an axis", 3, 4, 1, 0, {4}, {1}, 1, 0},
    {"one scale for an axis", 3, 4, 0, 0, {1}, {3}, 0, 1},
    {"one zero point for blocks", 3, 4, 1, 2, {3, 2}, {1}, 2, 0},
    {"one scale for blocks", 3, 4, 1, 2, {1}, {3, 2}, 0, 2},
    {"blocks each", 3, 4, 0, 2, {2, 4}, {2, 4}, 2, 2},
    {"one zero point for blocks of an axis of one", 5, 1, 1, 1, {5, 1}, {1}, 2, 0},
    {"one scale for blocks of an axis of one", 5, 1, 1, 1, {1}, {5, 1}, 0, 2},
    {"a block beyond an axis of one", 1, 6, 0, 3, {1, 6}, {1}, 2, 0},
};

/* Which of the entries of a shape serves the element. */
static int64_t entry(size_t i, int rank, const int64_t *dim, int64_t row, int64_t column) {
  if (rank < 1 || (rank == 1 && dim[0] == 1)) return 0;
  if (rank == 1) return rows[i].axis ? column : row;
  if (dim[0] * dim[1] == 1) return 0;
  return rows[i].axis ? row * dim[1] + column / rows[i].block : row / rows[i].block * dim[1] + column;
}

/* A copy that is exactly as long, so that reading past it shows. */
static void *exactly(const void *from, size_t bytes) {
  void *p = malloc(bytes);
  assert_non_null(p);
  return memcpy(p, from, bytes);
}

static int64_t count(int rank, const int64_t *dim) { return rank < 1 ? 1 : rank == 1 ? dim[0] : dim[0] * dim[1]; }

static void check(size_t i, bool quantizes) {
  float scale[MOST], real[MOST];
  uint8_t zero[MOST], byte[MOST];
  for (int k = 0; k < MOST; k++) {
    scale[k] = 0.5f + 0.25f * (float)(k % 7), zero[k] = (uint8_t)(100 + 3 * k);
    real[k] = (float)k - 20.0f, byte[k] = (uint8_t)(k * 29);
  }
  int64_t n_scales = count(rows[i].scale_rank, rows[i].scale), n_zeros = count(rows[i].zero_rank, rows[i].zero);
  float *s = exactly(scale, (size_t)n_scales * sizeof *s);
  uint8_t *z = exactly(zero, (size_t)n_zeros);
  one_node n;
  one_node_init(&n, NULL, quantizes ? "QuantizeLinear" : "DequantizeLinear", 21, 1);
  one_node_int(&n, "axis", rows[i].axis), one_node_int(&n, "block_size", rows[i].block);
  one_node_input(&n, quantizes ? OX_F32 : OX_U8, 2, (int64_t[]){rows[i].rows, rows[i].columns},
                 quantizes ? (void *)real : byte);
  one_node_input(&n, OX_F32, rows[i].scale_rank, rows[i].scale, s);
  if (rows[i].zero_rank >= 0) one_node_input(&n, OX_U8, rows[i].zero_rank, rows[i].zero, z);
  CHECK_OK(one_node_run(&n));
  for (int64_t k = 0; k < rows[i].rows * rows[i].columns; k++) {
    int64_t row = k / rows[i].columns, column = k % rows[i].columns;
    double by = scale[entry(i, rows[i].scale_rank, rows[i].scale, row, column)];
    double from = rows[i].zero_rank < 0 ? 0 : zero[entry(i, rows[i].zero_rank, rows[i].zero, row, column)];
    double want = quantizes ? fmin(fmax(rint(real[k] / by) + from, 0), 255) : (byte[k] - from) * by;
    double got = quantizes ? ((const uint8_t *)n.out[0].data)[k] : ((const float *)n.out[0].data)[k];
    if (got != want) fail_msg("%s, element %d: %g, wanted %g", rows[i].name, (int)k, got, want);
  }
  one_node_deinit(&n);
  free(s), free(z);
}

static void test_quantize(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(rows); i++) check(i, true);
}

static void test_dequantize(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(rows); i++) check(i, false);
}

/* int32 without a zero point, with one of 0, and with another: their difference is rounded once. */
static void test_dequantize_int32(void **state) {
  (void)state;
  static const int32_t x[] = {0, 1, -1, 16777217, INT32_MAX, INT32_MIN, 123456789}, zeros[] = {0, 16777216};
  enum { N = OX_COUNT(x) };
  const float scale = 0.3f;
  for (int kind = 0; kind < 3; kind++) {
    one_node n;
    one_node_init(&n, NULL, "DequantizeLinear", 21, 1);
    one_node_input(&n, OX_I32, 1, (int64_t[]){N}, x);
    one_node_input(&n, OX_F32, 0, NULL, &scale);
    if (kind) one_node_input(&n, OX_I32, 0, NULL, &zeros[kind - 1]);
    CHECK_OK(one_node_run(&n));
    for (int i = 0; i < N; i++) {
      float want = (float)((double)x[i] - (kind == 2 ? (double)zeros[1] : 0)) * scale;
      if (((const float *)n.out[0].data)[i] != want) fail_msg("kind %d, element %d", kind, i);
    }
    one_node_deinit(&n);
  }
}

/* Rows whose scales lie beside the elements, and one scale, of every kind of 8 and 16 bits, into float and float16. */
static void check_long(uint32_t dtype, uint32_t real, bool one, bool zeros) {
  enum { ROWS = 6, COLUMNS = 601, BLOCK = 3, SCALES = ROWS / BLOCK * COLUMNS };
  static uint16_t x[ROWS * COLUMNS], z[SCALES], half[SCALES];
  static float scale[SCALES];
  bool bytes = dtype == OX_U8 || dtype == OX_I8, is_signed = dtype == OX_I8 || dtype == OX_I16;
  for (int i = 0; i < ROWS * COLUMNS; i++) x[i] = (uint16_t)(i * 40503u);
  for (int i = 0; i < SCALES; i++) {
    z[i] = (uint16_t)(i * 977u), scale[i] = (float)(i % 31 + 1) / 64;
    half[i] = ox_f16_from_f32(scale[i]);
  }
  one_node n;
  one_node_init(&n, NULL, "DequantizeLinear", 21, 1);
  one_node_int(&n, "axis", 0), one_node_int(&n, "block_size", one ? 0 : BLOCK);
  const int64_t dims[] = {ROWS / BLOCK, COLUMNS};
  one_node_input(&n, dtype, 2, (int64_t[]){ROWS, COLUMNS}, x);
  one_node_input(&n, real, one ? 0 : 2, dims, real == OX_F32 ? (void *)scale : half);
  if (zeros) one_node_input(&n, dtype, one ? 0 : 2, dims, z);
  CHECK_OK(one_node_run(&n));
  for (int i = 0; i < ROWS * COLUMNS; i++) {
    int at = one ? 0 : i / COLUMNS / BLOCK * COLUMNS + i % COLUMNS;
    int v = bytes ? ((uint8_t *)x)[i] : x[i], zero = !zeros ? 0 : bytes ? ((uint8_t *)z)[at] : z[at];
    if (is_signed && bytes) v = (int8_t)v, zero = (int8_t)zero;
    if (is_signed && !bytes) v = (int16_t)v, zero = (int16_t)zero;
    float want = (float)(v - zero) * scale[at];
    float got =
        real == OX_F32 ? ((const float *)n.out[0].data)[i] : ox_f16_to_f32(((const uint16_t *)n.out[0].data)[i]);
    if (real == OX_F16) want = ox_f16_to_f32(ox_f16_from_f32(want));
    if (got != want) fail_msg("type %u: [%d] is %g, wanted %g", dtype, i, (double)got, (double)want);
  }
  one_node_deinit(&n);
}

static void test_dequantize_long(void **state) {
  (void)state;
  static const uint32_t types[] = {OX_U8, OX_I8, OX_U16, OX_I16};
  for (size_t t = 0; t < OX_COUNT(types); t++)
    for (int how = 0; how < 8; how++) check_long(types[t], how & 1 ? OX_F16 : OX_F32, how & 2, how & 4);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_quantize), cmocka_unit_test(test_dequantize),
                                     cmocka_unit_test(test_dequantize_int32), cmocka_unit_test(test_dequantize_long)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

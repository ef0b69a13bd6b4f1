/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm_plain_test.c - products in other types than float32, at every level: exact ones of integers and of doubles
 * that hold them, at tiles of every size, and the same bits however rows are shared out. */
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "kern/gemm/gemm_plain.h"
#include "support/check.h"
#include "support/levels.h"

static void test_bytes_wrap(void **state) {
  (void)state;
  uint8_t a[3 * 5], b[5 * 300], c[3 * 300];
  for (size_t i = 0; i < sizeof a; i++) a[i] = (uint8_t)(i * 37 + 11);
  for (size_t i = 0; i < sizeof b; i++) b[i] = (uint8_t)(i * 91 + 5);
  ox_gemm_plain g = {OX_I8, 3, 300, 5, a, b, 5, 1, 1, 5, c, 300, {NULL, NULL}}; /* B transposed */
  ox_gemm_plain_run(&g, 0, 0, 3);
  for (size_t i = 0; i < 3; i++)
    for (size_t j = 0; j < 300; j++) {
      unsigned sum = 0;
      for (size_t k = 0; k < 5; k++) sum += (unsigned)a[i * 5 + k] * b[j * 5 + k];
      assert_int_equal(c[i * 300 + j], sum & 255);
    }
}

/* As a mapped file may have them. */
static void test_odd_addresses(void **state) {
  enum { M = 5, N = 300, K = 7 };
  static const uint32_t types[] = {OX_F64, OX_I64, OX_U32, OX_I16};
  static unsigned char a[M * K * 8 + 8], b[K * N * 8 + 8];
  static double c[M * N];
  (void)state;
  for (size_t l = 0; level_next(&l); l++)
    for (size_t t = 0; t < OX_COUNT(types); t++)
      for (size_t odd = 0; odd < 8; odd += 1 + odd / 3) {
        uint32_t type = types[t];
        size_t each = type == OX_I16 ? 2 : type == OX_U32 ? 4 : 8;
        for (size_t i = 0; i < M * K + K * N; i++) {
          int64_t v = (int64_t)(i * 7 % 23) - 11;
          double d = (double)v;
          void *to = i < M * K ? a + odd + i * each : b + odd + (i - M * K) * each;
          memcpy(to, type == OX_F64 ? (void *)&d : (void *)&v, each); /* of little-endian integers the low bytes */
        }
        ox_gemm_plain g = {type, M, N, K, a + odd, b + odd, K, 1, N, 1, c, N, {NULL, NULL}};
        ox_gemm_plain_run(&g, test_levels[l].have, 0, M);
        for (size_t i = 0; i < M; i++)
          for (size_t j = 0; j < N; j++) {
            int64_t sum = 0;
            for (size_t k = 0; k < K; k++)
              sum += ((int64_t)((i * K + k) * 7 % 23) - 11) * ((int64_t)((M * K + k * N + j) * 7 % 23) - 11);
            double d = (double)sum;
            assert_memory_equal((char *)c + (i * N + j) * each, type == OX_F64 ? (void *)&d : (void *)&sum, each);
          }
      }
}

enum { MOST_M = 25, MOST_N = 131, MOST_K = 300 };

/* Element |i| of an operand: small, or of all bits. */
static int64_t number(size_t i, bool wraps) {
  return wraps ? (int64_t)((uint64_t)i * UINT64_C(0x9e3779b97f4a7c15)) : (int64_t)(i * 7 % 23) - 11;
}

static void put(uint32_t type, double *to, size_t i, int64_t v) {
  if (type == OX_F64)
    to[i] = (double)v;
  else if (type == OX_I64 || type == OX_U64)
    ((int64_t *)to)[i] = v;
  else
    ((uint32_t *)to)[i] = (uint32_t)(uint64_t)v;
}

static bool is_at(uint32_t type, const double *c, size_t i, int64_t v) {
  if (type == OX_F64) return c[i] == (double)v;
  if (type == OX_I64 || type == OX_U64) return ((const int64_t *)c)[i] == v;
  return ((const uint32_t *)c)[i] == (uint32_t)(uint64_t)v;
}

static void check_tile(size_t level, uint32_t type, size_t m, size_t n, size_t k, bool trans_a, bool trans_b) {
  static double a[MOST_M * MOST_K], b[MOST_K * MOST_N], c[MOST_M * MOST_N + 1];
  bool real = type == OX_F64;
  for (size_t i = 0; i < m * k; i++) put(type, a, i, number(i, !real));
  for (size_t i = 0; i < k * n; i++) put(type, b, i, number(i + 5, !real));
  memset(c, 0x55, sizeof c);
  ox_gemm_plain g = {type,
                     m,
                     n,
                     k,
                     a,
                     b,
                     trans_a ? 1 : (ptrdiff_t)k,
                     trans_a ? (ptrdiff_t)m : 1,
                     trans_b ? 1 : (ptrdiff_t)n,
                     trans_b ? (ptrdiff_t)k : 1,
                     c,
                     n,
                     {NULL, NULL}};
  ox_gemm_plain_run(&g, test_levels[level].have, 0, m);
  for (size_t i = 0; i < m; i++)
    for (size_t j = 0; j < n; j++) {
      uint64_t sum = 0;
      for (size_t t = 0; t < k; t++) {
        size_t at = trans_a ? t * m + i : i * k + t, bt = trans_b ? j * k + t : t * n + j;
        sum += (uint64_t)number(at, !real) * (uint64_t)number(bt + 5, !real);
      }
      int64_t want;
      memcpy(&want, &sum, sizeof want);
      if (!is_at(type, c, i * n + j, want))
        fail_msg("%s, type %d, %d by %d by %d, trans %d %d: [%d, %d]", test_levels[level].name, (int)type, (int)m,
                 (int)n, (int)k, trans_a, trans_b, (int)i, (int)j);
    }
  size_t each = type == OX_I32 || type == OX_U32 ? 4 : 8;
  assert_int_equal(((const unsigned char *)c)[m * n * each], 0x55);
}

static void test_tiles(void **state) {
  (void)state;
  static const size_t ms[] = {1, 2, 3, 5, 6, 7, 8, 9, 15, 25}, ns[] = {1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 33, 64, 131},
                      ks[] = {0, 1, 5, 7, 8, 16, 127, 128, 129, 300};
  for (size_t l = 0; level_next(&l); l++)
    for (size_t i = 0; i < OX_COUNT(ms); i++)
      for (size_t j = 0; j < OX_COUNT(ns); j++)
        for (size_t k = 0; k < OX_COUNT(ks); k++)
          for (int way = 0; way < 4; way++) {
            check_tile(l, OX_F64, ms[i], ns[j], ks[k], way & 1, way & 2);
            check_tile(l, way & 1 ? OX_U64 : OX_I64, ms[i], ns[j], ks[k], way & 1, way & 2);
            check_tile(l, way & 1 ? OX_I32 : OX_U32, ms[i], ns[j], ks[k], way & 1, way & 2);
          }
}

/* Few columns and more rows of B than are packed at a time. */
static void test_long_columns(void **state) {
  (void)state;
  enum { M = 5, K = 1100 };
  static double a[M * K], b[K * 3], c[M * 3];
  static const uint32_t types[] = {OX_F64, OX_I64, OX_U32};
  static const size_t ks[] = {511, 512, 513, 520, 1024, 1030, K};
  for (size_t l = 0; level_next(&l); l++)
    for (size_t at = 0; at < OX_COUNT(types) * OX_COUNT(ks) * 3; at++) {
      size_t n = at % 3 + 1, k = ks[at / 3 % OX_COUNT(ks)];
      uint32_t type = types[at / 3 / OX_COUNT(ks)];
      for (size_t i = 0; i < M * k; i++) put(type, a, i, number(i, false));
      for (size_t i = 0; i < k * n; i++) put(type, b, i, number(i + 5, false));
      ox_gemm_plain g = {type, M, n, k, a, b, (ptrdiff_t)k, 1, (ptrdiff_t)n, 1, c, n, {NULL, NULL}};
      ox_gemm_plain_run(&g, test_levels[l].have, 0, M);
      for (size_t i = 0; i < M * n; i++) {
        int64_t sum = 0;
        for (size_t t = 0; t < k; t++) sum += number(i / n * k + t, false) * number(t * n + i % n + 5, false);
        if (!is_at(type, c, i, sum)) fail_msg("%s, type %d, k %d", test_levels[l].name, (int)type, (int)k);
      }
    }
}

/* Doubles whose sums are rounded: rows in one go, and in pieces. */
static void pieces_have_the_same_bits(size_t n) {
  static double a[MOST_M * MOST_K], b[MOST_K * MOST_N], whole[MOST_M * MOST_N], pieces[MOST_M * MOST_N];
  uint32_t seed = 9;
  for (size_t i = 0; i < OX_COUNT(a); i++) a[i] = (double)test_uniform(&seed, -1, 1) / 3;
  for (size_t i = 0; i < OX_COUNT(b); i++) b[i] = (double)test_uniform(&seed, -1, 1) / 7;
  for (size_t l = 0; level_next(&l); l++)
    for (size_t step = 1; step < MOST_M; step += 4) {
      ox_gemm_plain g = {OX_F64, MOST_M, n, MOST_K, a, b, MOST_K, 1, (ptrdiff_t)n, 1, whole, n, {NULL, NULL}};
      ox_gemm_plain_run(&g, test_levels[l].have, 0, MOST_M);
      g.c = pieces;
      for (size_t i = 0; i < MOST_M; i += step)
        ox_gemm_plain_run(&g, test_levels[l].have, i, OX_MIN(i + step, (size_t)MOST_M));
      assert_memory_equal(whole, pieces, MOST_M * n * sizeof *whole);
    }
}

static void test_pieces_have_the_same_bits(void **state) {
  static const size_t ns[] = {1, 2, 3, 4, MOST_N};
  (void)state;
  for (size_t i = 0; i < OX_COUNT(ns); i++) pieces_have_the_same_bits(ns[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_bytes_wrap),
      cmocka_unit_test(test_odd_addresses),
      cmocka_unit_test(test_tiles),
      cmocka_unit_test(test_long_columns),
      cmocka_unit_test(test_pieces_have_the_same_bits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

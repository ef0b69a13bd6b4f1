/* SPDX-License-Identifier: Apache-2.0
 * kern/move_test.c - every way to copy a region, against one element at a time. */
#include <stdlib.h>
#include <string.h>

#include "kern/move/move.h"
#include "support/check.h"

enum { CAP = 1 << 20 };

/* The region one element at a time. */
static void naive(int64_t elem, const ox_region *r, const char *in, char *out) {
  int64_t at[OX_MOVE_DIMS] = {0}, count = 1;
  for (int i = 0; i < r->rank; i++) count *= r->dim[i];
  for (int64_t n = 0; n < count; n++) {
    int64_t a = r->in_off, b = r->out_off;
    for (int i = 0; i < r->rank; i++) a += at[i] * r->is[i], b += at[i] * r->os[i];
    memcpy(out + b * elem, in + a * elem, (size_t)elem);
    for (int i = r->rank - 1; i >= 0 && ++at[i] == r->dim[i]; i--) at[i] = 0;
  }
}

static void compare(const char *name, int64_t elem, const ox_region *r, ox_isa isa) {
  char *in = malloc(CAP), *got = calloc(CAP, 1), *want = calloc(CAP, 1);
  uint32_t seed = 1;
  for (int i = 0; i < CAP; i++) in[i] = (char)((seed = seed * 1664525 + 1013904223) >> 24);
  ox_move m;
  ox_move_init(&m, elem, r);
  naive(elem, r, in, want);
  for (int64_t u = 0; u < m.units; u += 3) ox_move_run(&m, isa, in, got, u, OX_MIN(u + 3, m.units));
  if (memcmp(got, want, CAP) != 0) fail_msg("%s, element of %d bytes, isa %x: differs", name, (int)elem, isa);
  free(in), free(got), free(want);
}

static const struct {
  const char *name;
  ox_region r;
} cases[] = {
    {"scalar", {.rank = 0}},
    {"empty", {.rank = 2, .dim = {3, 0}, .is = {1, 1}, .os = {1, 1}}},
    {"copy", {.rank = 2, .dim = {7, 9}, .is = {9, 1}, .os = {9, 1}}},
    {"long copy", {.rank = 1, .dim = {60001}, .is = {1}, .os = {1}}},
    {"long rows", {.rank = 2, .dim = {2, 20001}, .is = {20005, 1}, .os = {20001, 1}, .in_off = 3}},
    {"matrix", {.rank = 2, .dim = {8, 8}, .is = {1, 8}, .os = {8, 1}}},
    {"matrix 1", {.rank = 2, .dim = {17, 1}, .is = {1, 17}, .os = {1, 1}}},
    {"matrix edges", {.rank = 2, .dim = {67, 133}, .is = {1, 67}, .os = {133, 1}}},
    {"matrix small", {.rank = 2, .dim = {3, 5}, .is = {1, 3}, .os = {5, 1}}},
    {"matrix long", {.rank = 2, .dim = {9, 1030}, .is = {1, 9}, .os = {1030, 1}}},
    {"matrix of whole pages", {.rank = 2, .dim = {19, 2048}, .is = {1, 19}, .os = {2048, 1}}},
    {"matrix of half pages", {.rank = 2, .dim = {67, 512}, .is = {1, 67}, .os = {512, 1}}},
    {"planes to pixels", {.rank = 2, .dim = {1131, 3}, .is = {1, 1131}, .os = {3, 1}}},
    {"pixels to planes", {.rank = 2, .dim = {3, 1131}, .is = {1, 3}, .os = {1131, 1}}},
    {"two planes", {.rank = 2, .dim = {1131, 2}, .is = {1, 1131}, .os = {2, 1}}},
    {"pairs to planes", {.rank = 2, .dim = {2, 1131}, .is = {1, 2}, .os = {1131, 1}}},
    {"four planes", {.rank = 2, .dim = {1131, 4}, .is = {1, 1131}, .os = {4, 1}}},
    {"fours to planes", {.rank = 2, .dim = {4, 1131}, .is = {1, 4}, .os = {1131, 1}}},
    {"some of wider pixels", {.rank = 2, .dim = {4, 131}, .is = {1, 7}, .os = {140, 1}, .in_off = 2}},
    {"into wider pixels", {.rank = 2, .dim = {131, 4}, .is = {1, 140}, .os = {7, 1}, .out_off = 3}},
    {"batched", {.rank = 3, .dim = {3, 33, 21}, .is = {693, 1, 33}, .os = {693, 21, 1}}},
    {"reverse all", {.rank = 4, .dim = {5, 4, 6, 7}, .is = {1, 5, 20, 120}, .os = {168, 42, 7, 1}}},
    {"heads", {.rank = 4, .dim = {2, 3, 11, 16}, .is = {528, 16, 48, 1}, .os = {528, 176, 16, 1}}},
    {"heads 2", {.rank = 3, .dim = {3, 11, 2}, .is = {2, 6, 1}, .os = {22, 2, 1}}},
    {"backwards", {.rank = 2, .dim = {5, 9}, .is = {-9, -1}, .os = {9, 1}, .in_off = 44}},
    {"runs of 17", {.rank = 2, .dim = {9, 17}, .is = {20, 1}, .os = {17, 1}, .in_off = 1}},
    {"runs of 32", {.rank = 2, .dim = {9, 32}, .is = {33, 1}, .os = {40, 1}, .out_off = 1}},
    {"runs of 47", {.rank = 2, .dim = {9, 47}, .is = {50, 1}, .os = {47, 1}}},
    {"runs of 64", {.rank = 3, .dim = {3, 5, 64}, .is = {700, 70, 1}, .os = {320, 64, 1}}},
    {"runs of 65", {.rank = 2, .dim = {9, 65}, .is = {0, 1}, .os = {65, 1}}},
    {"steps", {.rank = 2, .dim = {4, 5}, .is = {20, 2}, .os = {5, 1}, .in_off = 1}},
    {"fill", {.rank = 1, .dim = {1001}, .is = {0}, .os = {1}}},
    {"fill rows", {.rank = 2, .dim = {9, 13}, .is = {1, 0}, .os = {13, 1}}},
    {"repeat", {.rank = 2, .dim = {9, 13}, .is = {0, 1}, .os = {13, 1}}},
    {"scattered out", {.rank = 2, .dim = {4, 3}, .is = {3, 1}, .os = {20, 4}, .out_off = 2}},
    {"tile", {.rank = 4, .dim = {2, 3, 3, 2}, .is = {0, 2, 0, 1}, .os = {18, 6, 2, 1}}},
};

static void test_regions_equal_the_naive_copy(void **state) {
  (void)state;
  const int64_t elems[] = {1, 2, 4, 8, 16};
  const ox_isa isas[] = {0, ox_isa_host()};
  for (size_t i = 0; i < OX_COUNT(cases); i++)
    for (size_t e = 0; e < OX_COUNT(elems); e++)
      for (size_t k = 0; k < OX_COUNT(isas); k++)
        if (strncmp(cases[i].name, "long", 4) != 0 || elems[e] <= 8)
          compare(cases[i].name, elems[e], &cases[i].r, isas[k]);
}

/* Matrices of all small sizes, alone and within wider ones, in memory of their size: a sanitizer sees the ends. */
static void transposed(int64_t e, ox_isa isa, int64_t rows, int64_t cols, int64_t in_gap, int64_t out_gap) {
  int64_t is = (cols + in_gap) * e, os = (rows + out_gap) * e, in_bytes = (rows - 1) * is + cols * e;
  int64_t out_bytes = (cols - 1) * os + rows * e;
  char *in = malloc((size_t)in_bytes), *out = malloc((size_t)out_bytes), *want = malloc((size_t)out_bytes);
  for (int64_t i = 0; i < in_bytes; i++) in[i] = (char)(i * 2654435761 >> 7);
  memset(out, 0x5a, (size_t)out_bytes), memset(want, 0x5a, (size_t)out_bytes);
  for (int64_t r = 0; r < rows; r++)
    for (int64_t c = 0; c < cols; c++) memcpy(want + c * os + r * e, in + r * is + c * e, (size_t)e);
  ox_transpose_select(e, isa)(in, is, out, os, rows, cols);
  if (memcmp(out, want, (size_t)out_bytes) != 0)
    fail_msg("%d x %d elements of %d bytes, gaps %d and %d, isa %x", (int)rows, (int)cols, (int)e, (int)in_gap,
             (int)out_gap, isa);
  free(in), free(out), free(want);
}

static void test_small_matrices(void **state) {
  (void)state;
  const ox_isa isas[] = {0, ox_isa_host()};
  for (size_t k = 0; k < OX_COUNT(isas); k++)
    for (int64_t e = 1; e <= 16; e *= 2)
      for (int64_t rows = 1; rows <= 37; rows++)
        for (int64_t cols = 1; cols <= 37; cols++)
          for (int gap = 0; gap < 4; gap++) transposed(e, isas[k], rows, cols, gap & 1, gap & 2 ? 3 : 0);
}

static void test_fills(void **state) {
  (void)state;
  enum { MOST = 9000 };
  static char got[MOST + 1], want[MOST + 1];
  static const char value[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, alike[16] = {0};
  for (int64_t e = 1; e <= 16; e *= 2)
    for (int64_t n = 0; n * e <= MOST; n += n < 70 ? 1 : 97)
      for (int k = 0; k < 2; k++) {
        memset(got, 77, sizeof got), memset(want, 77, sizeof want);
        for (int64_t i = 0; i < n; i++) memcpy(want + i * e, k ? alike : value, (size_t)e);
        ox_fill(got, k ? alike : value, e, n);
        assert_memory_equal(got, want, sizeof got);
      }
}

/* One run again and again, long and short ones, few and many times. */
static void test_repeats(void **state) {
  (void)state;
  enum { MOST = 70000, LONGEST = 600 };
  static const int64_t runs[] = {1, 2, 3, 5, 8, 12, 16, 33, 100, 511, 512, 513, LONGEST};
  static char from[LONGEST], got[MOST + 1], want[MOST + 1];
  for (int i = 0; i < LONGEST; i++) from[i] = (char)(i * 37 + i / 256);
  for (size_t k = 0; k < OX_COUNT(runs); k++)
    for (int64_t n = 0, run = runs[k]; n * run <= MOST; n += n < 6 ? 1 : n) {
      memset(got, 77, sizeof got), memset(want, 77, sizeof want);
      for (int64_t i = 0; i < n; i++) memcpy(want + i * run, from, (size_t)run);
      ox_move m;
      ox_move_init(&m, 1, &(ox_region){.rank = 2, .dim = {n, run}, .is = {0, 1}, .os = {run, 1}});
      ox_move_run(&m, 0, from, got, 0, m.units);
      assert_memory_equal(got, want, sizeof got);
    }
}

static void test_tiles_are_bounded(void **state) {
  (void)state;
  assert_int_equal(ox_move_tiles(0, 0), 1);
  assert_int_equal(ox_move_tiles(100, 50), 1);
  assert_int_equal(ox_move_tiles(INT64_MAX, 7), 7);
  assert_int_equal(ox_move_tiles(INT64_MAX, INT64_MAX), OX_MOVE_MAX_TILES);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_regions_equal_the_naive_copy),
      cmocka_unit_test(test_small_matrices),
      cmocka_unit_test(test_fills),
      cmocka_unit_test(test_repeats),
      cmocka_unit_test(test_tiles_are_bounded),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 * kern/mean_lines_test.c - means of bytes against the plain definition, on every instruction set, and the same bits. */
#include "kern/pool/mean_lines.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "support/check.h"

static const struct row {
  int axes;
  int64_t in[2], kernel[2], stride[2], dilation[2], lo[2], hi[2], out[2];
} rows[] = {
    {2, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}},
    {2, {5, 7}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, {3, 4}},
    {2, {25, 25}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {25, 25}},
    {2, {9, 8}, {3, 5}, {1, 1}, {1, 1}, {1, 2}, {1, 2}, {9, 8}},
    {2, {9, 9}, {2, 3}, {2, 1}, {3, 2}, {1, 2}, {0, 2}, {4, 9}},
    {2, {6, 6}, {2, 2}, {3, 3}, {1, 1}, {0, 0}, {0, 0}, {2, 2}},
    {2, {4, 3}, {7, 7}, {1, 1}, {1, 1}, {3, 3}, {3, 3}, {4, 3}}, /* windows wider than the image */
    {2, {2, 2}, {2, 2}, {4, 4}, {1, 1}, {2, 2}, {2, 2}, {2, 2}}, /* windows amid padding */
    {1, {40, 0}, {3, 0}, {2, 0}, {1, 0}, {1, 0}, {0, 0}, {20, 0}},
    {1, {41, 0}, {4, 0}, {3, 0}, {1, 0}, {0, 0}, {1, 0}, {14, 0}}, /* a last window beyond the padding */
};
static const int64_t channels[] = {1, 3, 16, 33, 64, 100};
static const struct quanta {
  double ratio;
  int x_zero, y_zero; /* of unsigned bytes */
} quanta[] = {{1, 0, 0}, {1.2345, 119, 130}, {0.37, 255, 3}, {40, 128, 128}};

static int value(uint8_t b, bool is_signed) { return is_signed ? (int8_t)b : b; }

/* In quanta of Y, not yet rounded. */
static double naive(const ox_pool *p, int64_t n, bool is_signed, const struct quanta *q, const uint8_t *x, int64_t r,
                    int64_t o, int64_t c) {
  int a = p->axes - 1, least = is_signed ? 128 : 0;
  int64_t high = a ? p->in[0] : 1, count = 0;
  double sum = 0;
  for (int64_t i = 0; i < (a ? p->kernel[0] : 1); i++)
    for (int64_t j = 0; j < p->kernel[a]; j++) {
      int64_t h = a ? r * p->stride[0] - p->lo[0] + i * p->dilation[0] : 0;
      int64_t w = o * p->stride[a] - p->lo[a] + j * p->dilation[a];
      bool inside = h >= 0 && h < high && w >= 0 && w < p->in[a];
      if (inside) sum += value(x[(h * p->in[a] + w) * n + c], is_signed) + least - q->x_zero;
      count += inside || (p->include_pad && h < high + (a ? p->hi[0] : 0) && w < p->in[a] + p->hi[a]);
    }
  return count ? sum / (double)count * q->ratio : 0;
}

static void check_row(const ox_mean_lines *v, const struct row *row, int64_t n, const struct quanta *q, int how) {
  bool is_signed = how & 1;
  ox_pool p = {.kind = OX_POOL_AVERAGE, .axes = row->axes, .include_pad = how & 2};
  for (int a = 0; a < row->axes; a++) {
    p.in[a] = row->in[a], p.out[a] = row->out[a], p.kernel[a] = row->kernel[a], p.stride[a] = row->stride[a];
    p.dilation[a] = row->dilation[a], p.lo[a] = row->lo[a], p.hi[a] = row->hi[a];
  }
  int a = p.axes - 1;
  int64_t high = a ? p.out[0] : 1, in = (a ? p.in[0] : 1) * p.in[a] * n, out = high * p.out[a] * n;
  uint8_t *x = malloc((size_t)in), *y = malloc((size_t)out + 1), *same = malloc((size_t)out);
  int32_t *scratch = malloc((size_t)((p.in[a] + p.out[a]) * n) * sizeof *scratch);
  ox_mean_bytes mean = {q->ratio, q->x_zero, q->y_zero, is_signed ? 128 : 0};
  for (int64_t i = 0; i < in; i++) x[i] = (uint8_t)((uint64_t)i * 2654435761u >> 13);
  y[out] = 0xcd;
  for (int64_t r = 0; r < high; r++) ox_mean_pool_row(v, &p, n, &mean, x, y, r, scratch);
  for (int64_t r = 0; r < high; r++) ox_mean_pool_row(ox_mean_lines_select(0), &p, n, &mean, x, same, r, scratch);
  assert_memory_equal(y, same, (size_t)out);
  for (int64_t i = 0; i < out; i++) {
    double want = naive(&p, n, is_signed, q, x, i / n / p.out[a], i / n % p.out[a], i % n) + q->y_zero;
    want = fmin(fmax(want, 0), 255) - (is_signed ? 128 : 0);
    int got = value(y[i], is_signed);
    if (!(fabs(got - want) <= 0.50001))
      fail_msg("%s, row %d, %lld channels, how %d, output %lld: got %d, wanted %g", v->name, (int)(row - rows),
               (long long)n, how, (long long)i, got, want);
  }
  assert_int_equal(y[out], 0xcd);
  free(x), free(y), free(same), free(scratch);
}

static void check_variant(void **state) {
  const ox_mean_lines *v = *state;
  if (v->needs & ~ox_isa_host()) skip();
  for (size_t i = 0; i < OX_COUNT(rows); i++)
    for (size_t c = 0; c < OX_COUNT(channels); c++)
      for (size_t q = 0; q < OX_COUNT(quanta); q++)
        for (int how = 0; how < 4; how++) check_row(v, &rows[i], channels[c], &quanta[q], how);
}

static void test_ends(void **state) {
  (void)state;
  size_t n;
  const ox_mean_lines *const *v = ox_mean_lines_variants(&n);
  static const int32_t x[] = {0, 1, 2, 3, 5, INT32_MAX, INT32_MIN};
  static const uint8_t ties[] = {10, 10, 11, 12, 12, 255, 0}; /* to even */
  for (size_t i = 0; i < n; i++) {
    uint8_t y[OX_COUNT(x)];
    if (v[i]->needs & ~ox_isa_host()) continue;
    v[i]->round(y, x, OX_COUNT(x), 0, 0.5, 10, 0);
    assert_memory_equal(y, ties, sizeof y);
    v[i]->round(y, x, OX_COUNT(x), 0, NAN, 10, 128);
    for (size_t k = 0; k < OX_COUNT(x); k++) assert_int_equal(y[k], 128);
  }
}

/* Lines of all lengths, of any bytes and of the largest. */
static void test_sums_of_all(void **state) {
  (void)state;
  static const size_t lengths[] = {0, 1, 7, 49, 63, 64, 65, 127, 3136, 64 * 256 - 1, 64 * 256, 64 * 256 + 1, 40000};
  size_t n;
  const ox_mean_lines *const *v = ox_mean_lines_variants(&n);
  for (size_t i = 0; i < n; i++)
    for (size_t l = 0; l < OX_COUNT(lengths) && !(v[i]->needs & ~ox_isa_host()); l++)
      for (int how = 0; how < 4; how++) {
        uint8_t *x = malloc(lengths[l] + 1), flip = how & 1 ? 128 : 0;
        int32_t want = 0;
        for (size_t k = 0; k < lengths[l]; k++)
          x[k] = how & 2 ? 255 ^ flip : (uint8_t)((uint64_t)k * 2654435761u >> 13), want += x[k] ^ flip;
        assert_int_equal(v[i]->all(x, lengths[l], flip), want);
        free(x);
      }
}

static void test_fits(void **state) {
  (void)state;
  ox_pool p = {.axes = 2, .kernel = {2896, 2896}};
  assert_true(ox_mean_pool_fits(&p));
  p.kernel[1] = INT64_MAX / 2;
  assert_false(ox_mean_pool_fits(&p));
  p = (ox_pool){.axes = 3, .kernel = {1, 1, 1}};
  assert_false(ox_mean_pool_fits(&p));
}

int main(void) {
  size_t n;
  const ox_mean_lines *const *v = ox_mean_lines_variants(&n);
  struct CMUnitTest tests[16] = {cmocka_unit_test(test_ends), cmocka_unit_test(test_sums_of_all),
                                 cmocka_unit_test(test_fits)};
  assert_true(n + 3 <= OX_COUNT(tests));
  for (size_t i = 0; i < n; i++)
    tests[i + 3] = (struct CMUnitTest){v[i]->name, check_variant, NULL, NULL, (void *)(uintptr_t)v[i]};
  return _cmocka_run_group_tests("mean_lines", tests, n + 3, NULL, NULL);
}

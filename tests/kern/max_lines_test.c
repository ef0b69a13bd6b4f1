/* SPDX-License-Identifier: Apache-2.0
 * kern/max_lines_test.c - maxima of channels-last bytes against the plain definition, on every instruction set. */
#include "kern/pool/max_lines.h"

#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "support/check.h"

static const struct row {
  int axes;
  int64_t in[2], kernel[2], stride[2], dilation[2], lo[2], out[2];
} rows[] = {
    {2, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {1, 1}},   {2, {5, 7}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {3, 4}},
    {2, {9, 8}, {3, 5}, {1, 1}, {1, 1}, {1, 2}, {9, 8}},   {2, {9, 9}, {2, 3}, {2, 1}, {3, 2}, {1, 2}, {4, 9}},
    {2, {2, 2}, {2, 2}, {4, 4}, {1, 1}, {2, 2}, {2, 2}}, /* windows amid padding */
    {1, {40, 0}, {3, 0}, {2, 0}, {1, 0}, {1, 0}, {20, 0}},
};
static const int64_t channels[] = {1, 3, 15, 16, 33, 64, 100, 192};

static int value(uint8_t b, bool is_signed) { return is_signed ? (int8_t)b : b; }

static int naive(const ox_pool *p, int64_t n, bool is_signed, const uint8_t *x, int64_t r, int64_t o, int64_t c) {
  int a = p->axes - 1, most = is_signed ? -128 : 0;
  for (int64_t i = 0; i < (a ? p->kernel[0] : 1); i++)
    for (int64_t j = 0; j < p->kernel[a]; j++) {
      int64_t h = a ? r * p->stride[0] - p->lo[0] + i * p->dilation[0] : 0;
      int64_t w = o * p->stride[a] - p->lo[a] + j * p->dilation[a];
      if (h < 0 || h >= (a ? p->in[0] : 1) || w < 0 || w >= p->in[a]) continue;
      most = OX_MAX(most, value(x[(h * p->in[a] + w) * n + c], is_signed));
    }
  return most;
}

static void check_row(const ox_max_lines *v, const struct row *row, int64_t n, bool is_signed) {
  ox_pool p = {.kind = OX_POOL_MAX, .axes = row->axes};
  for (int a = 0; a < row->axes; a++) {
    p.in[a] = row->in[a], p.out[a] = row->out[a], p.kernel[a] = row->kernel[a], p.stride[a] = row->stride[a];
    p.dilation[a] = row->dilation[a], p.lo[a] = row->lo[a];
  }
  int a = p.axes - 1;
  int64_t high = a ? p.out[0] : 1, in = (a ? p.in[0] : 1) * p.in[a] * n, out = high * p.out[a] * n;
  uint8_t *x = malloc((size_t)in), *y = malloc((size_t)out + 1), *scratch = malloc((size_t)(p.in[a] * n));
  for (int64_t i = 0; i < in; i++) x[i] = (uint8_t)((uint64_t)i * 2654435761u >> 13);
  y[out] = 0xcd;
  for (int64_t r = 0; r < high; r++) ox_max_pool_last(v, &p, n, is_signed, x, y, r, scratch);
  for (int64_t i = 0; i < out; i++) {
    int want = naive(&p, n, is_signed, x, i / n / p.out[a], i / n % p.out[a], i % n), got = value(y[i], is_signed);
    if (got != want)
      fail_msg("%s, row %d, %lld channels, signed %d, output %lld: got %d, wanted %d", v->name, (int)(row - rows),
               (long long)n, is_signed, (long long)i, got, want);
  }
  assert_int_equal(y[out], 0xcd);
  free(x), free(y), free(scratch);
}

static void check_variant(void **state) {
  const ox_max_lines *v = *state;
  if (v->needs & ~ox_isa_host()) skip();
  for (size_t i = 0; i < OX_COUNT(rows); i++)
    for (size_t c = 0; c < OX_COUNT(channels); c++)
      for (int is_signed = 0; is_signed < 2; is_signed++) check_row(v, &rows[i], channels[c], is_signed);
}

int main(void) {
  size_t n;
  const ox_max_lines *const *v = ox_max_lines_variants(&n);
  struct CMUnitTest tests[16];
  assert_true(n <= OX_COUNT(tests));
  for (size_t i = 0; i < n; i++)
    tests[i] = (struct CMUnitTest){v[i]->name, check_variant, NULL, NULL, (void *)(uintptr_t)v[i]};
  return _cmocka_run_group_tests("max_lines", tests, n, NULL, NULL);
}

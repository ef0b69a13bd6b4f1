/* SPDX-License-Identifier: Apache-2.0
 * kern/max_pool_i8_test.c - maxima of bytes against the plain definition, over sizes, strides, padding and both signs.
 */
#include "kern/pool/max_pool_i8.h"

#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "support/check.h"

static const struct {
  int axes;
  int64_t in[2], kernel[2], stride[2], lo[2], out[2];
} rows[] = {
    {2, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {1, 1}},   {2, {5, 7}, {3, 3}, {2, 2}, {1, 1}, {3, 4}},
    {2, {16, 16}, {2, 2}, {2, 2}, {0, 0}, {8, 8}}, {2, {9, 33}, {3, 5}, {1, 1}, {1, 2}, {9, 33}},
    {2, {4, 17}, {4, 17}, {1, 1}, {0, 0}, {1, 1}}, {2, {3, 31}, {1, 3}, {1, 3}, {0, 1}, {3, 11}},
    {2, {2, 2}, {3, 3}, {2, 2}, {0, 0}, {1, 1}},   {1, {40, 0}, {3, 0}, {2, 0}, {1, 0}, {20, 0}},
    {2, {2, 2}, {2, 2}, {4, 4}, {2, 2}, {2, 2}},   {2, {112, 112}, {3, 3}, {2, 2}, {1, 1}, {56, 56}},
};

static uint8_t naive(const ox_pool *p, bool is_signed, const uint8_t *x, int64_t r, int64_t c) {
  int a = p->axes - 1, best = is_signed ? -128 : 0;
  int64_t height = a ? p->in[0] : 1, kernel = a ? p->kernel[0] : 1, top = a ? r * p->stride[0] - p->lo[0] : 0;
  for (int64_t i = 0; i < kernel; i++)
    for (int64_t j = 0; j < p->kernel[a]; j++) {
      int64_t y = top + i, z = c * p->stride[a] - p->lo[a] + j;
      if (y < 0 || y >= height || z < 0 || z >= p->in[a]) continue;
      int v = is_signed ? (int8_t)x[y * p->in[a] + z] : x[y * p->in[a] + z];
      best = OX_MAX(best, v);
    }
  return (uint8_t)best;
}

static void test_every_row(void **state) {
  (void)state;
  for (size_t k = 0; k < OX_COUNT(rows); k++)
    for (int is_signed = 0; is_signed < 2; is_signed++) {
      ox_pool p = {.kind = OX_POOL_MAX, .axes = rows[k].axes, .dilation = {1, 1}};
      memcpy(p.in, rows[k].in, sizeof rows[k].in), memcpy(p.out, rows[k].out, sizeof rows[k].out);
      memcpy(p.kernel, rows[k].kernel, sizeof rows[k].kernel), memcpy(p.stride, rows[k].stride, sizeof rows[k].stride);
      memcpy(p.lo, rows[k].lo, sizeof rows[k].lo);
      assert_true(ox_max_pool_i8_fits(&p));
      int64_t h = p.axes == 2 ? p.in[0] : 1, out_h = p.axes == 2 ? p.out[0] : 1;
      size_t n = (size_t)(h * p.in[p.axes - 1]), n_out = (size_t)(out_h * p.out[p.axes - 1]);
      uint8_t *x = malloc(n), *y = malloc(n_out), *scratch = malloc(ox_max_pool_i8_scratch(&p));
      for (size_t i = 0; i < n; i++) x[i] = (uint8_t)(i * 2654435761u >> 13);
      ox_max_pool_i8(&p, is_signed, x, y, scratch);
      for (size_t i = 0; i < n_out; i++) {
        int64_t w = p.out[p.axes - 1];
        uint8_t want = naive(&p, is_signed, x, (int64_t)i / w, (int64_t)i % w);
        if (y[i] != want) fail_msg("row %zu, signed %d, output %zu: got %d, wanted %d", k, is_signed, i, y[i], want);
      }
      free(x), free(y), free(scratch);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_row)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

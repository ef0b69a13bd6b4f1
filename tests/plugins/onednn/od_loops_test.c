/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_loops_test.c - what the oneDNN provider computes of bytes itself, on every instruction set of this
 * machine, beside the standard's formulas in plain C: ties, odd zeros, NaN, infinities, scales without an inverse, and
 * all lengths up to some vectors. */
#include <math.h>
#include <string.h>

#include "../../../src/plugins/onednn/od_loops.h"
#include "base/macros.h"
#include "support/check.h"

enum { MOST = 70 };

static const ox_isa levels[] = {0, OX_AVX2, OX_AVX2 | OX_AVX512, OX_NEON};

static const od_grid grids[] = {{1, 0, false},     {1, 3, false},       {0.5f, 255, false},    {2, -3, true},
                                {0.1f, 127, true}, {0.03f, 128, false}, {0x1p-130f, 1, false}, {0x1p126f, -128, true},
                                {3, 7, true},      {0.0137f, 0, false}};

static float at(size_t i) {
  static const float edges[] = {0.5f,  1.5f,   -0.5f,     2.5f,        NAN,        INFINITY, -INFINITY, -0.0f,
                                1e30f, -1e30f, 0x1p-149f, 0.49999997f, 1.4999999f, -1.5f,    127.5f,    255.5f};
  return i < OX_COUNT(edges) ? edges[i] : (float)((int)(i * 2654435761u >> 20) - 2048) / 8;
}

static int value(const od_grid *g, uint8_t q) { return g->is_signed ? (int8_t)q : q; }
static float number(const od_grid *g, uint8_t q) { return (float)(value(g, q) - g->zero) * g->scale; }

static int quantized(const od_loops_job *j, float x) {
  float q = rintf(x / j->y.scale) + (float)j->y.zero;
  if (!(q > (float)j->low)) return j->low;
  return q < (float)j->high ? (int)q : j->high;
}

/* Of one type as ONNX Runtime's QLinearAdd, which rounds once the zero points are in the sum; else as the standard's
 * DequantizeLinear, Add and QuantizeLinear. */
static int summed(const od_loops_job *j, uint8_t a, uint8_t b) {
  const od_grid *x = j->x;
  if (x[0].is_signed != j->y.is_signed || x[1].is_signed != j->y.is_signed)
    return quantized(j, number(&x[0], a) + number(&x[1], b));
  float p = x[0].scale / j->y.scale, q = x[1].scale / j->y.scale, qz = q * (float)x[1].zero;
  float rest = (float)j->y.zero - fmaf(p, (float)x[0].zero, qz);
  float sum = fmaf((float)value(&x[0], a), p, fmaf((float)value(&x[1], b), q, rest));
  if (!(sum > (float)j->low)) return j->low;
  return sum < (float)j->high ? (int)rintf(sum) : j->high;
}

static od_loops_job job_of(const od_grid *a, const od_grid *b, const od_grid *y, int cut) {
  int least = y->is_signed ? -128 : 0;
  return (od_loops_job){{*a, *b}, *y, cut ? OX_MIN(y->zero, least + 100) : least, cut ? least + 200 : least + 255};
}

static void check_quantize(const od_loops_table *t, const od_loops_job *j, size_t n) {
  float x[MOST];
  uint8_t y[MOST + 1];
  memset(y, 77, sizeof y);
  for (size_t i = 0; i < n; i++) x[i] = at(i) * (fabsf(at(i)) < 1e6f ? j->y.scale : 1);
  t->quantize(j, x, y, n);
  for (size_t i = 0; i < n; i++)
    if (value(&j->y, y[i]) != quantized(j, x[i]))
      fail_msg("isa %x: %g by %g, %d is %d, not %d", t->needs, (double)x[i], (double)j->y.scale, j->y.zero,
               value(&j->y, y[i]), quantized(j, x[i]));
  assert_int_equal(y[n], 77);
}

static void test_quantize(void **state) {
  (void)state;
  for (size_t l = 0; l < OX_COUNT(levels); l++) {
    if (levels[l] & ~ox_isa_host()) continue;
    for (size_t g = 0; g < 2 * OX_COUNT(grids); g++)
      for (size_t n = 0; n <= MOST; n++) {
        od_loops_job j = job_of(&grids[0], &grids[0], &grids[g / 2], g % 2);
        check_quantize(od_loops_select(levels[l]), &j, n);
      }
  }
}

static void test_dequantize(void **state) {
  (void)state;
  for (size_t l = 0; l < OX_COUNT(levels); l++) {
    if (levels[l] & ~ox_isa_host()) continue;
    for (size_t g = 0; g < OX_COUNT(grids); g++) {
      od_loops_job j = job_of(&grids[g], &grids[g], &grids[0], 0);
      uint8_t x[256];
      float y[257];
      for (int i = 0; i < 256; i++) x[i] = (uint8_t)i;
      for (size_t n = 0; n <= 256; n += n < MOST ? 1 : 31) {
        y[n] = 77;
        od_loops_select(levels[l])->dequantize(&j, x, y, n);
        for (size_t i = 0; i < n; i++) assert_true(y[i] == number(&grids[g], x[i]));
        assert_true(y[n] == 77);
      }
    }
  }
}

static void check_add(const od_loops_table *t, const od_loops_job *j, size_t n) {
  uint8_t a[MOST], b[MOST], y[MOST + 1];
  memset(y, 77, sizeof y);
  for (size_t i = 0; i < n; i++) a[i] = (uint8_t)(i * 37), b[i] = (uint8_t)(i * 101 + 5);
  t->add(j, a, b, y, n);
  for (size_t i = 0; i < n; i++)
    if (value(&j->y, y[i]) != summed(j, a[i], b[i]))
      fail_msg("isa %x: %d and %d by %g, %d is %d, not %d", t->needs, a[i], b[i], (double)j->y.scale, j->y.zero,
               value(&j->y, y[i]), summed(j, a[i], b[i]));
  assert_int_equal(y[n], 77);
}

/* All triples of grids, with lengths that come round. */
static void test_add(void **state) {
  enum { N = OX_COUNT(grids) };
  (void)state;
  for (size_t l = 0; l < OX_COUNT(levels); l++) {
    if (levels[l] & ~ox_isa_host()) continue;
    for (size_t k = 0; k < 2 * N * N * N; k++) {
      od_loops_job j = job_of(&grids[k % N], &grids[k / N % N], &grids[k / N / N % N], k / N / N / N);
      check_add(od_loops_select(levels[l]), &j, k % (MOST + 1));
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_quantize), cmocka_unit_test(test_dequantize),
                                     cmocka_unit_test(test_add)};
  return cmocka_run_group_tests_name("plugins.onednn.od_loops", tests, NULL, NULL);
}

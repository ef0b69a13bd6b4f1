/* SPDX-License-Identifier: Apache-2.0
 * ops/dft_test.c - DFT and STFT of lines that have nothing in common: whatever one holds, the others must be as exact
 * as alone. The standard's own tests cover the rest. */
#include <math.h>

#include "support/typed.h"

enum { LINES = 5, LENGTH = 12 };

static void make(uint32_t dtype, const double *scales, double odd, void *memory) {
  for (int64_t i = 0; i < LINES * LENGTH; i++) {
    double v = scales[i / LENGTH] * sin((double)(i * i));
    if (i == 2 * LENGTH + 1) v += odd;
    ox_convert_select(0)->store_f64[dtype](&v, memory, (size_t)i, 1, NULL);
  }
}

/* Bins of |n| elements from |at| on; they are relative to the line's size. */
static void near_sums(const ox_tensor *x, int64_t at, int64_t n, double scale, const ox_tensor *y, int64_t from,
                      int64_t bins) {
  for (int64_t k = 0; k < bins; k++) {
    double re = 0, im = 0;
    for (int64_t i = 0; i < n; i++) {
      double angle = -2 * 3.14159265358979323846 * (double)(i * k % n) / (double)n, v = typed_at(x, at + i);
      re += v * cos(angle), im += v * sin(angle);
    }
    for (int part = 0; part < 2; part++) {
      double got = typed_at(y, 2 * (from + k) + part), want = part ? im : re;
      if (!(fabs(got - want) <= 20 * typed_step(x->dtype) * scale))
        fail_msg("%s line at %lld, bin %lld is %.9g, wanted %.9g", ox_dtype_name(x->dtype), (long long)at, (long long)k,
                 got, want);
    }
  }
}

static void check(uint32_t dtype, const double *scales, double odd) {
  static uint64_t memory[LINES * LENGTH];
  one_node d, s;
  make(dtype, scales, odd, memory);
  one_node_init(&d, "", "DFT", 17, 1), one_node_init(&s, "", "STFT", 17, 1);
  one_node_int(&d, "axis", 1);
  one_node_input(&d, dtype, 3, (int64_t[]){LINES, LENGTH, 1}, memory);
  one_node_input(&s, dtype, 3, (int64_t[]){1, LINES * LENGTH, 1}, memory); /* a frame is a line */
  one_node_const(&s, OX_I64, 0, NULL, &(int64_t){LENGTH});
  one_node_input(&s, dtype, -1, NULL, NULL), one_node_const(&s, OX_I64, 0, NULL, &(int64_t){LENGTH});
  CHECK_OK(one_node_run(&d));
  CHECK_OK(one_node_run(&s));
  for (int64_t l = 0; l < LINES; l++) {
    if (l == 2 && !isfinite(odd)) continue;
    near_sums(&d.in[0], l * LENGTH, LENGTH, scales[l], &d.out[0], l * LENGTH, LENGTH);
    near_sums(&s.in[0], l * LENGTH, LENGTH, scales[l], &s.out[0], l * (LENGTH / 2 + 1), LENGTH / 2 + 1);
  }
  one_node_deinit(&d), one_node_deinit(&s);
}

static void test_lines_do_not_mix(void **state) {
  (void)state;
  static const double same[LINES] = {1, 1, 1, 1, 1}, other[LINES] = {1e6, 1, 1e-3, 1e5, 1},
                      none[LINES] = {1, 0, 0, 1, 0};
  static const uint32_t types[] = {OX_F32, OX_F64};
  for (size_t t = 0; t < OX_COUNT(types); t++) {
    check(types[t], same, 0), check(types[t], other, 0), check(types[t], none, 0);
    check(types[t], same, NAN), check(types[t], same, INFINITY);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_lines_do_not_mix),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

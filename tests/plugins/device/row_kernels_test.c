/* SPDX-License-Identifier: Apache-2.0
 * plugins/device/row_kernels_test.c - the kernels of softmax, reductions and norms beside sums in double: rows shorter
 * and longer than a group, rows across, NaN and infinities. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/macros.h"
#include "plugins/device/kernel_calls.h"
#include "plugins/device/kernels/group_norm_params.h"
#include "plugins/device/kernels/rows_params.h"
#include "support/check.h"

KERNEL_OF(softmax_rows);
KERNEL_OF(softmax_items);
KERNEL_OF(reduce_rows);
KERNEL_OF(reduce_items);
KERNEL_OF(norm);
KERNEL_OF(group_norm);

static const int lengths[] = {1, 2, 3, 127, 128, 129, 300};

static int differs(float got, double wanted, int half) {
  double tolerance = half ? fabs(wanted) / 1024 + 1e-6 : fabs(wanted) * 2e-6 + 1e-6;
  if (isnan(wanted)) return !isnan(got);
  if (isinf(wanted)) return (double)got != wanted;
  return !(fabs((double)got - wanted) <= tolerance);
}

/* |special| in the first row, 0: none. */
static void check_softmax(int n, int inner, int is_log, int half, int by_rows, float special) {
  int outer = 3, count = outer * n * inner;
  numbers x = numbers_make(count, half, 1), y = numbers_make(count, half, 2);
  softmax_params p = {outer, n, inner, is_log};
  if (special != 0) number_set(&x, (n - 1) * inner, special);
  kernel_fn *fn = by_rows ? half ? softmax_rows_f16 : softmax_rows_f32 : half ? softmax_items_f16 : softmax_items_f32;
  run_groups(fn, by_rows ? outer : OX_CEIL_DIV(outer * inner, 256), (void *[]){x.data, y.data}, &p);
  for (int row = 0; row < outer * inner; row++) {
    int first = row / inner * n * inner + row % inner;
    double sum = 0, most = -INFINITY;
    for (int i = 0; i < n; i++) {
      double v = (double)number_at(&x, first + i * inner);
      most = v > most || isnan(v) ? v : most;
    }
    for (int i = 0; i < n; i++) sum += exp((double)number_at(&x, first + i * inner) - most);
    for (int i = 0; i < n; i++) {
      double v = (double)number_at(&x, first + i * inner) - most, wanted = is_log ? v - log(sum) : exp(v) / sum;
      if (differs(number_at(&y, first + i * inner), wanted, half))
        fail_msg("softmax of %d, inner %d, log %d, half %d, rows %d, special %g: row %d, %d is %g, wanted %g", n, inner,
                 is_log, half, by_rows, (double)special, row, i, (double)number_at(&y, first + i * inner), wanted);
    }
  }
  free(x.data), free(y.data);
}

static void test_softmax(void **state) {
  (void)state;
  static const float specials[] = {0, NAN, INFINITY, -INFINITY, 1000};
  for (size_t i = 0; i < OX_COUNT(lengths); i++)
    for (size_t s = 0; s < OX_COUNT(specials); s++)
      for (int form = 0; form < 4; form++) {
        check_softmax(lengths[i], 1, form & 1, form >> 1, 1, specials[s]);
        check_softmax(lengths[i], 1, form & 1, form >> 1, 0, specials[s]);
        check_softmax(lengths[i], 90, form & 1, form >> 1, 0, specials[s]);
      }
}

static double reduced(int op, const double *v, int n) {
  double sum = op == REDUCE_PROD ? 1 : 0, most = -INFINITY, least = INFINITY;
  for (int i = 0; i < n; i++) {
    most = v[i] > most || isnan(v[i]) ? v[i] : most, least = v[i] < least || isnan(v[i]) ? v[i] : least;
    if (op == REDUCE_PROD)
      sum *= v[i];
    else if (op == REDUCE_L1)
      sum += fabs(v[i]);
    else if (op == REDUCE_L2 || op == REDUCE_SUM_SQUARE)
      sum += v[i] * v[i];
    else if (op == REDUCE_LOG_SUM_EXP)
      sum += exp(v[i]);
    else
      sum += v[i];
  }
  switch (op) {
    case REDUCE_MEAN:
      return sum / n;
    case REDUCE_MAX:
      return most;
    case REDUCE_MIN:
      return least;
    case REDUCE_L2:
      return sqrt(sum);
    case REDUCE_LOG_SUM:
    case REDUCE_LOG_SUM_EXP:
      return log(sum);
    default:
      return sum;
  }
}

/* [2, n, 5] over the middle, or over the first and the last; [6, n] over the last. */
static void check_reduce(int op, int form, int n, int half, int by_rows, float special) {
  static const int shapes[3][3] = {{2, 0, 5}, {2, 0, 5}, {6, 0, 1}};
  int d[3] = {shapes[form][0], n, shapes[form][2]}, count = d[0] * d[1] * d[2], outer_goes = form == 1;
  int outputs = outer_goes ? n : d[0] * d[2], gone = outer_goes ? d[0] * d[2] : n;
  numbers x = numbers_make(count, half, 3), y = numbers_make(outputs, half, 4);
  double *v = malloc((size_t)gone * sizeof *v);
  for (int i = 0; op == REDUCE_PROD && i < count; i++) number_set(&x, i, i % 3 ? 1.0f : -1.25f);
  for (int i = 0; op == REDUCE_LOG_SUM && i < count; i++) number_set(&x, i, fabsf(number_at(&x, i)) + 1);
  if (special != 0) number_set(&x, 0, special);
  reduce_params p = {.op = op, .n = gone, .outputs = outputs};
  for (int i = 0; i < REDUCE_DIMS; i++) p.kept[i] = p.gone[i] = 1;
  int *ends = outer_goes ? p.gone : p.kept, *end_steps = outer_goes ? p.gone_stride : p.kept_stride;
  int *middle = outer_goes ? p.kept : p.gone, *middle_step = outer_goes ? p.kept_stride : p.gone_stride;
  ends[2] = d[0], end_steps[2] = n * d[2], ends[3] = d[2], end_steps[3] = 1, middle[3] = n, middle_step[3] = d[2];
  kernel_fn *fn = by_rows ? half ? reduce_rows_f16 : reduce_rows_f32 : half ? reduce_items_f16 : reduce_items_f32;
  run_groups(fn, by_rows ? outputs : OX_CEIL_DIV(outputs, 256),
             (void *[]){x.data, y.data, NULL, NULL, NULL, NULL, NULL, NULL}, &p);
  for (int o = 0; o < outputs; o++) {
    for (int i = 0; i < gone; i++)
      v[i] = (double)number_at(
          &x, outer_goes ? (i / d[2] * n + o) * d[2] + i % d[2] : (o / d[2] * n + i) * d[2] + o % d[2]);
    double wanted = reduced(op, v, gone), got = (double)number_at(&y, o), size = 0;
    for (int i = 0; i < gone; i++) size += fabs(v[i]); /* what cancels was rounded */
    double tolerance = half ? fabs(wanted) / 1024 : (fabs(wanted) + size) * 2e-6;
    bool same = isfinite(wanted) ? fabs(got - wanted) <= tolerance + 1e-6 : isnan(wanted) ? isnan(got) : got == wanted;
    if (half && fabs(wanted) > 65504) continue;
    if (!same)
      fail_msg("op %d, form %d, n %d, half %d, rows %d, special %g: output %d is %g, wanted %g", op, form, n, half,
               by_rows, (double)special, o, got, wanted);
  }
  free(x.data), free(y.data), free(v);
}

static void test_reductions(void **state) {
  (void)state;
  static const float specials[] = {0, NAN, INFINITY};
  for (int op = REDUCE_SUM; op <= REDUCE_LOG_SUM_EXP; op++)
    for (int form = 0; form < 3; form++)
      for (size_t i = 0; i < OX_COUNT(lengths); i++)
        for (size_t s = 0; s < OX_COUNT(specials); s++)
          for (int how = 0; how < 4; how++) check_reduce(op, form, lengths[i], how & 1, how >> 1, specials[s]);
}

/* cycle * (n / span) scales; the rows are |rows|. */
static void check_norm(int n, int cycle, int span, int centred, int half) {
  int rows = 2 * cycle, scales = cycle * n / span;
  numbers x = numbers_make(rows * n, half, 5), scale = numbers_make(scales, half, 6),
          shift = numbers_make(scales, half, 7), y = numbers_make(rows * n, half, 8);
  norm_params p = {.n = n, .cycle = cycle, .span = span, .centred = centred, .has_shift = centred, .epsilon = 0.5f};
  run_groups(half ? norm_f16 : norm_f32, rows,
             (void *[]){x.data, scale.data, shift.data, y.data, NULL, NULL, NULL, NULL}, &p);
  for (int row = 0; row < rows; row++) {
    double mean = 0, square = 0;
    for (int i = 0; i < n; i++) mean += centred ? (double)number_at(&x, row * n + i) / n : 0;
    for (int i = 0; i < n; i++) square += pow((double)number_at(&x, row * n + i) - mean, 2) / n;
    for (int i = 0; i < n; i++) {
      int c = (row % cycle * n + i) / span;
      double wanted = ((double)number_at(&x, row * n + i) - mean) / sqrt(square + 0.5) * (double)number_at(&scale, c);
      if (centred) wanted += (double)number_at(&shift, c);
      double tolerance = half ? fabs(wanted) / 1024 + 1e-3 : 1e-5;
      if (!(fabs((double)number_at(&y, row * n + i) - wanted) <= tolerance))
        fail_msg("norm of %d, cycle %d, span %d, centred %d, half %d: row %d, %d is %g, wanted %g", n, cycle, span,
                 centred, half, row, i, (double)number_at(&y, row * n + i), wanted);
    }
  }
  free(x.data), free(scale.data), free(shift.data), free(y.data);
}

static void test_norms(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(lengths); i++)
    for (int form = 0; form < 4; form++) {
      check_norm(lengths[i], 1, 1, form & 1, form >> 1);              /* layer */
      check_norm(lengths[i], 3, lengths[i], form & 1, form >> 1);     /* instance */
      check_norm(2 * lengths[i], 3, lengths[i], form & 1, form >> 1); /* groups of two channels */
    }
}

/* Two images of |groups| x |channels| channels of |pixels|; scales of 32 bits, or of X's type. */
static void check_group_norm(group_norm_params p, int half) {
  int all = p.groups * p.channels, count = 2 * all * p.pixels, n = p.channels * p.pixels;
  numbers x = numbers_make(count, half, 5), y = numbers_make(count, half, 8);
  numbers scale = numbers_make(all, half && !p.wide, 6), shift = numbers_make(all, half && !p.wide, 7);
  p.epsilon = 0.5f;
  run_groups(half ? group_norm_f16 : group_norm_f32, 2 * p.groups,
             (void *[]){x.data, scale.data, shift.data, y.data, NULL, NULL, NULL, NULL}, &p);
  for (int row = 0; row < 2 * p.groups; row++) {
    double mean = 0, square = 0;
    for (int pass = 0; pass < 3; pass++)
      for (int c = 0; c < p.channels; c++)
        for (int px = 0; px < p.pixels; px++) {
          int image = row / p.groups, channel = row % p.groups * p.channels + c;
          int at = p.last ? (image * p.pixels + px) * all + channel : (image * all + channel) * p.pixels + px;
          double v = (double)number_at(&x, at);
          if (pass == 0) mean += v / n;
          if (pass == 1) square += pow(v - mean, 2) / n;
          double wanted =
              (v - mean) / sqrt(square + 0.5) * (double)number_at(&scale, channel) + (double)number_at(&shift, channel);
          double tolerance = half ? fabs(wanted) / 1024 + 1e-3 : 1e-5;
          if (pass == 2 && !(fabs((double)number_at(&y, at) - wanted) <= tolerance))
            fail_msg("%d groups of %d channels of %d, last %d, wide %d, half %d: %d is %g, wanted %g", p.groups,
                     p.channels, p.pixels, p.last, p.wide, half, at, (double)number_at(&y, at), wanted);
        }
  }
  free(x.data), free(scale.data), free(shift.data), free(y.data);
}

static void test_group_norms(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(lengths); i++)
    for (int form = 0; form < 8; form++) {
      group_norm_params p = {
          .groups = 3, .channels = 1, .pixels = lengths[i], .last = form & 1, .wide = (form & 4) || !(form & 2)};
      check_group_norm(p, form >> 1 & 1);
      p.groups = 1, p.channels = 5;
      check_group_norm(p, form >> 1 & 1);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_softmax), cmocka_unit_test(test_reductions),
                                     cmocka_unit_test(test_norms), cmocka_unit_test(test_group_norms)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 * kern/softmax/softmax_select.c - picks the float versions for an instruction set; the double version. */
#include "kern/softmax/softmax.h"
#include "kern/variants.h"

#include <math.h>

OX_VARIANTS_SELECT(ox_softmax_table, ox_softmax__, ox_softmax_select)

void ox_softmax_f64(const double *x, double *y, size_t n, size_t step, int is_log, const ox_stop *stop) {
#define GOES_ON(i) (i < n && !(i % 1024 == 1023 && stop && ox_stop_asked(stop)))
  double high = -INFINITY, sum = 0;
  for (size_t i = 0; GOES_ON(i); i++) high = x[i * step] > high || x[i * step] != x[i * step] ? x[i * step] : high;
  for (size_t i = 0; GOES_ON(i); i++) {
    double e = exp(x[i * step] - high);
    sum += e;
    y[i * step] = is_log ? x[i * step] - high : e;
  }
  double log_sum = log(sum);
  for (size_t i = 0; GOES_ON(i); i++) y[i * step] = is_log ? y[i * step] - log_sum : y[i * step] / sum;
#undef GOES_ON
}

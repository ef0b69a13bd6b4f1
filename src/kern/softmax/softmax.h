/* SPDX-License-Identifier: Apache-2.0
 * kern/softmax/softmax.h - softmax and log-softmax of float rows and of columns. y may be x. Functions with |stop|,
 * which may be NULL, return early when it is set; y is then undefined. */
#ifndef OX_KERN_SOFTMAX_SOFTMAX_H
#define OX_KERN_SOFTMAX_SOFTMAX_H

#include <stddef.h>

#include "base/cpu.h"
#include "base/stop.h"

typedef struct ox_softmax_table {
  ox_isa needs;
  const char *name;
  void (*row)(const float *x, float *y, size_t n);
  void (*log_row)(const float *x, float *y, size_t n);
  /* The same results for a long row, with checks of |stop|. */
  void (*long_row)(const float *x, float *y, size_t n, int is_log, const ox_stop *stop);
  /* |n| rows of |width| columns, |pitch| floats apart: the softmax runs down each column */
  void (*columns)(const float *x, float *y, size_t n, size_t width, size_t pitch, int is_log, const ox_stop *stop);
  /* |rows| contiguous rows of n elements, n <= |short_most|. */
  void (*short_rows)(const float *x, float *y, size_t rows, size_t n, int is_log);
  size_t short_most;
  /* The results of log_row for contiguous rows of n <= |log_most| elements, with the logarithms of several sums at
   * once. */
  void (*log_rows)(const float *x, float *y, size_t rows, size_t n);
  size_t log_most;
  /* What row makes of rows one after the other, n <= rows_most. */
  void (*rows)(const float *x, float *y, size_t rows, size_t n);
  size_t rows_most;
} ox_softmax_table;

const ox_softmax_table *ox_softmax_select(ox_isa have);

/* The same on doubles, short rows or long. */
typedef struct ox_softmax_f64 {
  void (*row)(const double *x, double *y, size_t n, int is_log, const ox_stop *stop);
  void (*columns)(const double *x, double *y, size_t n, size_t width, size_t pitch, int is_log, const ox_stop *stop);
} ox_softmax_f64;

const ox_softmax_f64 *ox_softmax_f64_select(ox_isa have);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * kern/reduce/reduce.h - folding rows into a number and adding rows onto an accumulator, for float, double and int64.
 * Float sums are taken in blocks whose sums add up in double: the error does not grow with the length. */
#ifndef OX_KERN_REDUCE_REDUCE_H
#define OX_KERN_REDUCE_REDUCE_H

#include <stddef.h>
#include <stdint.h>

#include "base/cpu.h"
#include "onyx/ep.h"

/* What is folded: SUM x, ABS |x|, SQUARE x^2 and EXP exp(x - shift) add up; PROD multiplies; MAX and MIN pass NaN on.
 */
typedef enum ox_fold {
  OX_FOLD_SUM,
  OX_FOLD_ABS,
  OX_FOLD_SQUARE,
  OX_FOLD_EXP,
  OX_FOLD_PROD,
  OX_FOLD_MAX,
  OX_FOLD_MIN,
  OX_FOLD_COUNT
} ox_fold;

/* Rows that columns() may add to one float accumulator before its caller moves the sum to double. */
enum { OX_FOLD_ROWS = 32, OX_FOLD_LANES = 16, OX_FOLD_SHORT = 128 };

typedef struct ox_reduce_table {
  ox_isa needs;
  const char *name;
  /* the fold of n floats; of none: 0 for sums, 1 for PROD, -inf for MAX, inf for MIN */
  double (*row[OX_FOLD_COUNT])(const float *x, size_t n, float shift);
  /* y[r]: the fold of the n floats, OX_FOLD_SHORT at most, from x[r * pitch] on, for rows that lie close together. No
   * EXP and no PROD */
  void (*rows[OX_FOLD_COUNT])(const float *x, size_t rows, size_t n, size_t pitch, float *y);
  /* acc[j] = acc[j] fold x[r * pitch + j] for |rows| rows r; EXP takes its shift per column, the others NULL */
  void (*column[OX_FOLD_COUNT])(float *acc, const float *x, size_t n, const float *shift, size_t rows, size_t pitch);
  /* acc[j] += the sum of x[r * OX_FOLD_LANES + j] over |rows| rows r: tensors in blocks of channels */
  void (*sum_lanes)(double *acc, const float *x, size_t rows);
  /* acc[i * acc_pitch + j] += x[i * pitch + j] for |lines| lines of n elements */
  void (*add_lines)(double *acc, size_t acc_pitch, const float *x, size_t pitch, size_t lines, size_t n);
  /* the first element above |bound| (below it, if |below|) or NaN; n if there is none */
  size_t (*next_beyond)(const float *x, size_t n, float bound, int below);
  /* the same of doubles and integers, |bound| one of the type: above it or NaN, or below it */
  size_t (*next_better[OX_DTYPE_COUNT])(const void *x, size_t n, const void *bound, int below);
  /* where[j]: the row, of |rows| > 0, < 2^31 and |pitch| apart, that holds the largest (smallest) of column j: the
   * first one, or the |last| one, of equals; NaN beats all */
  void (*arg_column)(const float *x, size_t n, size_t rows, size_t pitch, int smallest, int last, int32_t *where);
  /* which of n > 0 elements it is in a row */
  size_t (*arg_row)(const float *x, size_t n, int smallest, int last);
  /* the same of |rows| rows of n elements, |arg_rows_most| at most, one behind the other */
  void (*arg_rows)(const float *x, size_t rows, size_t n, int smallest, int last, int32_t *where);
  size_t arg_rows_most;
  /* folds of doubles, */
  double (*row_f64[OX_FOLD_COUNT])(const double *x, size_t n, double shift);
  void (*column_f64[OX_FOLD_COUNT])(double *acc, const double *x, size_t n, const double *shift);
  /* and of int64 onto acc, wrapping; |is_unsigned|: MAX and MIN compare as uint64. No EXP */
  int64_t (*row_i64[OX_FOLD_COUNT])(int64_t acc, const int64_t *x, size_t n, int is_unsigned);
  void (*column_i64[OX_FOLD_COUNT])(int64_t *acc, const int64_t *x, size_t n, int is_unsigned);
  /* y[r]: the fold of the n elements from x[r * pitch] on: many short rows. EXP reads a shift per row */
  void (*rows_f64[OX_FOLD_COUNT])(const double *x, size_t rows, size_t n, size_t pitch, const double *shift, double *y);
  void (*rows_i64[OX_FOLD_COUNT])(const int64_t *x, size_t rows, size_t n, size_t pitch, int is_unsigned, int64_t *y);
  /* the largest and the smallest of n > 0 integers of a type, a uint64 as its bits */
  int64_t (*most[OX_DTYPE_COUNT])(const void *x, size_t n);
  int64_t (*least[OX_DTYPE_COUNT])(const void *x, size_t n);
  /* best[j] = the better of best[j] and x[r * pitch + j] for |rows| rows r, of doubles and integers; NaN passes */
  void (*column_max[OX_DTYPE_COUNT])(void *best, const void *x, size_t n, size_t rows, size_t pitch);
  void (*column_min[OX_DTYPE_COUNT])(void *best, const void *x, size_t n, size_t rows, size_t pitch);
} ox_reduce_table;

const ox_reduce_table *ox_reduce_select(ox_isa have);

#endif

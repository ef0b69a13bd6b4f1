/* SPDX-License-Identifier: Apache-2.0
 * kern/reduce/fold_flat.c - rows one behind the other: of floats and doubles, short ones of other types, and those of
 * integers whose extremes are wanted. */
#include <math.h>

#include "kern/reduce/fold_small.h"
#include "kern/reduce/fold_walk.h"

static bool folds_integers(const ox_fold_job *j, ox_fold f) {
  return !is_float(j->dtype) && (f == OX_FOLD_MAX || f == OX_FOLD_MIN);
}

static void fold_integers(const ox_fold_job *j, ox_fold f, int64_t out, int64_t n, int64_t begin, int64_t end,
                          ox_fold_acc *acc) {
  const ox_reduce_table *t = ox_reduce_select(j->isa);
  size_t size = size_of(j->dtype), row = (size_t)j->plan->folded[0] * size;
  const char *x = (const char *)j->data + (size_t)out * row + (size_t)begin * size;
  for (int64_t k = 0; k < n; k++, x += row)
    acc[k].i = (f == OX_FOLD_MAX ? t->most : t->least)[j->dtype](x, (size_t)(end - begin));
}

static void fold_flat(const ox_fold_job *j, ox_fold f, int64_t out, int64_t n, int64_t begin, int64_t end,
                      const double *shift, ox_fold_acc *acc) {
  const ox_reduce_table *t = ox_reduce_select(j->isa);
  int64_t row = j->plan->folded[0];
  const float *x = (const float *)j->data + out * row + begin;
  for (int64_t k = 0; k < n; k++, x += row) acc[k].f = t->row[f](x, (size_t)(end - begin), shift ? (float)shift[k] : 0);
}

static void fold_flat_f64(const ox_fold_job *j, ox_fold f, int64_t out, int64_t n, int64_t begin, int64_t end,
                          const double *shift, ox_fold_acc *acc) {
  const ox_reduce_table *t = ox_reduce_select(j->isa);
  int64_t row = j->plan->folded[0];
  const double *x = (const double *)j->data + out * row + begin;
  for (int64_t k = 0; k < n; k++, x += row) acc[k].f = t->row_f64[f](x, (size_t)(end - begin), shift ? shift[k] : 0);
}

/* Very short rows are folded in double without vectors: products up to SHORT_ROW elements, sums up to TINY_ROW. */
enum { SHORT_ROW = 16, TINY_ROW = 4 };

static bool folds_tiny(const ox_fold_job *j, ox_fold f) {
  if (j->dtype != OX_F32 || !lies_flat(j->plan)) return false;
  if (f == OX_FOLD_PROD) return j->plan->folded[0] <= SHORT_ROW;
  return (f == OX_FOLD_SUM || f == OX_FOLD_ABS || f == OX_FOLD_SQUARE) && j->plan->folded[0] <= TINY_ROW;
}

bool ox_fold_tiny(const ox_fold_job *j, ox_fold f, int64_t out, int64_t n, int64_t begin, int64_t end,
                  ox_fold_acc *acc) {
  if (!folds_tiny(j, f)) return false;
  int64_t row = j->plan->folded[0];
  const float *x = (const float *)j->data + out * row;
#define TINY(fold, none, next)                  \
  case fold:                                    \
    for (int64_t k = 0; k < n; k++, x += row) { \
      double a = none;                          \
      for (int64_t i = begin; i < end; i++) {   \
        double v = (double)x[i];                \
        a = (next);                             \
      }                                         \
      acc[k].f = a;                             \
    }                                           \
    break; /* a loop for each */
  switch (f) {
    TINY(OX_FOLD_SUM, 0, a + v)
    TINY(OX_FOLD_ABS, 0, a + fabs(v))
    TINY(OX_FOLD_SQUARE, 0, a + v * v)
    TINY(OX_FOLD_PROD, 1, a * v)
    default:
      break;
  }
#undef TINY
  return true;
}

bool ox_fold_flat(const ox_fold_job *j, ox_fold f, int64_t out, int64_t n, int64_t begin, int64_t end,
                  const double *shift, ox_fold_acc *acc) {
  if (!lies_flat(j->plan)) return false;
  if (j->dtype == OX_F32)
    fold_flat(j, f, out, n, begin, end, shift, acc);
  else if (ox_fold_is_small(j))
    ox_fold_small(j, f, out, n, begin, end, shift, acc);
  else if (folds_integers(j, f))
    fold_integers(j, f, out, n, begin, end, acc);
  else if (j->dtype == OX_F64)
    fold_flat_f64(j, f, out, n, begin, end, shift, acc);
  else
    return false;
  return true;
}

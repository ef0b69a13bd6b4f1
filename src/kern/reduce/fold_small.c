/* SPDX-License-Identifier: Apache-2.0
 * kern/reduce/fold_small.c - some rows at a time, as doubles or int64, which is less work than the walk to each. */
#include "kern/reduce/fold_small.h"

#include "kern/quant/convert.h"
#include "kern/reduce/fold_walk.h"

enum { LONGEST = 32, BLOCK = OX_CONVERT_BLOCK };

bool ox_fold_is_small(const ox_fold_job *j) {
  return j->dtype != OX_F32 && lies_flat(j->plan) && j->plan->folded[0] <= LONGEST;
}

static void fold_f64(const ox_fold_job *j, ox_fold f, int64_t out, int64_t n, int64_t begin, int64_t end,
                     const double *shift, ox_fold_acc *acc) {
  const ox_reduce_table *t = ox_reduce_select(j->isa);
  size_t row = (size_t)j->plan->folded[0], length = (size_t)(end - begin);
  double block[BLOCK];
  if (j->dtype == OX_F64) {
    const double *x = (const double *)j->data + (size_t)out * row;
    t->rows_f64[f](x + begin, (size_t)n, length, row, shift, &acc->f);
    return;
  }
  for (int64_t some = BLOCK / (int64_t)row; n > 0; n -= some, out += some, acc += some) {
    size_t rows = (size_t)OX_MIN(n, some);
    ox_convert_select(j->isa)->load_f64[j->dtype](j->data, (size_t)out * row, rows * row, block);
    t->rows_f64[f](block + begin, rows, length, row, shift, &acc->f);
    if (shift) shift += some;
  }
}

static void fold_i64(const ox_fold_job *j, ox_fold f, int64_t out, int64_t n, int64_t begin, int64_t end,
                     ox_fold_acc *acc) {
  const ox_reduce_table *t = ox_reduce_select(j->isa);
  size_t row = (size_t)j->plan->folded[0], length = (size_t)(end - begin);
  int64_t block[BLOCK];
  if (j->dtype == OX_I64 || j->dtype == OX_U64) {
    const int64_t *x = (const int64_t *)j->data + (size_t)out * row;
    t->rows_i64[f](x + begin, (size_t)n, length, row, j->dtype == OX_U64, &acc->i);
    return;
  }
  for (int64_t some = BLOCK / (int64_t)row; n > 0; n -= some, out += some, acc += some) {
    size_t rows = (size_t)OX_MIN(n, some);
    ox_convert_select(j->isa)->load_i64[j->dtype](j->data, (size_t)out * row, rows * row, block);
    t->rows_i64[f](block + begin, rows, length, row, 0, &acc->i);
  }
}

void ox_fold_small(const ox_fold_job *j, ox_fold f, int64_t out, int64_t n, int64_t begin, int64_t end,
                   const double *shift, ox_fold_acc *acc) {
  if (is_float(j->dtype))
    fold_f64(j, f, out, n, begin, end, shift, acc);
  else
    fold_i64(j, f, out, n, begin, end, acc);
}

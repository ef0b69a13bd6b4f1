/* SPDX-License-Identifier: Apache-2.0
 * kern/reduce/fold_acc.c - accumulators: where they begin, and how those of two parts become one. */
#include <math.h>

#include "kern/reduce/fold_walk.h"

ox_fold_acc ox_fold_identity(ox_fold f, uint32_t dtype) {
  static const int64_t least[OX_DTYPE_COUNT] = {
      [OX_I8] = INT8_MIN, [OX_I16] = INT16_MIN, [OX_I32] = INT32_MIN, [OX_I64] = INT64_MIN};
  static const int64_t most[OX_DTYPE_COUNT] = {
      [OX_I8] = INT8_MAX,    [OX_I16] = INT16_MAX,  [OX_I32] = INT32_MAX, [OX_I64] = INT64_MAX, [OX_U8] = UINT8_MAX,
      [OX_U16] = UINT16_MAX, [OX_U32] = UINT32_MAX, [OX_U64] = -1,        [OX_BOOL] = 1};
  bool fl = is_float(dtype);
  switch (f) {
    case OX_FOLD_PROD:
      return fl ? (ox_fold_acc){.f = 1} : (ox_fold_acc){.i = 1};
    case OX_FOLD_MAX:
      return fl ? (ox_fold_acc){.f = -INFINITY} : (ox_fold_acc){.i = least[dtype]};
    case OX_FOLD_MIN:
      return fl ? (ox_fold_acc){.f = INFINITY} : (ox_fold_acc){.i = most[dtype]};
    default:
      return fl ? (ox_fold_acc){.f = 0} : (ox_fold_acc){.i = 0};
  }
}

void ox_fold_join_all(ox_isa isa, ox_fold f, uint32_t dtype, ox_fold_acc *acc, const ox_fold_acc *part, int64_t n) {
  const ox_reduce_table *t = ox_reduce_select(isa);
  ox_fold g = adds_up(f) ? OX_FOLD_SUM : f; /* the parts are mapped already */
  if (is_float(dtype))
    t->column_f64[g](&acc->f, &part->f, (size_t)n, NULL);
  else
    t->column_i64[g](&acc->i, &part->i, (size_t)n, dtype == OX_U64);
}

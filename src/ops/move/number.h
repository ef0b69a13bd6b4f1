/* SPDX-License-Identifier: Apache-2.0
 * ops/move/number.h - one element of a tensor as a number, whatever its type. */
#ifndef OX_OPS_MOVE_NUMBER_H
#define OX_OPS_MOVE_NUMBER_H

#include "base/macros.h"
#include "graph/op_def.h"

/* Element |i| as a double; integers beyond 2^53 are rounded. 0 if the elements are not numbers. */
double ox_number_at(const ox_tensor *t, int64_t i);
/* Element |i| as an integer: floats are truncated and saturate, NaN is 0; uint64 wraps. */
int64_t ox_integer_at(const ox_tensor *t, int64_t i);
/* Stores |v| as element |i|: floats are rounded, integers truncated. */
void ox_number_put(uint32_t dtype, void *data, int64_t i, double v);

#endif

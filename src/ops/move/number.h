/* SPDX-License-Identifier: Apache-2.0
 * ops/move/number.h - one number of any element type. */
#ifndef OX_OPS_MOVE_NUMBER_H
#define OX_OPS_MOVE_NUMBER_H

#include "base/macros.h"
#include "graph/op_def.h"

/* Element |i| as a double; exact but for integers beyond 2^53. 0 for types that are no numbers. */
double ox_number_at(const ox_tensor *t, int64_t i);
/* Element |i| as an integer: floats are truncated and saturate, NaN is 0; uint64 wraps. */
int64_t ox_integer_at(const ox_tensor *t, int64_t i);
/* Writes |v| to element |i|, rounded once to the type. */
void ox_number_put(uint32_t dtype, void *data, int64_t i, double v);

#endif

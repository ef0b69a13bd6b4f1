/* SPDX-License-Identifier: Apache-2.0
 * kern/attention/rotary.h - rotary position embedding of one row. */
#ifndef OX_KERN_ATTENTION_ROTARY_H
#define OX_KERN_ATTENTION_ROTARY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cpu.h"

/* Rotates the first 2 * |half| of |d| elements by the angles whose cosines and sines are given (|half| each), and
 * copies the rest: pairs (i, i + half), or (2i, 2i + 1) if |interleaved|. All of |dtype|: F32, F16, BF16. |y| may be
 * |x|. The same bits on every instruction set. */
typedef void ox_rotary_row_fn(uint32_t dtype, const void *x, const void *cos, const void *sin, int64_t half, int64_t d,
                              bool interleaved, void *y);
typedef struct ox_rotary {
  ox_isa needs;
  const char *name;
  ox_rotary_row_fn *row;
} ox_rotary;

const ox_rotary *ox_rotary_select(ox_isa have);
/* All of this build, for tests. */
const ox_rotary *const *ox_rotary_list(size_t *out_n);

#endif

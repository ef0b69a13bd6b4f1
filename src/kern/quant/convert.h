/* SPDX-License-Identifier: Apache-2.0
 * kern/quant/convert.h - conversion of runs of elements between any numeric type and the three working types float,
 * double and int64. Kernels without a path of their own for a type use these, a block at a time. */
#ifndef OX_KERN_QUANT_CONVERT_H
#define OX_KERN_QUANT_CONVERT_H

#include <stddef.h>

#include "base/cpu.h"
#include "kern/quant/narrow.h"
#include "onyx/ep.h"

/* Elements that callers convert at a time, so that their buffers stay in L1. */
enum { OX_CONVERT_BLOCK = 512 };

/* How out-of-range values are converted to 8-bit floats. NULL: they saturate, and E8M0 rounds up. */
typedef struct ox_narrow_how {
  bool saturate;
  ox_e8m0_round round;
} ox_narrow_how;

/* Elements [at, at + n) of |src|; |at| counts elements, also of packed types. */
typedef void ox_load_f32_fn(const void *src, size_t at, size_t n, float *dst);
typedef void ox_load_f64_fn(const void *src, size_t at, size_t n, double *dst);
typedef void ox_load_i64_fn(const void *src, size_t at, size_t n, int64_t *dst);
/* Into elements [at, at + n) of |dst|; for packed types |at| starts a byte, and a last partial byte is zero-filled.
 * Integers wrap; floats that an integer cannot hold become its most negative value or that value's low bits. */
typedef void ox_store_f32_fn(const float *src, void *dst, size_t at, size_t n, const ox_narrow_how *how);
typedef void ox_store_f64_fn(const double *src, void *dst, size_t at, size_t n, const ox_narrow_how *how);
typedef void ox_store_i64_fn(const int64_t *src, void *dst, size_t at, size_t n, const ox_narrow_how *how);

/* Converts n integers to integers of another width: sign- or zero-extended by the source's type, or truncated. */
typedef void ox_resize_int_fn(const void *src, void *dst, size_t at, size_t n);

/* By ox_dtype; NULL where there is no such conversion (strings, complex; load_i64 of floats). uint64 loads into int64
 * as its bits. */
typedef struct ox_convert {
  ox_isa needs;
  ox_load_f32_fn *load_f32[OX_DTYPE_COUNT];
  ox_load_f64_fn *load_f64[OX_DTYPE_COUNT];
  ox_load_i64_fn *load_i64[OX_DTYPE_COUNT];
  /* 32-bit integers, rounded to odd where 24 bits do not hold them: rounding once more to a type of 16 bits or fewer is
   * then as rounding once */
  ox_load_f32_fn *load_odd[OX_DTYPE_COUNT];
  ox_store_f32_fn *store_f32[OX_DTYPE_COUNT];
  ox_store_f64_fn *store_f64[OX_DTYPE_COUNT];
  ox_store_i64_fn *store_i64[OX_DTYPE_COUNT];
  ox_resize_int_fn *resize_int[OX_DTYPE_COUNT][4]; /* to 1, 2, 4, 8 bytes; NULL where the width stays */
  ox_resize_int_fn *truth[4];                      /* from 1, 2, 4, 8 bytes: 1 where the element is not 0 */
} ox_convert;

const ox_convert *ox_convert_select(ox_isa have);

#endif

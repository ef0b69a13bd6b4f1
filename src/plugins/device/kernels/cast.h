/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/cast.h - conversion between types, given as values of ox_dtype. As on the CPU, floats out of range
 * become the least integer (of 32 bits for types of up to 32 bits, else of 64), which then wraps. */
#include "plugins/device/kernels/dialect.h"
#include "plugins/device/kernels/move_params.h"

FUNCTION dev_long cast_to_long(float f, int to) {
  int wide = to == CAST_I64 || to == CAST_U32 || to == CAST_U64;
  if (!wide) return f >= -2147483648.0f && f < 2147483648.0f ? (int)f : -2147483647 - 1;
  if (to == CAST_U64 && f >= 9223372036854775808.0f && f < 18446744073709551616.0f) return (dev_long)(dev_ulong)f;
  return f >= -9223372036854775808.0f && f < 9223372036854775808.0f ? (dev_long)f : -(dev_long)0x7fffffffffffffff - 1;
}

FUNCTION dev_long cast_load(const GLOBAL char *x, int from, int i) {
  switch (from) {
    case CAST_U8:
    case CAST_BOOL:
      return ((const GLOBAL unsigned char *)x)[i];
    case CAST_I8:
      return ((const GLOBAL signed char *)x)[i];
    case CAST_U16:
      return ((const GLOBAL unsigned short *)x)[i];
    case CAST_I16:
      return ((const GLOBAL short *)x)[i];
    case CAST_U32:
      return ((const GLOBAL unsigned *)x)[i];
    case CAST_I32:
      return ((const GLOBAL int *)x)[i];
  }
  return ((const GLOBAL dev_long *)x)[i];
}

FUNCTION void cast_store(GLOBAL char *y, int to, int i, dev_long n) {
  switch (to) {
    case CAST_U8:
    case CAST_I8:
      ((GLOBAL unsigned char *)y)[i] = (unsigned char)n;
      break;
    case CAST_BOOL:
      ((GLOBAL unsigned char *)y)[i] = n != 0;
      break;
    case CAST_U16:
    case CAST_I16:
      ((GLOBAL unsigned short *)y)[i] = (unsigned short)n;
      break;
    case CAST_U32:
    case CAST_I32:
      ((GLOBAL unsigned *)y)[i] = (unsigned)n;
      break;
    default:
      ((GLOBAL dev_long *)y)[i] = n;
  }
}

KERNEL(cast, cast_params) {
  BUFFER(const char, x, 0);
  BUFFER(char, y, 1);
  PARAMS(cast_params, p);
  FOR_ITEMS(t, 256) {
    int i = GROUP(0) * 256 + t;
    if (i < p.n) {
      float f = 0.0f;
      dev_long n = 0;
      if (p.from == CAST_F32) {
        f = ((const GLOBAL float *)x)[i];
      } else if (p.from == CAST_F16) {
        f = HALF_TO_FLOAT((const GLOBAL unsigned short *)x, i);
      } else {
        n = cast_load(x, p.from, i), f = p.from == CAST_U64 ? (float)(dev_ulong)n : (float)n;
      }
      if (p.from == CAST_F32 || p.from == CAST_F16) n = p.to == CAST_BOOL ? f != 0.0f : cast_to_long(f, p.to);
      if (p.to == CAST_F32) {
        ((GLOBAL float *)y)[i] = f;
      } else if (p.to == CAST_F16) {
        FLOAT_TO_HALF((GLOBAL unsigned short *)y, i, f);
      } else {
        cast_store(y, p.to, i, n);
      }
    }
  }
}

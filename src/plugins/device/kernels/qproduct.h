/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/qproduct.h - what products of 8-bit integers share. All bytes are made signed: 128 is subtracted from
 * unsigned ones and their zero points. Then, over k,
 *   sum((x' - zx) (w' - zw)) = sum(x' w') - zw sum(x') - zx (sum(w') - k zw),
 * where the last factor is computed once. Padding (outside of an image, or of k) is zx in x' and 0 in w'; as it takes
 * part in these sums, k is rounded up to whole steps of a tile. */
#include "plugins/device/kernels/qproduct_params.h"

FUNCTION int q_byte(const GLOBAL char *p, int kind, int i) {
  return kind == QUANT_U8 ? ((const GLOBAL unsigned char *)p)[i] - 128 : ((const GLOBAL signed char *)p)[i];
}

/* An absent zero point is 0 in its own type. */
FUNCTION int q_zero(const GLOBAL char *p, int kind, int step, int i) {
  return step >= 0 ? q_byte(p, kind, i * step) : kind == QUANT_U8 ? -128 : 0;
}

FUNCTION int q_pack(int a, int b, int c, int d) {
  return (int)((unsigned)(a & 255) | (unsigned)(b & 255) << 8 | (unsigned)(c & 255) << 16 | (unsigned)(d & 255) << 24);
}

/* The complete sum. |head| of the weights' row: bias, sum(w') - k zw, zw, the bits of the scale. */
FUNCTION int q_sum(int sum, int4 head, int zx, int sum_x) {
  return (int)((unsigned)sum + (unsigned)head.x - (unsigned)zx * (unsigned)head.y - (unsigned)head.z * (unsigned)sum_x);
}

/* A partial sum, for split k, with the term of its part of x. */
FUNCTION int q_part(int sum, int4 head, int sum_x) {
  return (int)((unsigned)sum - (unsigned)head.z * (unsigned)sum_x);
}

/* The result as the bits of its type; bytes are clamped to [low, high]. */
FUNCTION int q_result(int sum, float scale, int kind, int zero, int low, int high, float bias) {
  int result = sum;
  if (kind != QUANT_I32) {
    float f = MULF((float)sum, scale);
    if (kind == QUANT_F32) {
      result = BITS_OF(f + bias);
    } else {
      f = f > -16777216.0f ? f < 16777216.0f ? f : 16777216.0f : -16777216.0f;
      result = (int)RINTF(f) + zero;
      result = MIN_OF(MAX_OF(result, low), high);
    }
  }
  return result;
}

FUNCTION void q_store(GLOBAL char *y, int kind, int at, int result) {
  if (kind == QUANT_I32 || kind == QUANT_F32) {
    ((GLOBAL int *)y)[at] = result;
  } else {
    y[at] = (char)result;
  }
}

/* The zero point of the output, not shifted by 128. */
FUNCTION int q_y_zero(const GLOBAL char *zero, int kind, int has) {
  return has ? kind == QUANT_U8 ? ((const GLOBAL unsigned char *)zero)[0] : ((const GLOBAL signed char *)zero)[0] : 0;
}

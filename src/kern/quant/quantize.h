/* SPDX-License-Identifier: Apache-2.0
 * kern/quant/quantize.h - float to and from 8-bit and 16-bit integers with one scale, and the range of floats. */
#ifndef OX_KERN_QUANT_QUANTIZE_H
#define OX_KERN_QUANT_QUANTIZE_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cpu.h"

/* QLinearAdd of two bytes x and y (byte_sum.h). */
typedef struct ox_byte_sum {
  float a, b, rest;
} ox_byte_sum;

static inline ox_byte_sum ox_byte_sum_of(float a_scale, int a_zero, float b_scale, int b_zero, float scale, int zero) {
  float a = a_scale / scale, b = b_scale / scale, less = b * (float)b_zero;
  return (ox_byte_sum){a, b, (float)zero - fmaf(a, (float)a_zero, less)};
}

/* QLinearMul of two bytes x and y: rint((x - a_zero) (y - b_zero) ratio + zero). */
typedef struct ox_byte_product {
  float ratio, zero;
  int a_zero, b_zero;
} ox_byte_product;

static inline ox_byte_product ox_byte_product_of(float a_scale, int a_zero, float b_scale, int b_zero, float scale,
                                                 int zero) {
  return (ox_byte_product){a_scale * b_scale / scale, (float)zero, a_zero, b_zero};
}

typedef struct ox_quantize_table {
  ox_isa needs;
  const char *name;
  /* y = saturate(rint(x / scale) + zero): the same bits on every instruction set. NaN becomes the low end. */
  void (*f32_u8)(const float *x, uint8_t *y, size_t n, float scale, int zero);
  void (*f32_i8)(const float *x, int8_t *y, size_t n, float scale, int zero);
  void (*f32_u16)(const float *x, uint16_t *y, size_t n, float scale, int zero);
  void (*f32_i16)(const float *x, int16_t *y, size_t n, float scale, int zero);
  /* y = (x - zero) * scale */
  void (*u8_f32)(const uint8_t *x, float *y, size_t n, float scale, int zero);
  void (*i8_f32)(const int8_t *x, float *y, size_t n, float scale, int zero);
  void (*u16_f32)(const uint16_t *x, float *y, size_t n, float scale, int zero);
  void (*i16_f32)(const int16_t *x, float *y, size_t n, float scale, int zero);
  void (*i32_f32)(const int32_t *x, float *y, size_t n, float scale); /* of a zero point 0 */
  /* y = saturate(rint(the sum of a and b)); NaN becomes the low end */
  void (*add_u8)(const uint8_t *a, const uint8_t *b, uint8_t *y, size_t n, const ox_byte_sum *sum);
  void (*add_i8)(const int8_t *a, const int8_t *b, int8_t *y, size_t n, const ox_byte_sum *sum);
  /* y = saturate(rint(the product of a and b)); NaN becomes the low end */
  void (*mul_u8)(const uint8_t *a, const uint8_t *b, uint8_t *y, size_t n, const ox_byte_product *product);
  void (*mul_i8)(const int8_t *a, const int8_t *b, int8_t *y, size_t n, const ox_byte_product *product);
  /* lowers *low and raises *high to cover x; NaN is passed over */
  void (*range)(const float *x, size_t n, float *low, float *high);
  /* y[i] = table[x[i]] of 256; y may be x */
  void (*map)(const uint8_t *table, const uint8_t *x, uint8_t *y, size_t n);
} ox_quantize_table;

/* DynamicQuantizeLinear's scale and zero point for values from |low| to |high|, of which one may be 0. */
static inline float ox_dynamic_scale(float low, float high, uint8_t *out_zero) {
  float scale = low == high ? 1.0f : (high - low) / 255.0f, zero = -low / scale;
  *out_zero = (uint8_t)(zero > 0 ? zero < 255 ? (int)rintf(zero) : 255 : 0);
  return scale;
}

const ox_quantize_table *ox_quantize_select(ox_isa have);

#endif

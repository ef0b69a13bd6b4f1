/* SPDX-License-Identifier: Apache-2.0
 * graph/element.c - any element type as a double: for looking at values, not for computing. */
#include <math.h>
#include <string.h>

#include "base/macros.h"
#include "graph/dtype.h"
#include "graph/shape.h"
#include "onyx/onyx.h"

/* The small floats (ONNX, "Float stored in 8 bits"; OCP MX): sign, |e| exponent bits, |m| mantissa bits. */
static const struct small_float {
  uint32_t dtype;
  int e, m, bias;
  bool has_inf;     /* all exponent bits set: inf (mantissa 0) or NaN */
  bool zero_is_nan; /* the FNUZ kinds: -0 is the only NaN */
  bool top_is_nan;  /* E4M3FN: all bits set is NaN */
} small_floats[] = {
    {OX_F8E4M3FN, 4, 3, 7, false, false, true}, {OX_F8E4M3FNUZ, 4, 3, 8, false, true, false},
    {OX_F8E5M2, 5, 2, 15, true, false, false},  {OX_F8E5M2FNUZ, 5, 2, 16, false, true, false},
    {OX_F4E2M1, 2, 1, 1, false, false, false},  {OX_F6E2M3, 2, 3, 1, false, false, false},
    {OX_F6E3M2, 3, 2, 3, false, false, false},
};

static double decode_small(const struct small_float *f, unsigned bits) {
  unsigned man = bits & ((1u << f->m) - 1), exp = bits >> f->m & ((1u << f->e) - 1), sign = bits >> (f->e + f->m) & 1;
  unsigned top = (1u << f->e) - 1;
  if (f->zero_is_nan && sign && !exp && !man) return NAN;
  if (f->has_inf && exp == top) return man ? NAN : sign ? -INFINITY : INFINITY;
  if (f->top_is_nan && exp == top && man == (1u << f->m) - 1) return NAN;
  double v = exp ? ldexp(1.0 + ldexp((double)man, -f->m), (int)exp - f->bias) : ldexp((double)man, 1 - f->bias - f->m);
  return sign ? -v : v;
}

/* Element |i| of a type of |bits| < 8 bits. */
static unsigned packed(const void *data, int64_t i, unsigned bits) {
  const uint8_t *p = (const uint8_t *)data + (uint64_t)i * bits / 8;
  unsigned at = (unsigned)((uint64_t)i * bits % 8), v = p[0] >> at;
  if (at + bits > 8) v |= (unsigned)p[1] << (8 - at); /* 6-bit elements straddle bytes */
  return v & ((1u << bits) - 1);
}

static double sign_extend(unsigned v, unsigned bits) { return v >> (bits - 1) ? (double)v - (double)(1u << bits) : (double)v; }

double ox_tensor_element(const ox_tensor *t, int64_t i) {
  const void *d = t->data;
  for (size_t k = 0; k < OX_COUNT(small_floats); k++)
    if (small_floats[k].dtype == t->dtype)
      return decode_small(&small_floats[k], ox_dtype_bits(t->dtype) < 8 ? packed(d, i, ox_dtype_bits(t->dtype)) : ((const uint8_t *)d)[i]);
  switch (t->dtype) {
    case OX_F32: return (double)((const ox_f32u *)d)[i];
    case OX_F64: return ((const ox_f64u *)d)[i];
    case OX_C64: return (double)((const ox_f32u *)d)[2 * i];
    case OX_C128: return ((const ox_f64u *)d)[2 * i];
    case OX_F16: return (double)ox_f16_to_f32(((const ox_u16u *)d)[i]);
    case OX_BF16: return (double)ox_bf16_to_f32(((const ox_u16u *)d)[i]);
    case OX_U8: case OX_BOOL: return ((const uint8_t *)d)[i];
    case OX_I8: return ((const int8_t *)d)[i];
    case OX_U16: return ((const ox_u16u *)d)[i];
    case OX_I16: return (int16_t)((const ox_u16u *)d)[i];
    case OX_U32: return ((const ox_u32u *)d)[i];
    case OX_I32: return ((const ox_i32u *)d)[i];
    case OX_U64: return (double)(uint64_t)((const ox_i64u *)d)[i];
    case OX_I64: return (double)((const ox_i64u *)d)[i];
    case OX_U4: return packed(d, i, 4);
    case OX_I4: return sign_extend(packed(d, i, 4), 4);
    case OX_U2: return packed(d, i, 2);
    case OX_I2: return sign_extend(packed(d, i, 2), 2);
    case OX_F8E8M0: return ((const uint8_t *)d)[i] == 255 ? NAN : ldexp(1.0, ((const uint8_t *)d)[i] - 127);
    default: return NAN;
  }
}

int64_t ox_tensor_count(const ox_tensor *t) { return ox_shape_count(&t->shape); }

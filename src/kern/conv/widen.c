/* SPDX-License-Identifier: Apache-2.0
 * kern/conv/widen.c - float16, bfloat16 and double to float32 and back. */
#include "kern/conv/widen.h"

#include "kern/simd/f32_scalar.h"
#include "onyx/ep.h"

void ox_widen_f32(uint32_t dtype, const void *src, float *dst, size_t n) {
  switch (dtype) {
    case OX_F16:
      for (size_t i = 0; i < n; i++) dst[i] = vf32_load_f16((const uint16_t *)src + i);
      break;
    case OX_BF16:
      for (size_t i = 0; i < n; i++) dst[i] = vf32_load_bf16((const uint16_t *)src + i);
      break;
    case OX_F64:
      for (size_t i = 0; i < n; i++) dst[i] = (float)((const ox_f64u *)src)[i];
      break;
    default:
      if (n) memcpy(dst, src, n * sizeof(float));
  }
}

void ox_narrow_f32(uint32_t dtype, const float *src, void *dst, size_t n) {
  switch (dtype) {
    case OX_F16:
      for (size_t i = 0; i < n; i++) vf32_store_f16((uint16_t *)dst + i, src[i]);
      break;
    case OX_BF16:
      for (size_t i = 0; i < n; i++) vf32_store_bf16((uint16_t *)dst + i, src[i]);
      break;
    case OX_F64:
      for (size_t i = 0; i < n; i++) ((ox_f64u *)dst)[i] = src[i];
      break;
    default:
      if (n) memcpy(dst, src, n * sizeof(float));
  }
}

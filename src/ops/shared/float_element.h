/* SPDX-License-Identifier: Apache-2.0
 * ops/shared/float_element.h - single elements of float32, float16 and bfloat16 as floats, for operators that read or
 * write a few at a time; kern/quant/convert.h converts blocks. */
#ifndef OX_OPS_SHARED_FLOAT_ELEMENT_H
#define OX_OPS_SHARED_FLOAT_ELEMENT_H

#include "graph/op_def.h"

static inline float ox_float_load(uint32_t dtype, const void *data, int64_t i) {
  if (dtype == OX_F32) return ((const float *)data)[i];
  uint16_t h = ((const uint16_t *)data)[i];
  return dtype == OX_F16 ? ox_f16_to_f32(h) : ox_bf16_to_f32(h);
}

static inline void ox_float_store(uint32_t dtype, void *data, int64_t i, float v) {
  if (dtype == OX_F32)
    ((float *)data)[i] = v;
  else
    ((uint16_t *)data)[i] = dtype == OX_F16 ? ox_f16_from_f32(v) : ox_bf16_from_f32(v);
}

/* Element |i| of a tensor. */
static inline float ox_float_at(const ox_tensor *t, int64_t i) { return ox_float_load(t->dtype, t->data, i); }
static inline void ox_float_put(const ox_tensor *t, int64_t i, float v) { ox_float_store(t->dtype, t->data, i, v); }

#endif

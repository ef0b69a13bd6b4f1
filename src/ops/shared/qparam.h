/* SPDX-License-Identifier: Apache-2.0
 * ops/shared/qparam.h - scale and zero point of an 8-bit tensor, read from two scalar inputs. */
#ifndef OX_OPS_SHARED_QPARAM_H
#define OX_OPS_SHARED_QPARAM_H

#include <math.h>

#include "base/macros.h"
#include "graph/op_def.h"

typedef struct ox_qparam {
  float scale;
  int zero;
  bool is_signed;
} ox_qparam;

/* |scale| and |zero| are input indices; a missing zero point is 0. |dtype| is that of the quantized tensor. */
static inline ox_qparam ox_qparam_of(const ox_kernel_ctx *c, uint32_t scale, uint32_t zero, uint32_t dtype) {
  ox_qparam q = {*(const ox_f32u *)c->in[scale]->data, 0, dtype == OX_I8};
  if (ox_ctx_has(c, zero))
    q.zero = q.is_signed ? *(const int8_t *)c->in[zero]->data : *(const uint8_t *)c->in[zero]->data;
  return q;
}

static inline float ox_dequantize_byte(ox_qparam q, uint8_t b) {
  return (float)((q.is_signed ? (int)(int8_t)b : (int)b) - q.zero) * q.scale;
}

static inline uint8_t ox_quantize_byte(ox_qparam q, float v) {
  float low = q.is_signed ? -128.0f : 0.0f, high = low + 255.0f, r = rintf(v / q.scale) + (float)q.zero;
  return (uint8_t)(int)(r > low ? r < high ? r : high : low);
}

/* For infer: checks that the given inputs are present. (An optional zero point may come between required inputs.) */
OX_NODISCARD static inline ox_status *ox_qparam_required(const ox_infer_ctx *c, const uint8_t *inputs, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (!ox_infer_has(c, inputs[i])) return ox_fail(OX_INVALID_MODEL, "input %u is required", inputs[i]);
  return NULL;
}

/* For prepare: checks that the given inputs, if present, are scalars. */
OX_NODISCARD static inline ox_status *ox_qparam_check(const ox_kernel_ctx *c, const uint8_t *inputs, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (ox_ctx_has(c, inputs[i]) && ox_shape_count(&c->in[inputs[i]]->shape) != 1)
      return ox_fail(OX_NOT_IMPLEMENTED, "input %u must be a scalar: only per-tensor quantization is defined",
                     inputs[i]);
  return NULL;
}

#endif

/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_int8.c - what integer convolutions and products have in common. The library computes scale * (x w +
 * bias), with the bias in units of the accumulator; posts then work on the scaled floats. Sums below 2^24 are exact in
 * float32 and are scaled by the same single float as in the CPU provider, so results agree bit by bit. (Larger sums are
 * rounded once more than there; but with any scale above 2^-15 their result saturates.) */
#include <math.h>
#include <string.h>

#include "od_int8.h"

/* ---- what fits ---- */

static bool zeros_are(const od_quant *q, int32_t want) {
  int64_t n = q->zero ? od_count(&q->zero->shape) : 0;
  for (int64_t i = 0; i < n; i++)
    if (od_zero_at(q, i) != want) return false;
  return q->zero || want == 0;
}

bool od_int8_weights_fit(const ox_tensor *w, const od_quant *q, int axis, int64_t channels) {
  if (!w || (w->dtype != OX_I8 && w->dtype != OX_U8)) return false;
  if (!od_quant_is_one(q) && (q->axis != axis || od_count(&q->scale->shape) != channels)) return false;
  return zeros_are(q, w->dtype == OX_U8 ? 128 : 0);
}

static bool bias_fits(const od_int8 *q) {
  if (od_count(&q->bias->shape) != q->channels) return false;
  if (q->bias_quant.from == OD_NO_VALUE) return q->bias->dtype == OX_F32;
  return od_quant_is_one(&q->bias_quant) || od_count(&q->bias_quant.scale->shape) == q->channels;
}

bool od_int8_read(od_builder *b, const od_node *n, int w_axis, int64_t channels, od_int8 *out) {
  const od_value *x = od_val(b, od_in(n, 0)), *w = od_val(b, od_in(n, 1));
  *out = (od_int8){.x = x->quant, .w = w->quant, .channels = channels};
  if (x->quant.from == OD_NO_VALUE || w->quant.from == OD_NO_VALUE || !od_quant_is_one(&x->quant)) return false;
  if (od_val(b, x->quant.from)->dtype == OX_I32) return false;
  if (!od_int8_weights_fit(od_val(b, w->quant.from)->constant, &w->quant, w_axis, channels)) return false;
  if (od_in(n, 2) == OD_NO_VALUE) return true;
  const od_value *bias = od_val(b, od_in(n, 2));
  out->has_bias = true, out->bias_quant = bias->quant;
  out->bias = bias->quant.from == OD_NO_VALUE ? bias->constant : od_val(b, bias->quant.from)->constant;
  return out->bias && bias_fits(out);
}

/* ---- attributes ---- */

/* |y|: an output scale to divide by. The order of operations is that of the CPU provider. */
static dnnl_status_t set_scales(od_builder *b, const od_int8 *q, float y, int mask, dnnl_primitive_attr_t attr) {
  int64_t n = od_quant_is_one(&q->w) ? 1 : q->channels;
  float *scales = od_alloc(b->ep, (size_t)n * sizeof *scales);
  if (!scales) return dnnl_out_of_memory;
  for (int64_t i = 0; i < n; i++) scales[i] = od_scale_at(&q->x, 0) * od_scale_at(&q->w, i) / y;
  dnnl_status_t s = dnnl_primitive_attr_set_output_scales(attr, n, n == 1 ? 0 : mask, scales);
  od_free(b->ep, scales);
  return s;
}

dnnl_status_t od_int8_attr(od_builder *b, const od_int8 *q, const od_chain *c, int mask, dnnl_primitive_attr_t attr) {
  int32_t zero = od_zero_at(&q->x, 0);
  dnnl_status_t s = set_scales(b, q, c->quantized && od_chain_only_cuts(c) ? c->q_scale : 1, mask, attr);
  if (s == dnnl_success && zero) s = dnnl_primitive_attr_set_zero_points(attr, DNNL_ARG_SRC, 1, 0, &zero);
  return s == dnnl_success ? od_chain_attr(b, c, attr) : s;
}

/* ---- constants ---- */

ox_status *od_int8_weights(od_builder *b, const od_int8 *q, const dnnl_memory_desc_t *plain,
                           const dnnl_memory_desc_t *to, uint32_t *out_mem) {
  uint32_t value = q->w.from;
  const ox_tensor *w = od_val(b, value)->constant;
  if (w->dtype == OX_I8) return od_weights(b, value, plain, to, out_mem);
  OD_TRY(od_fixed_find(b, value, 128, to, out_mem));
  if (*out_mem != OD_NO_VALUE) return NULL;
  int8_t *shifted = od_alloc(b->ep, w->bytes);
  if (!shifted) return od_no_memory(b->ep);
  for (size_t i = 0; i < w->bytes; i++) shifted[i] = (int8_t)(((const uint8_t *)w->data)[i] - 128);
  ox_status *st = od_fixed_make(b, value, 128, shifted, plain, to, out_mem);
  od_free(b->ep, shifted);
  return st;
}

static double bias_at(const od_int8 *q, int64_t i) {
  int32_t n = 0;
  float x;
  if (q->bias->dtype == OX_I32) memcpy(&n, (const char *)q->bias->data + i * 4, sizeof n);
  if (q->bias_is_exact) return n;
  double scale = (double)od_scale_at(&q->x, 0) * od_scale_at(&q->w, i);
  if (q->bias_quant.from == OD_NO_VALUE) {
    memcpy(&x, (const char *)q->bias->data + i * 4, sizeof x);
    return x / scale;
  }
  if (q->bias->dtype == OX_U8) n = ((const uint8_t *)q->bias->data)[i];
  if (q->bias->dtype == OX_I8) n = ((const int8_t *)q->bias->data)[i];
  double from_zero = (double)n - od_zero_at(&q->bias_quant, i); /* may need 33 bits */
  return from_zero * od_scale_at(&q->bias_quant, i) / scale;
}

ox_status *od_int8_bias(od_builder *b, const od_int8 *q, uint32_t bias_value, bool whole, const dnnl_memory_desc_t *md,
                        uint32_t *out_mem) {
  uint64_t tag = 4 * (b->node + 1) + 2 * whole; /* it depends on the node's scales */
  *out_mem = OD_NO_VALUE;
  if (!q->has_bias) return NULL;
  OD_TRY(od_fixed_find(b, bias_value, tag, md, out_mem));
  if (*out_mem != OD_NO_VALUE) return NULL;
  float *bias = od_alloc(b->ep, (size_t)q->channels * sizeof *bias);
  if (!bias) return od_no_memory(b->ep);
  for (int64_t i = 0; i < q->channels; i++) bias[i] = (float)(whole ? rint(bias_at(q, i)) : bias_at(q, i));
  ox_status *st = od_fixed_make(b, bias_value, tag, bias, md, md, out_mem);
  od_free(b->ep, bias);
  return st;
}

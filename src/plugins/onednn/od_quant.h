/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_quant.h - integers that stand for numbers: QuantizeLinear, DequantizeLinear, and what products and
 * convolutions of integers have in common. */
#ifndef OD_QUANT_H
#define OD_QUANT_H

#include "od_conv.h"
#include "od_matmul.h"

float od_scale_at(const od_quant *q, int64_t i);
int32_t od_zero_at(const od_quant *q, int64_t i);
bool od_quant_is_one(const od_quant *q); /* one scale for all */

/* Of the scale at input |at| of |n| and the zero behind it; why not, or NULL. */
const char *od_quant_read(const od_node *n, size_t at, od_quant *q);
/* |n| is a QuantizeLinear of one scale. */
bool od_quantize_read(const od_node *n, od_quant *out, uint32_t *out_type);
/* Computes the numbers of a value that is integers. */
ox_status *od_dequantize(od_builder *b, uint32_t value);

/* ---- products of integers ---- */

/* x: one scale. w: constant, one scale or one for each channel of the output; its zero is 0, or the middle of uint8.
 * |bias|: what is added for each channel, or NULL: numbers, or integers of x's and w's scales. |y|: NULL: numbers. */
typedef struct od_int8 {
  od_quant x, w;
  bool has_bias;
  const ox_tensor *bias;
  od_quant bias_quant; /* from: OD_NO_VALUE, |bias| is float32; its own value otherwise */
  bool bias_is_exact;  /* |bias| is int32 of the accumulator */
  int64_t channels;
} od_int8;

/* Fills |out| for inputs 0 and 1 of |n|, and 2 as a bias, if they are integers that the library multiplies. */
bool od_int8_read(od_builder *b, const od_node *n, int w_axis, int64_t channels, od_int8 *out);
bool od_int8_weights_fit(const ox_tensor *w, const od_quant *q, int axis, int64_t channels);
/* Scales and zeros of |q| and of what the chain ends with, and its posts; |mask|: the dimension of the channels, as a
 * bit. */
dnnl_status_t od_int8_attr(od_builder *b, const od_int8 *q, const od_chain *c, int mask, dnnl_primitive_attr_t attr);
/* The weights as |plain|, of int8, in the form |to|; and the bias in units of the accumulator, of float32. */
ox_status *od_int8_weights(od_builder *b, const od_int8 *q, const dnnl_memory_desc_t *plain,
                           const dnnl_memory_desc_t *to, uint32_t *out_mem);
ox_status *od_int8_bias(od_builder *b, const od_int8 *q, uint32_t bias_value, const dnnl_memory_desc_t *md,
                        uint32_t *out_mem);

/* ---- operators ---- */

/* A Conv, a product, an Add whose inputs are integers, with what follows; false in |out_done|: the library has no fast
 * code for it, and nothing was built. */
ox_status *od_int8_conv_build(od_builder *b, const od_node *n, const od_conv *c, const od_int8 *q, bool *out_done);
ox_status *od_int8_product_build(od_builder *b, const od_node *n, const od_product *p, const od_int8 *q,
                                 const dnnl_memory_desc_t *a, const dnnl_memory_desc_t *w_plain, bool *out_done);
ox_status *od_int8_add_build(od_builder *b, const od_node *n, bool *out_done);

const char *od_qlinear_conv_refuse(const od_node *n);
ox_status *od_qlinear_conv_build(od_builder *b, const od_node *n);
const char *od_qlinear_matmul_refuse(const od_node *n);
ox_status *od_qlinear_matmul_build(od_builder *b, const od_node *n);

#endif

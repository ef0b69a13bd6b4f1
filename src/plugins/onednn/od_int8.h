/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_int8.h - convolutions, products and sums of quantized tensors, computed in integers. */
#ifndef OD_INT8_H
#define OD_INT8_H

#include "od_convolution.h"
#include "od_product.h"
#include "od_quant.h"

/* ---- the operands ---- */

/* x has one scale. w is constant, with one scale or one for each output channel, and zero point 0 (128 for uint8).
 * |bias|: NULL, or one number per output channel: float32, or integers with |bias_quant|, or the accumulator's int32.
 */
typedef struct od_int8 {
  od_quant x, w;
  bool has_bias;
  const ox_tensor *bias;
  od_quant bias_quant; /* how |bias| is quantized; from = OD_NO_VALUE: it is float32 */
  bool bias_is_exact;  /* |bias| is int32 with the accumulator's scale sx * sw */
  int64_t channels;
} od_int8;

/* Fills |out| from inputs 0 and 1 of |n|, and 2 as a bias; false unless the library can multiply their integers. */
bool od_int8_read(od_builder *b, const od_node *n, int w_axis, int64_t channels, od_int8 *out);
bool od_int8_weights_fit(const ox_tensor *w, const od_quant *q, int axis, int64_t channels);
/* Sets scales and zero points of |q| and of the chain's QuantizeLinear, and the chain's posts. |mask|: the bit of the
 * channel dimension. */
dnnl_status_t od_int8_attr(od_builder *b, const od_int8 *q, const od_chain *c, int mask, dnnl_primitive_attr_t attr);
/* The weights, as int8 described by |plain|, in the layout |to|. */
ox_status *od_int8_weights(od_builder *b, const od_int8 *q, const dnnl_memory_desc_t *plain,
                           const dnnl_memory_desc_t *to, uint32_t *out_mem);
/* The bias as float32 in units of the accumulator. |whole|: rounded to integers, as in the CPU provider's integer
 * operators. */
ox_status *od_int8_bias(od_builder *b, const od_int8 *q, uint32_t bias_value, bool whole, const dnnl_memory_desc_t *md,
                        uint32_t *out_mem);

/* ---- operators ---- */

/* Build a Conv, product or Add of integers with the chain after it. |*out_done| is false if the library has no fast
 * code for it; nothing has been built then. */
/* Why a convolution of integers with weights at input |w_at| cannot be computed; NULL: it can. */
const char *od_int8_conv_refuse(const od_node *n, size_t w_at);
ox_status *od_int8_conv_build(od_builder *b, const od_node *n, const od_conv *c, const od_int8 *q, bool *out_done);
ox_status *od_int8_product_build(od_builder *b, const od_node *n, const od_product *p, const od_int8 *q,
                                 const dnnl_memory_desc_t *a, const dnnl_memory_desc_t *w_plain, bool *out_done);
ox_status *od_int8_add_build(od_builder *b, const od_node *n, bool *out_done);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_int8.h - convolutions, products and sums of integers that stand for numbers. */
#ifndef OD_INT8_H
#define OD_INT8_H

#include "od_convolution.h"
#include "od_product.h"
#include "od_quant.h"

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
/* |whole|: rounded to integers, as the CPU provider has it where it computes with integers, too. */
ox_status *od_int8_bias(od_builder *b, const od_int8 *q, uint32_t bias_value, bool whole, const dnnl_memory_desc_t *md,
                        uint32_t *out_mem);

/* ---- operators ---- */

/* A Conv, a product, an Add whose inputs are integers, with what follows; false in |out_done|: the library has no fast
 * code for it, and nothing was built. */
ox_status *od_int8_conv_build(od_builder *b, const od_node *n, const od_conv *c, const od_int8 *q, bool *out_done);
ox_status *od_int8_product_build(od_builder *b, const od_node *n, const od_product *p, const od_int8 *q,
                                 const dnnl_memory_desc_t *a, const dnnl_memory_desc_t *w_plain, bool *out_done);
ox_status *od_int8_add_build(od_builder *b, const od_node *n, bool *out_done);

#endif

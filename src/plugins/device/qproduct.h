/* SPDX-License-Identifier: Apache-2.0
 * device/qproduct.h - what operators for products and convolutions of 8-bit integers have in common. */
#ifndef OX_DEVICE_QPRODUCT_H
#define OX_DEVICE_QPRODUCT_H

#include "plugins/device/emit.h"
#include "plugins/device/kernels/qproduct_params.h"

/* Positions of a node's inputs; DEV_Q_ABSENT where the operator has none. bias: 32-bit integers; float_bias: added
 * after scaling. */
typedef struct dev_q_inputs {
  const char *name;
  size_t x, w, x_zero, w_zero, x_scale, w_scale, y_scale, y_zero, bias, float_bias;
  bool dynamic; /* x has floats, which are quantized to unsigned bytes first */
  int slot;     /* the first of two slots (dev_emit_made) for what is computed from w */
} dev_q_inputs;
enum { DEV_Q_ABSENT = 99 };

bool dev_q_has(const dev_node *n, size_t i);
/* For takes: NULL if x and w are 8-bit, their zero points of the same types, and scales float32. */
const char *dev_q_takes(const dev_node *n, const dev_q_inputs *in);
/* The input at position |i|, or none. */
dev_ref dev_q_value(dev_plan *p, const dev_node *n, size_t i);
int dev_q_kind(uint32_t dtype); /* QUANT_*; -1: none */
/* May the weights, as signed bytes, have zero points other than 0? */
bool dev_q_has_w_zero(const dev_node *n, const dev_q_inputs *in);
/* The packed weights, and a head for each row (bias, sum, zero point, scale: see kernels/qproduct.h). This function
 * sets the fields of |w| that concern n and the quantization parameters; the caller sets the rest. */
OX_NODISCARD ox_status *dev_q_weights(dev_plan *p, const dev_node *n, const dev_q_inputs *in, int64_t groups, bool pack,
                                      qweights_params w, dev_ref *out_packed, dev_ref *out_head);
/* Over how many groups to split k, and the length of each part in ints of four bytes. */
int dev_q_splits(const dev_plan *p, int64_t groups, int k4, int *out_each);
/* The left operand: bytes, a zero point, a scale. */
typedef struct dev_q_left {
  dev_ref x, zero, scale;
} dev_q_left;
/* The left operand as |n| has it. */
dev_q_left dev_q_left_of(dev_plan *p, const dev_node *n, const dev_q_inputs *in);
/* Buffers of a product whose k is split: the partial sums, the rows' heads, and the result. */
typedef struct dev_q_sums {
  dev_q_left left;
  dev_ref parts, head, out;
} dev_q_sums;
OX_NODISCARD ox_status *dev_q_finish(dev_plan *p, const dev_node *n, const dev_q_inputs *in, const qfinish_params *f,
                                     const dev_q_sums *s);
/* Takes following Max and Min nodes with a constant as bounds of the result's bytes; returns the last one's output. */
uint32_t dev_q_cut(dev_plan *p, const dev_node *n, int kind, int *out_low, int *out_high);
/* Emits |batches| products. The caller sets all of |q| but splits and k_each, and all of |s| but parts. */
OX_NODISCARD ox_status *dev_q_tiles(dev_plan *p, const dev_node *n, const dev_q_inputs *in, qgemm_params *q,
                                    dev_ref packed, dev_q_sums *s, int64_t batches);
/* takes and emit of matrix products. */
const char *dev_q_matmul_takes(const dev_node *n, const dev_q_inputs *in);
/* |made|: a left operand quantized from floats, unsigned bytes with one scale; NULL: the node's own. |to|: the result's
 * buffer; NULL: the node's output, with dev_q_cut applied. */
OX_NODISCARD ox_status *dev_q_matmul(dev_plan *p, const dev_node *n, const dev_q_inputs *in, const dev_q_left *made,
                                     const dev_ref *to);
/* ops/quantize.c: dynamic quantization of |count| floats to unsigned bytes, a scale and a zero point. */
OX_NODISCARD ox_status *dev_q_quantize(dev_plan *p, dev_ref x, int64_t count, const dev_q_left *to);

#endif

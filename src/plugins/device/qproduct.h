/* SPDX-License-Identifier: Apache-2.0
 * device/qproduct.h - products and convolutions of 8-bit integers: what their operators have in common. */
#ifndef OX_DEVICE_QPRODUCT_H
#define OX_DEVICE_QPRODUCT_H

#include "plugins/device/emit.h"
#include "plugins/device/kernels/qproduct_params.h"

/* Places of a node's inputs; those that it has not got are ABSENT. bias: of 32-bit integers; float_bias: behind the
 * scale. */
typedef struct dev_q_inputs {
  const char *name;
  size_t x, w, x_zero, w_zero, x_scale, w_scale, y_scale, y_zero, bias, float_bias;
  bool dynamic; /* x is floats, which become unsigned bytes first */
  int slot;     /* of what is made of w: the first of two */
} dev_q_inputs;
enum { DEV_Q_ABSENT = 99 };

bool dev_q_has(const dev_node *n, size_t i);
/* For takes: 8-bit x and w, their zero points of the same types, scales of float32. */
const char *dev_q_takes(const dev_node *n, const dev_q_inputs *in);
/* The value at place |i|, or nothing. */
dev_ref dev_q_value(dev_plan *p, const dev_node *n, size_t i);
int dev_q_kind(uint32_t dtype); /* QUANT_*; -1: none */
/* The weights' zero points may be other than 0, as signed bytes. */
bool dev_q_has_w_zero(const dev_node *n, const dev_q_inputs *in);
/* Packed weights and heads of all rows; |w| without n and the sizes and steps of parameters. */
OX_NODISCARD ox_status *dev_q_weights(dev_plan *p, const dev_node *n, const dev_q_inputs *in, int64_t groups, bool pack,
                                      qweights_params w, dev_ref *out_packed, dev_ref *out_head);
/* How many groups are to share k, and the ints of each. */
int dev_q_splits(const dev_plan *p, int64_t groups, int k4, int *out_each);
/* The left side: bytes, a zero point, a scale. */
typedef struct dev_q_left {
  dev_ref x, zero, scale;
} dev_q_left;
/* As |n| has it. */
dev_q_left dev_q_left_of(dev_plan *p, const dev_node *n, const dev_q_inputs *in);
/* Where shared sums lie, and where their result goes. */
typedef struct dev_q_sums {
  dev_q_left left;
  dev_ref parts, head, out;
} dev_q_sums;
OX_NODISCARD ox_status *dev_q_finish(dev_plan *p, const dev_node *n, const dev_q_inputs *in, const qfinish_params *f,
                                     const dev_q_sums *s);
/* Max and Min of the result and a constant that follow become the bounds of its bytes: their last value. */
uint32_t dev_q_cut(dev_plan *p, const dev_node *n, int kind, int *out_low, int *out_high);
/* |batches| products of |q|, all but splits and k_each; |s| without parts. */
OX_NODISCARD ox_status *dev_q_tiles(dev_plan *p, const dev_node *n, const dev_q_inputs *in, qgemm_params *q,
                                    dev_ref packed, dev_q_sums *s, int64_t batches);
/* takes and emit of matrix products. */
const char *dev_q_matmul_takes(const dev_node *n, const dev_q_inputs *in);
/* |made|: unsigned bytes with one scale, made of floats; NULL: X is the node's. |to|: NULL, the node's output, and what
 * dev_q_cut takes. */
OX_NODISCARD ox_status *dev_q_matmul(dev_plan *p, const dev_node *n, const dev_q_inputs *in, const dev_q_left *made,
                                     const dev_ref *to);
/* ops/quantize.c: |count| floats to unsigned bytes, a scale and a zero point. */
OX_NODISCARD ox_status *dev_q_quantize(dev_plan *p, dev_ref x, int64_t count, const dev_q_left *to);

#endif

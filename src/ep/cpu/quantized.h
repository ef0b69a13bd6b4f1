/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu/quantized.h - what rules for quantized graphs share: values between DequantizeLinear and QuantizeLinear, cuts
 * by Relu and Clip, biases, and the integer operator in the place of the QuantizeLinear. */
#ifndef OX_EP_CPU_QUANTIZED_H
#define OX_EP_CPU_QUANTIZED_H

#include "onyx/rewrite.h"

/* A quantized value of 8 bits: its integers, constant scale and zero point. */
typedef struct ox_quant {
  ox_id q, scale, zero;
  uint32_t dtype;
} ox_quant;

/* |v| is dequantized; one scale, or with |channels| one for each along |axis|. */
int ox_dequantized(const ox_rewrite *g, ox_id v, int64_t channels, int64_t axis, ox_quant *out);
/* What the QuantizeLinear |node| makes, with one scale. */
int ox_quantizes(const ox_rewrite *g, ox_id node, ox_quant *out);

/* A Relu or Clip in front of a quantization: its bounds in reals. */
typedef struct ox_cut {
  double lo, hi;
} ox_cut;

/* A constant bias in reals: float32, or int32 with scales. */
typedef struct ox_bias {
  const ox_tensor *t, *scale; /* t NULL: none; scale NULL: float32 */
  int64_t n;
} ox_bias;

/* |v| is a constant bias of |n| elements that int32 quanta can express, or OX_NONE. */
int ox_bias_read(const ox_rewrite *g, ox_id v, int64_t n, ox_bias *out);
/* It in quanta of both scales' products; OX_NONE if there is none. */
OX_NODISCARD ox_status *ox_bias_make(const ox_rewrite *g, const ox_bias *b, ox_id x_scale, ox_id w_scale, ox_id *out);

/* An integer operator that is about to take the place of a QuantizeLinear; what guards of such rules capture. */
enum { OX_INTEGER_OP_IN = 98 };
typedef struct ox_integer_op {
  const char *domain, *op;
  ox_id old; /* the float operator in front of the QuantizeLinear; its attributes stay */
  ox_quant y;
  ox_cut cut;
  ox_bias bias;
  uint32_t bias_at; /* the slot for it; OX_NONE: there is none */
  uint32_t n_in;
  ox_id in[OX_INTEGER_OP_IN]; /* with weights: their scale is input 4, that of the data input 1 */
} ox_integer_op;

/* Finds the node |ops| that feeds the QuantizeLinear |root|, looking through one Relu or Clip if |cuts|; no inputs yet.
 * 0: there is none, or this build cannot cut its integers. */
int ox_integer_op_find(const ox_rewrite *g, ox_id root, const char *ops, int cuts, ox_integer_op *out);
/* One more value: its integers, scale and zero point. */
void ox_integer_op_put(ox_integer_op *o, const ox_quant *x);
/* apply of a rule: the root becomes the captured operator, with Max and Min behind it where the cut is not the type's
 * own. */
OX_NODISCARD ox_status *ox_integer_op_apply(const ox_rewrite *g, const ox_match *m);

#endif

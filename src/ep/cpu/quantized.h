/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu/quantized.h - shared by the rules for quantized graphs: values between DequantizeLinear and QuantizeLinear,
 * bounds by Relu and Clip, biases, and the integer operator that replaces the QuantizeLinear. */
#ifndef OX_EP_CPU_QUANTIZED_H
#define OX_EP_CPU_QUANTIZED_H

#include "onyx/rewrite.h"

/* A quantized value of 8 bits: its integers, constant scale and zero point. */
typedef struct ox_quant {
  ox_id q, scale, zero;
  uint32_t dtype;
} ox_quant;

/* Whether |v| is dequantized, with one scale or, if |channels|, one for each channel along |axis|. Fills in |out|. */
int ox_dequantized(const ox_rewrite *g, ox_id v, int64_t channels, int64_t axis, ox_quant *out);
/* Whether |node| is a QuantizeLinear with one scale. Fills in |out| with its result. */
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

/* Whether |v| is OX_NONE, or a constant bias of |n| elements that int32 can express. Fills in |out|. */
int ox_bias_read(const ox_rewrite *g, ox_id v, int64_t n, ox_bias *out);
/* Adds the bias as int32 in units of the product of both scales; *out is OX_NONE if there is none. */
OX_NODISCARD ox_status *ox_bias_make(const ox_rewrite *g, const ox_bias *b, ox_id x_scale, ox_id w_scale, ox_id *out);

/* An integer operator that is to replace a QuantizeLinear; guards of such rules capture it. */
enum { OX_INTEGER_OP_IN = 98 };
typedef struct ox_integer_op {
  const char *domain, *op;
  ox_id old; /* the float operator in front of the QuantizeLinear; its attributes stay */
  ox_quant y;
  ox_cut cut;
  ox_bias bias;
  uint32_t bias_at; /* the bias's slot; OX_NONE: it has none */
  uint32_t n_in;
  ox_id in[OX_INTEGER_OP_IN]; /* with weights: their scale is input 4, that of the data input 1 */
} ox_integer_op;

/* Finds the node, one of |ops|, that feeds the QuantizeLinear |root|, looking through one Relu or Clip if |cuts|;
 * leaves the inputs empty. Returns 0 if there is none, or if this build cannot bound its integers. */
int ox_integer_op_find(const ox_rewrite *g, ox_id root, const char *ops, int cuts, ox_integer_op *out);
/* Appends a value's integers, scale and zero point to the inputs. */
void ox_integer_op_put(ox_integer_op *o, const ox_quant *x);
/* A rule's apply: turns the root into the captured operator, followed by Max and Min where the bounds are tighter than
 * the type's. */
OX_NODISCARD ox_status *ox_integer_op_apply(const ox_rewrite *g, const ox_match *m);

#endif

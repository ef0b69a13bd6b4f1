/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/api2024/element_2024.c - see xp_library.h: element-wise operators, PRelu, Softmax, Pad. */
#include <math.h>

#include "variants.h"

static enum xnn_datatype datatype(uint32_t type) {
  switch (type) {
    case OX_F16:
      return xnn_datatype_fp16;
    case OX_I8:
      return xnn_datatype_qint8;
    case OX_U8:
      return xnn_datatype_quint8;
    default:
      return xnn_datatype_fp32;
  }
}

static struct xnn_quantization_params quant(const xp_quant *q) {
  return (struct xnn_quantization_params){.zero_point = q->zero, .scale = q->scale};
}

/* ---- one input ---- */

static const enum xnn_unary_operator unaries[] = {
    [XP_ABS] = xnn_unary_abs,
    [XP_CEIL] = xnn_unary_ceiling,
    [XP_CLAMP] = xnn_unary_clamp,
    [XP_ELU] = xnn_unary_elu,
    [XP_FLOOR] = xnn_unary_floor,
    [XP_HARD_SWISH] = xnn_unary_hardswish,
    [XP_LEAKY_RELU] = xnn_unary_leaky_relu,
    [XP_NEG] = xnn_unary_negate,
    [XP_ROUND] = xnn_unary_bankers_rounding,
    [XP_SIGMOID] = xnn_unary_sigmoid,
    [XP_SQRT] = xnn_unary_square_root,
    [XP_TANH] = xnn_unary_tanh,
    [XP_EXP] = xnn_unary_exp,
    [XP_GELU] = xnn_unary_gelu,
};

static bool is_whole(const xp_step *s, uint32_t type) {
  return type == OX_U8 ? s->q_lo == 0 && s->q_hi == UINT8_MAX : s->q_lo == INT8_MIN && s->q_hi == INT8_MAX;
}

static enum xnn_status unary_create(const xp_step *s, const xp_call *c, xnn_operator_t *op) {
  uint32_t type = c->in_tensor[0]->type;
  const struct xnn_quantization_params x = quant(&s->q_in[0]), y = quant(&s->q_out);
  union xnn_unary_params params = {.elu = {s->number}};
  /* For bytes the library rounds the factors to eight fractional bits: results may be half a step off. */
  if (s->which == XP_LEAKY_RELU && type != OX_F32) return xnn_status_unsupported_parameter;
  if (s->which == XP_LEAKY_RELU) params.leaky_relu.negative_slope = s->number;
  if (s->which == XP_CLAMP) params.clamp.min = s->lo, params.clamp.max = s->hi;
  if (s->which == XP_CLAMP && type != OX_F32) {
    params.clamp.min = (float)(s->q_lo - y.zero_point) * y.scale;
    params.clamp.max = (float)(s->q_hi - y.zero_point) * y.scale;
  } else if (type != OX_F32 && !is_whole(s, type)) {
    return xnn_status_unsupported_parameter;
  }
  return xnn_create_unary_elementwise_nc(unaries[s->which], datatype(type), datatype(type), &params, NO_LUT & x, &y, 0,
                                         op);
}

/* One channel and a batch of all elements: the library then treats the tensor as one long row. */
static enum xnn_status unary_reshape(const xp_step *s, const xp_call *c, xnn_operator_t op, size_t *out_room) {
  (void)s, (void)out_room;
  return xnn_reshape_unary_elementwise_nc(op, xp_elements(c->in_dims[0]), 1, 1, 1, c->ep->given);
}
static enum xnn_status unary_setup(const xp_step *s, const xp_call *c, xnn_operator_t op) {
  (void)s;
  return xnn_setup_unary_elementwise_nc(op, c->in[0], c->out);
}

static enum xnn_status convert(uint32_t from, uint32_t to, const xp_step *s, xnn_operator_t *op) {
  const struct xnn_quantization_params x = quant(&s->q_in[0]), y = quant(&s->q_out);
  return xnn_create_unary_elementwise_nc(xnn_unary_convert, datatype(from), datatype(to), NULL, NO_LUT & x, &y, 0, op);
}

/* Bytes are always signed here. */
static enum xnn_status convert_create(const xp_step *s, const xp_call *c, xnn_operator_t *op) {
  bool to_bytes = c->in_tensor[0]->type == OX_F32;
  return to_bytes ? convert(OX_F32, OX_I8, s, op) : convert(OX_I8, OX_F32, s, op);
}

/* which: 1 converts to float16, 0 from it. */
static enum xnn_status half_create(const xp_step *s, const xp_call *c, xnn_operator_t *op) {
  (void)c;
  return s->which ? convert(OX_F32, OX_F16, s, op) : convert(OX_F16, OX_F32, s, op);
}

/* ---- two inputs ---- */

static const enum xnn_binary_operator binaries[] = {
    [XP_ADD] = xnn_binary_add,     [XP_DIV] = xnn_binary_divide,   [XP_MAX] = xnn_binary_maximum,
    [XP_MIN] = xnn_binary_minimum, [XP_MUL] = xnn_binary_multiply, [XP_SUB] = xnn_binary_subtract,
};

static enum xnn_status binary_create(const xp_step *s, const xp_call *c, xnn_operator_t *op) {
  uint32_t type = c->in_tensor[0]->type;
  const struct xnn_quantization_params a = quant(&s->q_in[0]), b = quant(&s->q_in[1]), y = quant(&s->q_out);
  if (type != OX_F32 && !is_whole(s, type)) return xnn_status_unsupported_parameter;
  return xnn_create_binary_elementwise_nd(binaries[s->which], datatype(type), &a, &b, &y, 0, op);
}
static enum xnn_status binary_reshape(const xp_step *s, const xp_call *c, xnn_operator_t op, size_t *out_room) {
  size_t a[XP_MOST_RANK], b[XP_MOST_RANK];
  (void)s, (void)out_room;
  xp_sizes(c, 0, a), xp_sizes(c, 1, b);
  return xnn_reshape_binary_elementwise_nd(op, (size_t)c->in_dims[0]->rank, a, (size_t)c->in_dims[1]->rank, b,
                                           c->ep->given);
}
static enum xnn_status binary_setup(const xp_step *s, const xp_call *c, xnn_operator_t op) {
  (void)s;
  return xnn_setup_binary_elementwise_nd(op, c->in[0], c->in[1], c->out);
}

static enum xnn_status prelu_create(const xp_step *s, const xp_call *c, xnn_operator_t *op) {
  (void)s, (void)c;
  return xnn_create_binary_elementwise_nd(xnn_binary_prelu, xnn_datatype_fp32, NULL, NULL, NULL, 0, op);
}
static enum xnn_status prelu_reshape(const xp_step *s, const xp_call *c, xnn_operator_t op, size_t *out_room) {
  size_t row = xp_row(c), x[] = {xp_elements(c->in_dims[0]) / row, row};
  (void)s, (void)out_room;
  return xnn_reshape_binary_elementwise_nd(op, 2, x, 1, &row, c->ep->given);
}
static enum xnn_status prelu_setup(const xp_step *s, const xp_call *c, xnn_operator_t op) {
  return xnn_setup_binary_elementwise_nd(op, c->in[0], s->numbers, c->out);
}

/* ---- Softmax ---- */

static enum xnn_status softmax_create(const xp_step *s, const xp_call *c, xnn_operator_t *op) {
  if (c->in_tensor[0]->type == OX_U8)
    return xnn_create_softmax_nc_qu8(s->q_in[0].scale, (uint8_t)s->q_out.zero, s->q_out.scale, 0, op);
  return xnn_create_softmax_nc_f32(0, op);
}
static enum xnn_status softmax_reshape(const xp_step *s, const xp_call *c, xnn_operator_t op, size_t *out_room) {
  size_t n = xp_softmax_row(s, c), rows = xp_elements(c->in_dims[0]) / n;
  (void)out_room;
  if (c->in_tensor[0]->type == OX_U8) return xnn_reshape_softmax_nc_qu8(op, n, n, n, rows, c->ep->given);
  return xnn_reshape_softmax_nc_f32(op, n, n, n, rows, c->ep->given);
}
static enum xnn_status softmax_setup(const xp_step *s, const xp_call *c, xnn_operator_t op) {
  (void)s;
  if (c->in_tensor[0]->type == OX_U8) return xnn_setup_softmax_nc_qu8(op, c->in[0], c->out);
  return xnn_setup_softmax_nc_f32(op, c->in[0], c->out);
}

/* ---- Pad ---- */

static enum xnn_status pad_create(const xp_step *s, const xp_call *c, xnn_operator_t *op) {
  (void)c;
  return xnn_create_constant_pad_nd_x32(&s->number, 0, op);
}
static enum xnn_status pad_reshape(const xp_step *s, const xp_call *c, xnn_operator_t op, size_t *out_room) {
  size_t x[XP_MOST_RANK], before[XP_MOST_RANK], after[XP_MOST_RANK];
  int rank = c->in_dims[0]->rank;
  (void)out_room;
  xp_sizes(c, 0, x);
  for (int d = 0; d < rank; d++) {
    int p = xp_physical_axis(rank, d, c->in_tensor[0]->last);
    before[p] = (size_t)s->sizes[d], after[p] = (size_t)s->sizes[XP_MOST_AXES + d];
  }
  return xnn_reshape_constant_pad_nd_x32(op, (size_t)rank, x, before, after, c->ep->given);
}
static enum xnn_status pad_setup(const xp_step *s, const xp_call *c, xnn_operator_t op) {
  (void)s;
  return xnn_setup_constant_pad_nd_x32(op, c->in[0], c->out);
}

const xp_calls xp_lib_unary = {unary_create, unary_reshape, unary_setup};
const xp_calls xp_lib_convert = {convert_create, unary_reshape, unary_setup};
const xp_calls xp_lib_half = {half_create, unary_reshape, unary_setup};
const xp_calls xp_lib_prelu = {prelu_create, prelu_reshape, prelu_setup};
const xp_calls xp_lib_softmax = {softmax_create, softmax_reshape, softmax_setup};
const xp_calls xp_lib_binary = {binary_create, binary_reshape, binary_setup};
const xp_calls xp_lib_pad = {pad_create, pad_reshape, pad_setup};

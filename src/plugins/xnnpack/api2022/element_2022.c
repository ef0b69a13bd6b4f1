/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/api2022/element_2022.c - see xp_library.h: element-wise operators, PRelu, Softmax, Pad. Setup gets the sizes.
 */
#include "../xp_library.h"

/* ---- one input ---- */

/* One channel and a batch of all elements: the library then treats the tensor as one long row. */
#define ONE 1, 1, 1

static enum xnn_status unary_create_bytes(const xp_step *s, xnn_operator_t *op) {
  const xp_quant *x = &s->q_in[0], *y = &s->q_out;
#define UNARY_QUANTS(type) (type) x->zero, x->scale, (type)y->zero, y->scale, (type)s->q_lo, (type)s->q_hi, 0, op
  switch ((xp_unary)s->which) {
    case XP_CLAMP:
      return xnn_create_clamp_nc_s8(ONE, (int8_t)s->q_lo, (int8_t)s->q_hi, 0, op);
    case XP_ELU:
      return xnn_create_elu_nc_qs8(ONE, s->number, UNARY_QUANTS(int8_t));
    case XP_LEAKY_RELU:
      return xnn_create_leaky_relu_nc_qu8(ONE, s->number, UNARY_QUANTS(uint8_t));
    case XP_SIGMOID:
      return xnn_create_sigmoid_nc_qs8(ONE, UNARY_QUANTS(int8_t));
    case XP_TANH:
      return xnn_create_tanh_nc_qs8(ONE, UNARY_QUANTS(int8_t));
    default:
      return xnn_status_unsupported_parameter;
  }
}

static enum xnn_status unary_setup_bytes(const xp_step *s, const xp_call *c, xnn_operator_t op) {
  size_t n = xp_elements(c->in_dims[0]);
  pthreadpool_t pool = c->ep->given;
  switch ((xp_unary)s->which) {
    case XP_CLAMP:
      return xnn_setup_clamp_nc_s8(op, n, c->in[0], c->out, pool);
    case XP_ELU:
      return xnn_setup_elu_nc_qs8(op, n, c->in[0], c->out, pool);
    case XP_LEAKY_RELU:
      return xnn_setup_leaky_relu_nc_qu8(op, n, c->in[0], c->out, pool);
    case XP_SIGMOID:
      return xnn_setup_sigmoid_nc_qs8(op, n, c->in[0], c->out, pool);
    case XP_TANH:
      return xnn_setup_tanh_nc_qs8(op, n, c->in[0], c->out, pool);
    default:
      return xnn_status_unsupported_parameter;
  }
}

static enum xnn_status unary_create(const xp_step *s, const xp_call *c, xnn_operator_t *op) {
  if (c->in_tensor[0]->type != OX_F32) return unary_create_bytes(s, op);
  switch ((xp_unary)s->which) {
    case XP_ABS:
      return xnn_create_abs_nc_f32(ONE, 0, op);
    case XP_CEIL:
      return xnn_create_ceiling_nc_f32(ONE, 0, op);
    case XP_CLAMP:
      return xnn_create_clamp_nc_f32(ONE, s->lo, s->hi, 0, op);
    case XP_ELU:
      return xnn_create_elu_nc_f32(ONE, s->number, 0, op);
    case XP_FLOOR:
      return xnn_create_floor_nc_f32(ONE, 0, op);
    case XP_HARD_SWISH:
      return xnn_create_hardswish_nc_f32(ONE, 0, op);
    case XP_LEAKY_RELU:
      return xnn_create_leaky_relu_nc_f32(ONE, s->number, 0, op);
    case XP_NEG:
      return xnn_create_negate_nc_f32(ONE, 0, op);
    case XP_ROUND:
      return xnn_create_bankers_rounding_nc_f32(ONE, 0, op);
    case XP_SIGMOID:
      return xnn_create_sigmoid_nc_f32(ONE, 0, op);
    case XP_SQRT:
      return xnn_create_square_root_nc_f32(ONE, 0, op);
    case XP_TANH: /* the library has it for bytes only */
    case XP_EXP:
    case XP_GELU:
      break;
  }
  return xnn_status_unsupported_parameter;
}

static enum xnn_status unary_setup(const xp_step *s, const xp_call *c, xnn_operator_t op) {
  size_t n = xp_elements(c->in_dims[0]);
  pthreadpool_t pool = c->ep->given;
  if (c->in_tensor[0]->type != OX_F32) return unary_setup_bytes(s, c, op);
  switch ((xp_unary)s->which) {
    case XP_ABS:
      return xnn_setup_abs_nc_f32(op, n, c->in[0], c->out, pool);
    case XP_CEIL:
      return xnn_setup_ceiling_nc_f32(op, n, c->in[0], c->out, pool);
    case XP_CLAMP:
      return xnn_setup_clamp_nc_f32(op, n, c->in[0], c->out, pool);
    case XP_ELU:
      return xnn_setup_elu_nc_f32(op, n, c->in[0], c->out, pool);
    case XP_FLOOR:
      return xnn_setup_floor_nc_f32(op, n, c->in[0], c->out, pool);
    case XP_HARD_SWISH:
      return xnn_setup_hardswish_nc_f32(op, n, c->in[0], c->out, pool);
    case XP_LEAKY_RELU:
      return xnn_setup_leaky_relu_nc_f32(op, n, c->in[0], c->out, pool);
    case XP_NEG:
      return xnn_setup_negate_nc_f32(op, n, c->in[0], c->out, pool);
    case XP_ROUND:
      return xnn_setup_bankers_rounding_nc_f32(op, n, c->in[0], c->out, pool);
    case XP_SIGMOID:
      return xnn_setup_sigmoid_nc_f32(op, n, c->in[0], c->out, pool);
    case XP_SQRT:
      return xnn_setup_square_root_nc_f32(op, n, c->in[0], c->out, pool);
    case XP_TANH:
    case XP_EXP:
    case XP_GELU:
      break;
  }
  return xnn_status_unsupported_parameter;
}

/* Bytes are always signed here. */
static enum xnn_status convert_create(const xp_step *s, const xp_call *c, xnn_operator_t *op) {
  if (c->in_tensor[0]->type == OX_F32)
    return xnn_create_convert_nc_f32_qs8(ONE, s->q_out.scale, (int8_t)s->q_out.zero, INT8_MIN, INT8_MAX, 0, op);
  return xnn_create_convert_nc_qs8_f32(ONE, s->q_in[0].scale, (int8_t)s->q_in[0].zero, 0, op);
}
static enum xnn_status convert_setup(const xp_step *s, const xp_call *c, xnn_operator_t op) {
  size_t n = xp_elements(c->in_dims[0]);
  (void)s;
  if (c->in_tensor[0]->type == OX_F32) return xnn_setup_convert_nc_f32_qs8(op, n, c->in[0], c->out, c->ep->given);
  return xnn_setup_convert_nc_qs8_f32(op, n, c->in[0], c->out, c->ep->given);
}

/* which: 1 converts to float16, 0 from it. */
static enum xnn_status half_create(const xp_step *s, const xp_call *c, xnn_operator_t *op) {
  (void)c;
  return s->which ? xnn_create_convert_nc_f32_f16(ONE, 0, op) : xnn_create_convert_nc_f16_f32(ONE, 0, op);
}
static enum xnn_status half_setup(const xp_step *s, const xp_call *c, xnn_operator_t op) {
  size_t n = xp_elements(c->in_dims[0]);
  if (s->which) return xnn_setup_convert_nc_f32_f16(op, n, c->in[0], c->out, c->ep->given);
  return xnn_setup_convert_nc_f16_f32(op, n, c->in[0], c->out, c->ep->given);
}

/* ---- along the last dimension of memory ---- */

static enum xnn_status prelu_create(const xp_step *s, const xp_call *c, xnn_operator_t *op) {
  return xnn_create_prelu_nc_f32(xp_row(c), xp_row(c), xp_row(c), s->numbers, 0, op);
}
static enum xnn_status prelu_setup(const xp_step *s, const xp_call *c, xnn_operator_t op) {
  (void)s;
  return xnn_setup_prelu_nc_f32(op, xp_elements(c->in_dims[0]) / xp_row(c), c->in[0], c->out, c->ep->given);
}

static enum xnn_status softmax_create(const xp_step *s, const xp_call *c, xnn_operator_t *op) {
  size_t n = xp_softmax_row(s, c);
  if (c->in_tensor[0]->type == OX_U8)
    return xnn_create_softmax_nc_qu8(n, n, n, s->q_in[0].scale, (uint8_t)s->q_out.zero, s->q_out.scale, 0, op);
  return xnn_create_softmax_nc_f32(n, n, n, 0, op);
}
static enum xnn_status softmax_setup(const xp_step *s, const xp_call *c, xnn_operator_t op) {
  size_t rows = xp_elements(c->in_dims[0]) / xp_softmax_row(s, c);
  if (c->in_tensor[0]->type == OX_U8) return xnn_setup_softmax_nc_qu8(op, rows, c->in[0], c->out, c->ep->given);
  return xnn_setup_softmax_nc_f32(op, rows, c->in[0], c->out, c->ep->given);
}

/* ---- two inputs ---- */

static enum xnn_status binary_create(const xp_step *s, const xp_call *c, xnn_operator_t *op) {
  if (c->in_tensor[0]->type == OX_I8) {
    const xp_quant *a = &s->q_in[0], *b = &s->q_in[1], *y = &s->q_out;
#define QUANTS                                                                                                        \
  (int8_t) a->zero, a->scale, (int8_t)b->zero, b->scale, (int8_t)y->zero, y->scale, (int8_t)s->q_lo, (int8_t)s->q_hi, \
      0, op
    switch ((xp_binary)s->which) {
      case XP_ADD:
        return xnn_create_add_nd_qs8(QUANTS);
      case XP_MUL:
        return xnn_create_multiply_nd_qs8(QUANTS);
      case XP_SUB:
        return xnn_create_subtract_nd_qs8(QUANTS);
      default:
        return xnn_status_unsupported_parameter;
    }
  }
  switch ((xp_binary)s->which) {
    case XP_ADD:
      return xnn_create_add_nd_f32(s->lo, s->hi, 0, op);
    case XP_DIV:
      return xnn_create_divide_nd_f32(s->lo, s->hi, 0, op);
    case XP_MAX:
      return xnn_create_maximum_nd_f32(0, op);
    case XP_MIN:
      return xnn_create_minimum_nd_f32(0, op);
    case XP_MUL:
      return xnn_create_multiply_nd_f32(s->lo, s->hi, 0, op);
    case XP_SUB:
      return xnn_create_subtract_nd_f32(s->lo, s->hi, 0, op);
  }
  return xnn_status_unsupported_parameter;
}

static enum xnn_status binary_setup(const xp_step *s, const xp_call *c, xnn_operator_t op) {
  size_t a[XP_MOST_RANK], b[XP_MOST_RANK];
  xp_sizes(c, 0, a), xp_sizes(c, 1, b);
#define OPERANDS \
  op, (size_t)c->in_dims[0]->rank, a, (size_t)c->in_dims[1]->rank, b, c->in[0], c->in[1], c->out, c->ep->given
  if (c->in_tensor[0]->type == OX_I8) switch ((xp_binary)s->which) {
      case XP_ADD:
        return xnn_setup_add_nd_qs8(OPERANDS);
      case XP_MUL:
        return xnn_setup_multiply_nd_qs8(OPERANDS);
      default:
        return xnn_setup_subtract_nd_qs8(OPERANDS);
    }
  switch ((xp_binary)s->which) {
    case XP_ADD:
      return xnn_setup_add_nd_f32(OPERANDS);
    case XP_DIV:
      return xnn_setup_divide_nd_f32(OPERANDS);
    case XP_MAX:
      return xnn_setup_maximum_nd_f32(OPERANDS);
    case XP_MIN:
      return xnn_setup_minimum_nd_f32(OPERANDS);
    case XP_MUL:
      return xnn_setup_multiply_nd_f32(OPERANDS);
    case XP_SUB:
      return xnn_setup_subtract_nd_f32(OPERANDS);
  }
  return xnn_status_unsupported_parameter;
}

/* ---- Pad ---- */

static enum xnn_status pad_create(const xp_step *s, const xp_call *c, xnn_operator_t *op) {
  (void)c;
  return xnn_create_constant_pad_nd_x32(&s->number, 0, op);
}
static enum xnn_status pad_setup(const xp_step *s, const xp_call *c, xnn_operator_t op) {
  size_t x[XP_MOST_RANK], before[XP_MOST_RANK], after[XP_MOST_RANK];
  int rank = c->in_dims[0]->rank;
  xp_sizes(c, 0, x);
  for (int d = 0; d < rank; d++) {
    int p = xp_physical_axis(rank, d, c->in_tensor[0]->last);
    before[p] = (size_t)s->sizes[d], after[p] = (size_t)s->sizes[XP_MOST_AXES + d];
  }
  return xnn_setup_constant_pad_nd_x32(op, (size_t)rank, x, before, after, c->in[0], c->out, c->ep->given);
}

const xp_calls xp_lib_unary = {unary_create, NULL, unary_setup};
const xp_calls xp_lib_convert = {convert_create, NULL, convert_setup};
const xp_calls xp_lib_half = {half_create, NULL, half_setup};
const xp_calls xp_lib_prelu = {prelu_create, NULL, prelu_setup};
const xp_calls xp_lib_softmax = {softmax_create, NULL, softmax_setup};
const xp_calls xp_lib_binary = {binary_create, NULL, binary_setup};
const xp_calls xp_lib_pad = {pad_create, NULL, pad_setup};

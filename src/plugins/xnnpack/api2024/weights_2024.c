/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/api2024/weights_2024.c - see xp_library.h: Conv, ConvTranspose, and products. */
#include "variants.h"

#define PADS(w) (w)->top, (w)->right, (w)->bottom, (w)->left
#define WINDOW(w) (w)->size[0], (w)->size[1], (w)->stride[0], (w)->stride[1], (w)->dilation[0], (w)->dilation[1]
#define GROUPS(r) (r)->groups, (r)->channels_in, (r)->channels_out, in, out
#define QUANT_OUT(r, type) (type)(r)->y_zero, (r)->y_scale, (type)(r)->q_lo, (type)(r)->q_hi, (r)->flags

static enum xnn_status make_conv(const xp_recipe *r, size_t in, size_t out, xnn_operator_t *op) {
  const xp_window *w = &r->window;
  switch (r->arithmetic) {
    case XP_AS_S8:
      return xnn_create_convolution2d_nhwc_qs8(PADS(w), WINDOW(w), GROUPS(r), (int8_t)r->x_zero, r->x_scale, r->w_scale,
                                               r->kernel, r->bias, QUANT_OUT(r, int8_t), CACHES, op);
    case XP_AS_S8_CHANNELS:
      return xnn_create_convolution2d_nhwc_qs8_qc8w(PADS(w), WINDOW(w), GROUPS(r), (int8_t)r->x_zero, r->x_scale,
                                                    r->w_scales, r->kernel, r->bias, QUANT_OUT(r, int8_t), CACHES, op);
    case XP_AS_U8:
      return xnn_create_convolution2d_nhwc_qu8(PADS(w), WINDOW(w), GROUPS(r), (uint8_t)r->x_zero, r->x_scale,
                                               (uint8_t)r->w_zero, r->w_scale, r->kernel, r->bias,
                                               QUANT_OUT(r, uint8_t), CACHES, op);
    default:
      return xnn_create_convolution2d_nhwc_f32(PADS(w), WINDOW(w), GROUPS(r), r->kernel, r->bias, r->lo, r->hi,
                                               r->flags, CACHES, op);
  }
}

static enum xnn_status make_deconv(const xp_recipe *r, size_t in, size_t out, xnn_operator_t *op) {
  const xp_window *w = &r->window;
  switch (r->arithmetic) {
    case XP_AS_S8:
      return xnn_create_deconvolution2d_nhwc_qs8(PADS(w), WINDOW(w), GROUPS(r), (int8_t)r->x_zero, r->x_scale,
                                                 r->w_scale, r->kernel, r->bias, QUANT_OUT(r, int8_t), CACHES, op);
    case XP_AS_S8_CHANNELS:
      return xnn_create_deconvolution2d_nhwc_qs8_qc8w(PADS(w), WINDOW(w), GROUPS(r), (int8_t)r->x_zero, r->x_scale,
                                                      r->w_scales, r->kernel, r->bias, QUANT_OUT(r, int8_t), CACHES,
                                                      op);
    case XP_AS_U8:
      return xnn_create_deconvolution2d_nhwc_qu8(PADS(w), WINDOW(w), GROUPS(r), (uint8_t)r->x_zero, r->x_scale,
                                                 (uint8_t)r->w_zero, r->w_scale, r->kernel, r->bias,
                                                 QUANT_OUT(r, uint8_t), CACHES, op);
    default:
      return xnn_create_deconvolution2d_nhwc_f32(PADS(w), WINDOW(w), GROUPS(r), r->kernel, r->bias, r->lo, r->hi,
                                                 r->flags, CACHES, op);
  }
}

static enum xnn_status make_linear(const xp_recipe *r, size_t in, size_t out, xnn_operator_t *op) {
  switch (r->arithmetic) {
    case XP_AS_S8:
      return xnn_create_fully_connected_nc_qs8(in, out, in, out, (int8_t)r->x_zero, r->x_scale, r->w_scale, r->kernel,
                                               r->bias, QUANT_OUT(r, int8_t), CACHES, op);
    case XP_AS_S8_CHANNELS:
      return xnn_create_fully_connected_nc_qs8_qc8w(in, out, in, out, (int8_t)r->x_zero, r->x_scale, r->w_scales,
                                                    r->kernel, r->bias, QUANT_OUT(r, int8_t), CACHES, op);
    case XP_AS_U8:
      return xnn_create_fully_connected_nc_qu8(in, out, in, out, (uint8_t)r->x_zero, r->x_scale, (uint8_t)r->w_zero,
                                               r->w_scale, r->kernel, r->bias, QUANT_OUT(r, uint8_t), CACHES, op);
    default:
      return xnn_create_fully_connected_nc_f32(in, out, in, out, r->kernel, r->bias, r->lo, r->hi, r->flags, CACHES,
                                               op);
  }
}

enum xnn_status xp_lib_make(const xp_recipe *r, xnn_operator_t *op) {
  size_t in = (size_t)r->groups * r->channels_in, out = (size_t)r->groups * r->channels_out;
  switch (r->op) {
    case XP_CONV:
      return make_conv(r, in, out, op);
    case XP_DECONV:
      return make_deconv(r, in, out, op);
    default:
      return make_linear(r, in, out, op);
  }
}

/* Calls the function for the step's arithmetic. */
#define BY_ARITHMETIC(call, ...)           \
  switch (s->which) {                      \
    case XP_AS_S8:                         \
      return call##_qs8(__VA_ARGS__);      \
    case XP_AS_S8_CHANNELS:                \
      return call##_qs8_qc8w(__VA_ARGS__); \
    case XP_AS_U8:                         \
      return call##_qu8(__VA_ARGS__);      \
    default:                               \
      return call##_f32(__VA_ARGS__);      \
  }

static enum xnn_status conv_reshape(const xp_step *s, const xp_call *c, xnn_operator_t op, size_t *out_room) {
  const xp_dims *x = c->in_dims[0];
  size_t n = (size_t)x->d[0], h = xp_rows(x), w = xp_columns(x), rows, columns;
  BY_ARITHMETIC(xnn_reshape_convolution2d_nhwc, op, n, h, w, ROOM(out_room), &rows, &columns, c->ep->given)
}
static enum xnn_status conv_setup(const xp_step *s, const xp_call *c, xnn_operator_t op) {
  BY_ARITHMETIC(xnn_setup_convolution2d_nhwc, op, c->room, c->in[0], c->out)
}

static enum xnn_status deconv_reshape(const xp_step *s, const xp_call *c, xnn_operator_t op, size_t *out_room) {
  const xp_dims *x = c->in_dims[0];
  size_t n = (size_t)x->d[0], h = xp_rows(x), w = xp_columns(x), rows, columns;
  uint32_t eh = s->window.extra[0], ew = s->window.extra[1];
  (void)out_room;
  BY_ARITHMETIC(xnn_reshape_deconvolution2d_nhwc, op, n, h, w, eh, ew, &rows, &columns, c->ep->given)
}
static enum xnn_status deconv_setup(const xp_step *s, const xp_call *c, xnn_operator_t op) {
  BY_ARITHMETIC(xnn_setup_deconvolution2d_nhwc, op, c->in[0], c->out)
}

static enum xnn_status linear_reshape(const xp_step *s, const xp_call *c, xnn_operator_t op, size_t *out_room) {
  size_t rows = xp_elements(c->in_dims[0]) / (size_t)s->channels_in;
  (void)out_room;
  BY_ARITHMETIC(xnn_reshape_fully_connected_nc, op, rows, c->ep->given)
}
static enum xnn_status linear_setup(const xp_step *s, const xp_call *c, xnn_operator_t op) {
  BY_ARITHMETIC(xnn_setup_fully_connected_nc, op, c->in[0], c->out)
}

static enum xnn_status product_create(const xp_step *s, const xp_call *c, xnn_operator_t *op) {
  (void)c;
  return xnn_create_batch_matrix_multiply_nc_f32(s->flags ? XNN_FLAG_TRANSPOSE_B : 0, op);
}
static enum xnn_status product_reshape(const xp_step *s, const xp_call *c, xnn_operator_t op, size_t *out_room) {
  const xp_dims *a = c->in_dims[0], *b = c->in_dims[1], *y = c->out_dims;
  size_t batch_a[XP_MOST_RANK], batch_b[XP_MOST_RANK], m = (size_t)a->d[a->rank - 2], k = (size_t)a->d[a->rank - 1];
  for (int d = 0; d < y->rank - 2; d++) {
    int da = d - (y->rank - a->rank), db = d - (y->rank - b->rank);
    batch_a[d] = da < 0 ? 1 : (size_t)a->d[da], batch_b[d] = db < 0 ? 1 : (size_t)b->d[db];
  }
  return xnn_reshape_batch_matrix_multiply_nc_f32(op, (size_t)y->rank - 2, batch_a, batch_b, m, k,
                                                  (size_t)xp_product_columns(s, b), ROOM(out_room), c->ep->given);
}
static enum xnn_status product_setup(const xp_step *s, const xp_call *c, xnn_operator_t op) {
  (void)s;
  return xnn_setup_batch_matrix_multiply_nc_f32(op, c->room, c->in[0], c->in[1], c->out);
}

uint32_t xp_lib_panel(const xp_recipe *r) {
  (void)r;
  return 0;
}

const xp_calls xp_lib_conv = {NULL, conv_reshape, conv_setup};
const xp_calls xp_lib_deconv = {NULL, deconv_reshape, deconv_setup};
const xp_calls xp_lib_linear = {NULL, linear_reshape, linear_setup};
const xp_calls xp_lib_product = {product_create, product_reshape, product_setup};
const char xp_lib_version[] = "2024-11 or later";
#ifdef XP_AVERAGE_ROOM
const bool xp_lib_pointwise = false;
#else
const bool xp_lib_pointwise = true; /* since 2025-02 a 1x1 Conv no longer uses GEMM */
#endif
const bool xp_lib_bounds = false;

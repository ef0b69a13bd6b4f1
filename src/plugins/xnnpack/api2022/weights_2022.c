/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/api2022/weights_2022.c - see xp_library.h: Conv, ConvTranspose, and products with a constant matrix. Setup
 * gets the sizes. */
#include "../xp_library.h"
#include "depth_2022.h"

#define PADS(w) (w)->top, (w)->right, (w)->bottom, (w)->left
#define WINDOW(w) (w)->size[0], (w)->size[1], (w)->stride[0], (w)->stride[1], (w)->dilation[0], (w)->dilation[1]
#define GROUPS(r) (r)->groups, (r)->channels_in, (r)->channels_out, in, out
#define QUANT_OUT(r, type) (type)(r)->y_zero, (r)->y_scale, (type)(r)->q_lo, (type)(r)->q_hi, (r)->flags

static enum xnn_status make_conv(const xp_recipe *r, size_t in, size_t out, xnn_operator_t *op) {
  const xp_window *w = &r->window;
  switch (r->arithmetic) {
    case XP_AS_S8:
      return xnn_create_convolution2d_nhwc_qs8(PADS(w), WINDOW(w), GROUPS(r), (int8_t)r->x_zero, r->x_scale, r->w_scale,
                                               r->kernel, r->bias, QUANT_OUT(r, int8_t), op);
    case XP_AS_S8_CHANNELS:
      return xnn_create_convolution2d_nhwc_qc8(PADS(w), WINDOW(w), GROUPS(r), (int8_t)r->x_zero, r->x_scale,
                                               r->w_scales, r->kernel, r->bias, QUANT_OUT(r, int8_t), op);
    case XP_AS_U8:
      return xnn_create_convolution2d_nhwc_qu8(PADS(w), WINDOW(w), GROUPS(r), (uint8_t)r->x_zero, r->x_scale,
                                               (uint8_t)r->w_zero, r->w_scale, r->kernel, r->bias,
                                               QUANT_OUT(r, uint8_t), op);
    default:
      return xnn_create_convolution2d_nhwc_f32(PADS(w), WINDOW(w), GROUPS(r), r->kernel, r->bias, r->lo, r->hi,
                                               r->flags, op);
  }
}

static enum xnn_status make_deconv(const xp_recipe *r, size_t in, size_t out, xnn_operator_t *op) {
  const xp_window *w = &r->window;
  switch (r->arithmetic) {
    case XP_AS_S8:
      return xnn_create_deconvolution2d_nhwc_qs8(PADS(w), WINDOW(w), GROUPS(r), (int8_t)r->x_zero, r->x_scale,
                                                 r->w_scale, r->kernel, r->bias, QUANT_OUT(r, int8_t), op);
    case XP_AS_S8_CHANNELS:
      return xnn_status_unsupported_parameter;
    case XP_AS_U8:
      return xnn_create_deconvolution2d_nhwc_qu8(PADS(w), WINDOW(w), GROUPS(r), (uint8_t)r->x_zero, r->x_scale,
                                                 (uint8_t)r->w_zero, r->w_scale, r->kernel, r->bias,
                                                 QUANT_OUT(r, uint8_t), op);
    default:
      return xnn_create_deconvolution2d_nhwc_f32(PADS(w), WINDOW(w), GROUPS(r), r->kernel, r->bias, r->lo, r->hi,
                                                 r->flags, op);
  }
}

static enum xnn_status make_linear(const xp_recipe *r, size_t in, size_t out, xnn_operator_t *op) {
  switch (r->arithmetic) {
    case XP_AS_S8:
      return xnn_create_fully_connected_nc_qs8(in, out, in, out, (int8_t)r->x_zero, r->x_scale, r->w_scale, r->kernel,
                                               r->bias, QUANT_OUT(r, int8_t), op);
    case XP_AS_S8_CHANNELS:
      return xnn_status_unsupported_parameter;
    case XP_AS_U8:
      return xnn_create_fully_connected_nc_qu8(in, out, in, out, (uint8_t)r->x_zero, r->x_scale, (uint8_t)r->w_zero,
                                               r->w_scale, r->kernel, r->bias, QUANT_OUT(r, uint8_t), op);
    default:
      return xnn_create_fully_connected_nc_f32(in, out, in, out, r->kernel, r->bias, r->lo, r->hi, r->flags, op);
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

static enum xnn_status conv_setup(const xp_step *s, const xp_call *c, xnn_operator_t op) {
  const xp_dims *x = c->in_dims[0];
  size_t n = (size_t)x->d[0], h = xp_rows(x), w = xp_columns(x);
  switch (s->which) {
    case XP_AS_S8:
      return xnn_setup_convolution2d_nhwc_qs8(op, n, h, w, c->in[0], c->out, c->ep->given);
    case XP_AS_S8_CHANNELS:
      return xnn_setup_convolution2d_nhwc_qc8(op, n, h, w, c->in[0], c->out, c->ep->given);
    case XP_AS_U8:
      return xnn_setup_convolution2d_nhwc_qu8(op, n, h, w, c->in[0], c->out, c->ep->given);
    default:
      return xnn_setup_convolution2d_nhwc_f32(op, n, h, w, c->in[0], c->out, c->ep->given);
  }
}

static enum xnn_status deconv_setup(const xp_step *s, const xp_call *c, xnn_operator_t op) {
  const xp_dims *x = c->in_dims[0];
  size_t n = (size_t)x->d[0], h = xp_rows(x), w = xp_columns(x);
  uint32_t eh = s->window.extra[0], ew = s->window.extra[1];
  switch (s->which) {
    case XP_AS_S8:
      return xnn_setup_deconvolution2d_nhwc_qs8(op, n, h, w, eh, ew, c->in[0], c->out, c->ep->given);
    case XP_AS_U8:
      return xnn_setup_deconvolution2d_nhwc_qu8(op, n, h, w, eh, ew, c->in[0], c->out, c->ep->given);
    default:
      return xnn_setup_deconvolution2d_nhwc_f32(op, n, h, w, eh, ew, c->in[0], c->out, c->ep->given);
  }
}

static enum xnn_status linear_setup(const xp_step *s, const xp_call *c, xnn_operator_t op) {
  size_t depth = (size_t)s->channels_in, rows = xp_elements(c->in_dims[0]) / depth;
  switch (s->which) {
    case XP_AS_S8:
      return xnn_setup_fully_connected_nc_qs8(op, rows, c->in[0], c->out, c->ep->given);
    case XP_AS_U8:
      return xnn_setup_fully_connected_nc_qu8(op, rows, c->in[0], c->out, c->ep->given);
    default:
      return xnn_setup_fully_connected_nc_f32(op, rows, c->in[0], c->out, xp_setup_pool(depth, c->ep->given));
  }
}

uint32_t xp_lib_panel(const xp_recipe *r) {
  return r->op == XP_LINEAR && r->arithmetic == XP_AS_F32 && !xp_columns_part(r->channels_in) ? 0 : 16;
}

const xp_calls xp_lib_conv = {NULL, NULL, conv_setup};
const xp_calls xp_lib_deconv = {NULL, NULL, deconv_setup};
const xp_calls xp_lib_linear = {NULL, NULL, linear_setup};
const char xp_lib_version[] = "2022-02";
const bool xp_lib_pointwise = false;
const bool xp_lib_bounds = true;

/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/xp_kinds_weights.c - Conv, ConvTranspose, and products with a constant matrix. */
#include "xp_kinds.h"

/* Output size of one dimension: |i| 0 for rows. Negative: the window does not fit. */
static int64_t conv_size(const xp_window *w, int i, int64_t n) {
  if (w->same) return (n + w->stride[i] - 1) / w->stride[i];
  int64_t pads = i ? (int64_t)w->left + w->right : (int64_t)w->top + w->bottom;
  int64_t room = n + pads - ((int64_t)w->dilation[i] * (w->size[i] - 1) + 1);
  if (room < 0) return room < -(int64_t)w->stride[i] ? -1 : 0; /* rounded down */
  return room / w->stride[i] + 1;
}

static int64_t deconv_size(const xp_window *w, int i, int64_t n) {
  int64_t pads = i ? (int64_t)w->left + w->right : (int64_t)w->top + w->bottom;
  return w->stride[i] * (n - 1) + w->extra[i] + (int64_t)w->dilation[i] * (w->size[i] - 1) + 1 - pads;
}

static const char *image_shape(const xp_step *s, const xp_dims *x, xp_dims *out,
                               int64_t (*size)(const xp_window *, int, int64_t)) {
  if (x->d[1] != s->channels_in) return "the input has not as many channels as the weights";
  *out = *x;
  out->d[1] = s->channels_out;
  for (int d = 2; d < x->rank; d++) {
    out->d[d] = size(&s->window, d - x->rank + 2, x->d[d]);
    if (out->d[d] < 0) return "the input is smaller than the window";
  }
  return NULL;
}

static const char *conv_shape(const xp_step *s, const xp_dims *const *in, xp_dims *out) {
  return image_shape(s, in[0], out, conv_size);
}
static const char *deconv_shape(const xp_step *s, const xp_dims *const *in, xp_dims *out) {
  return image_shape(s, in[0], out, deconv_size);
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

/* A of any rank; a vector is a row and B, if it is one, a column, which the output then lacks. */
static const char *linear_shape(const xp_step *s, const xp_dims *const *in, xp_dims *out) {
  const xp_dims *a = in[0];
  if (a->d[a->rank - 1] != s->channels_in) return "the inner dimensions of the product differ";
  *out = *a;
  out->d[a->rank - 1] = s->channels_out;
  if (s->drop_columns) out->rank--;
  return NULL;
}

static enum xnn_status linear_setup(const xp_step *s, const xp_call *c, xnn_operator_t op) {
  size_t rows = xp_elements(c->in_dims[0]) / (size_t)s->channels_in;
  switch (s->which) {
    case XP_AS_S8:
      return xnn_setup_fully_connected_nc_qs8(op, rows, c->in[0], c->out, c->ep->given);
    case XP_AS_U8:
      return xnn_setup_fully_connected_nc_qu8(op, rows, c->in[0], c->out, c->ep->given);
    default:
      return xnn_setup_fully_connected_nc_f32(op, rows, c->in[0], c->out, c->ep->given);
  }
}

const xp_kind xp_kind_conv = {.shape = conv_shape, .setup = conv_setup};
const xp_kind xp_kind_deconv = {.shape = deconv_shape, .setup = deconv_setup};
const xp_kind xp_kind_linear = {.shape = linear_shape, .setup = linear_setup};

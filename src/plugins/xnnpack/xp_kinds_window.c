/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/xp_kinds_window.c - pools and Resize. Images are channels last. */
#include <math.h>

#include "xp_kinds.h"

enum { MOST_PIXELS = 1 << 24 }; /* that the library has exact numbers for */

static const char *pool_shape(const xp_step *s, const xp_dims *const *in, xp_dims *out) {
  const xp_window *w = &s->window;
  *out = *in[0];
  for (int i = 0; i < 2; i++) {
    int64_t n = in[0]->d[2 + i], pads = i ? (int64_t)w->left + w->right : (int64_t)w->top + w->bottom;
    int64_t room = n + pads - ((int64_t)w->dilation[i] * (w->size[i] - 1) + 1);
    if (n <= 0 || (!w->same && room < 0)) return "the input is smaller than the window";
    out->d[2 + i] = w->same ? (n + w->stride[i] - 1) / w->stride[i] : room / w->stride[i] + 1;
  }
  return NULL;
}

#define PADS(w) (w)->top, (w)->right, (w)->bottom, (w)->left
#define SIZE_AND_STRIDE(w) (w)->size[0], (w)->size[1], (w)->stride[0], (w)->stride[1]
#define DILATION(w) (w)->dilation[0], (w)->dilation[1]

static enum xnn_status max_pool_create(const xp_step *s, const xp_call *c, xnn_operator_t *op) {
  const xp_window *w = &s->window;
  size_t n = (size_t)c->in_dims[0]->d[1];
  switch (c->in_tensor[0]->type) {
    case OX_I8:
      return xnn_create_max_pooling2d_nhwc_s8(PADS(w), SIZE_AND_STRIDE(w), DILATION(w), n, n, n, (int8_t)s->q_lo,
                                              (int8_t)s->q_hi, s->flags, op);
    case OX_U8:
      return xnn_create_max_pooling2d_nhwc_u8(PADS(w), SIZE_AND_STRIDE(w), DILATION(w), n, n, n, (uint8_t)s->q_lo,
                                              (uint8_t)s->q_hi, s->flags, op);
    default:
      return xnn_create_max_pooling2d_nhwc_f32(PADS(w), SIZE_AND_STRIDE(w), DILATION(w), n, n, n, s->lo, s->hi,
                                               s->flags, op);
  }
}

#define IMAGE(c) (size_t)(c)->in_dims[0]->d[0], (size_t)(c)->in_dims[0]->d[2], (size_t)(c)->in_dims[0]->d[3]
#define DATA(c) (c)->in[0], (c)->out, (c)->ep->given

static enum xnn_status max_pool_setup(const xp_step *s, const xp_call *c, xnn_operator_t op) {
  (void)s;
  switch (c->in_tensor[0]->type) {
    case OX_I8:
      return xnn_setup_max_pooling2d_nhwc_s8(op, IMAGE(c), DATA(c));
    case OX_U8:
      return xnn_setup_max_pooling2d_nhwc_u8(op, IMAGE(c), DATA(c));
    default:
      return xnn_setup_max_pooling2d_nhwc_f32(op, IMAGE(c), DATA(c));
  }
}

static enum xnn_status average_pool_create(const xp_step *s, const xp_call *c, xnn_operator_t *op) {
  const xp_window *w = &s->window;
  size_t n = (size_t)c->in_dims[0]->d[1];
  if (c->in_tensor[0]->type == OX_U8)
    return xnn_create_average_pooling2d_nhwc_qu8(PADS(w), SIZE_AND_STRIDE(w), n, n, n, (uint8_t)s->q_in[0].zero,
                                                 s->q_in[0].scale, (uint8_t)s->q_out.zero, s->q_out.scale,
                                                 (uint8_t)s->q_lo, (uint8_t)s->q_hi, s->flags, op);
  return xnn_create_average_pooling2d_nhwc_f32(PADS(w), SIZE_AND_STRIDE(w), n, n, n, s->lo, s->hi, s->flags, op);
}
static enum xnn_status average_pool_setup(const xp_step *s, const xp_call *c, xnn_operator_t op) {
  (void)s;
  if (c->in_tensor[0]->type == OX_U8) return xnn_setup_average_pooling2d_nhwc_qu8(op, IMAGE(c), DATA(c));
  return xnn_setup_average_pooling2d_nhwc_f32(op, IMAGE(c), DATA(c));
}

static const char *global_shape(const xp_step *s, const xp_dims *const *in, xp_dims *out) {
  (void)s;
  *out = *in[0];
  for (int d = 2; d < out->rank; d++) {
    if (in[0]->d[d] <= 0) return "there is nothing to average";
    if (in[0]->d[d] > MOST_PIXELS) return "the image is too large";
    out->d[d] = 1;
  }
  if (xp_rows(in[0]) * xp_columns(in[0]) > MOST_PIXELS) return "the image is too large";
  return NULL;
}
static enum xnn_status global_create(const xp_step *s, const xp_call *c, xnn_operator_t *op) {
  size_t n = (size_t)c->in_dims[0]->d[1];
  if (c->in_tensor[0]->type == OX_F32)
    return xnn_create_global_average_pooling_nwc_f32(n, n, n, s->lo, s->hi, s->flags, op);
  return xnn_create_global_average_pooling_nwc_qs8(n, n, n, (int8_t)s->q_in[0].zero, s->q_in[0].scale,
                                                   (int8_t)s->q_out.zero, s->q_out.scale, (int8_t)s->q_lo,
                                                   (int8_t)s->q_hi, s->flags, op);
}
static enum xnn_status global_setup(const xp_step *s, const xp_call *c, xnn_operator_t op) {
  const xp_dims *x = c->in_dims[0];
  size_t area = xp_rows(x) * xp_columns(x);
  (void)s;
  if (c->in_tensor[0]->type == OX_F32)
    return xnn_setup_global_average_pooling_nwc_f32(op, (size_t)x->d[0], area, DATA(c));
  return xnn_setup_global_average_pooling_nwc_qs8(op, (size_t)x->d[0], area, DATA(c));
}

/* sizes: rows and columns, or 0 where |numbers| has scales. */
static const char *resize_shape(const xp_step *s, const xp_dims *const *in, xp_dims *out) {
  *out = *in[0];
  for (int i = 0; i < 2; i++) {
    int64_t n = in[0]->d[2 + i];
    out->d[2 + i] = s->sizes[i] ? s->sizes[i] : (int64_t)floor((double)n * (double)s->numbers[i]);
    if (n >= MOST_PIXELS || out->d[2 + i] >= MOST_PIXELS) return "the image is too large";
    if (n <= 0 || out->d[2 + i] <= 0) return "an image without pixels is resized";
    /* The library knows sizes alone, and takes their quotient for the scale. */
    if (!s->sizes[i] && (double)out->d[2 + i] != (double)n * (double)s->numbers[i])
      return "the scale gives no whole number";
  }
  return NULL;
}
static enum xnn_status resize_create(const xp_step *s, const xp_call *c, xnn_operator_t *op) {
  size_t n = (size_t)c->in_dims[0]->d[1];
  switch (c->in_tensor[0]->type) {
    case OX_I8:
      return xnn_create_resize_bilinear2d_nhwc_s8(n, n, n, s->flags, op);
    case OX_U8:
      return xnn_create_resize_bilinear2d_nhwc_u8(n, n, n, s->flags, op);
    default:
      return xnn_create_resize_bilinear2d_nhwc_f32(n, n, n, s->flags, op);
  }
}
static enum xnn_status resize_setup(const xp_step *s, const xp_call *c, xnn_operator_t op) {
  size_t h = (size_t)c->out_dims->d[2], w = (size_t)c->out_dims->d[3];
  (void)s;
  switch (c->in_tensor[0]->type) {
    case OX_I8:
      return xnn_setup_resize_bilinear2d_nhwc_s8(op, IMAGE(c), h, w, DATA(c));
    case OX_U8:
      return xnn_setup_resize_bilinear2d_nhwc_u8(op, IMAGE(c), h, w, DATA(c));
    default:
      return xnn_setup_resize_bilinear2d_nhwc_f32(op, IMAGE(c), h, w, DATA(c));
  }
}

const xp_kind xp_kind_max_pool = {pool_shape, max_pool_create, max_pool_setup, NULL, NULL};
const xp_kind xp_kind_average_pool = {pool_shape, average_pool_create, average_pool_setup, NULL, NULL};
const xp_kind xp_kind_global_average_pool = {global_shape, global_create, global_setup, NULL, NULL};
const xp_kind xp_kind_resize = {resize_shape, resize_create, resize_setup, NULL, NULL};

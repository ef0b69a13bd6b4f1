/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/api2022/window_2022.c - see xp_library.h: pools and Resize. Setup gets the sizes. */
#include "../xp_library.h"

#define PADS(w) (w)->top, (w)->right, (w)->bottom, (w)->left
#define SIZE_AND_STRIDE(w) (w)->size[0], (w)->size[1], (w)->stride[0], (w)->stride[1]
#define DILATION(w) (w)->dilation[0], (w)->dilation[1]
#define IMAGE(c) (size_t)(c)->in_dims[0]->d[0], (size_t)(c)->in_dims[0]->d[2], (size_t)(c)->in_dims[0]->d[3]
#define DATA(c) (c)->in[0], (c)->out, (c)->ep->given

static enum xnn_status max_pool_create(const xp_step *s, const xp_call *c, xnn_operator_t *op) {
  const xp_window fitted = xp_pool_window(s, c->in_dims[0]), *w = &fitted;
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
  const xp_window fitted = xp_pool_window(s, c->in_dims[0]), *w = &fitted;
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

const xp_calls xp_lib_max_pool = {max_pool_create, NULL, max_pool_setup};
const bool xp_lib_averages_few_rows = true;
const xp_calls xp_lib_average_pool = {average_pool_create, NULL, average_pool_setup};
const xp_calls xp_lib_global_average_pool = {global_create, NULL, global_setup};
const xp_calls xp_lib_resize = {resize_create, NULL, resize_setup};

/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/api2024/window_2024.c - see xp_library.h: pools and Resize. */
#include <math.h>

#include "variants.h"

#define PADS(w) (w)->top, (w)->right, (w)->bottom, (w)->left
#define SIZE_AND_STRIDE(w) (w)->size[0], (w)->size[1], (w)->stride[0], (w)->stride[1]
#define DILATION(w) (w)->dilation[0], (w)->dilation[1]
#define IMAGE(c) (size_t)(c)->in_dims[0]->d[0], (size_t)(c)->in_dims[0]->d[2], (size_t)(c)->in_dims[0]->d[3]
#define CHANNELS(c) channels(c), channels(c), channels(c)

static size_t channels(const xp_call *c) { return (size_t)c->in_dims[0]->d[1]; }

/* ---- MaxPool ---- */

static enum xnn_status max_pool_create(const xp_step *s, const xp_call *c, xnn_operator_t *op) {
  const xp_window fitted = xp_pool_window(s, c->in_dims[0]), *w = &fitted;
  switch (c->in_tensor[0]->type) {
    case OX_I8:
      return xnn_create_max_pooling2d_nhwc_s8(PADS(w), SIZE_AND_STRIDE(w), DILATION(w), (int8_t)s->q_lo,
                                              (int8_t)s->q_hi, s->flags, op);
    case OX_U8:
      return xnn_create_max_pooling2d_nhwc_u8(PADS(w), SIZE_AND_STRIDE(w), DILATION(w), (uint8_t)s->q_lo,
                                              (uint8_t)s->q_hi, s->flags, op);
    default:
      return xnn_create_max_pooling2d_nhwc_f32(PADS(w), SIZE_AND_STRIDE(w), DILATION(w), s->lo, s->hi, s->flags, op);
  }
}
static enum xnn_status max_pool_reshape(const xp_step *s, const xp_call *c, xnn_operator_t op, size_t *out_room) {
  size_t rows, columns;
  (void)s, (void)out_room;
  switch (c->in_tensor[0]->type) {
    case OX_I8:
      return xnn_reshape_max_pooling2d_nhwc_s8(op, IMAGE(c), CHANNELS(c), &rows, &columns, c->ep->given);
    case OX_U8:
      return xnn_reshape_max_pooling2d_nhwc_u8(op, IMAGE(c), CHANNELS(c), &rows, &columns, c->ep->given);
    default:
      return xnn_reshape_max_pooling2d_nhwc_f32(op, IMAGE(c), CHANNELS(c), &rows, &columns, c->ep->given);
  }
}
static enum xnn_status max_pool_setup(const xp_step *s, const xp_call *c, xnn_operator_t op) {
  (void)s;
  switch (c->in_tensor[0]->type) {
    case OX_I8:
      return xnn_setup_max_pooling2d_nhwc_s8(op, c->in[0], c->out);
    case OX_U8:
      return xnn_setup_max_pooling2d_nhwc_u8(op, c->in[0], c->out);
    default:
      return xnn_setup_max_pooling2d_nhwc_f32(op, c->in[0], c->out);
  }
}

/* ---- means ---- */

static enum xnn_status average_pool_create(const xp_step *s, const xp_call *c, xnn_operator_t *op) {
  const xp_window fitted = xp_pool_window(s, c->in_dims[0]), *w = &fitted;
  if (c->in_tensor[0]->type == OX_F32)
    return xnn_create_average_pooling2d_nhwc_f32(PADS(w), SIZE_AND_STRIDE(w), s->lo, s->hi, s->flags, op);
#ifdef XP_AVERAGE_ROOM
  return xnn_create_average_pooling2d_nhwc_qu8(PADS(w), SIZE_AND_STRIDE(w), (uint8_t)s->q_in[0].zero, s->q_in[0].scale,
                                               (uint8_t)s->q_out.zero, s->q_out.scale, (uint8_t)s->q_lo,
                                               (uint8_t)s->q_hi, s->flags, op);
#else
  return xnn_status_unsupported_parameter;
#endif
}
static enum xnn_status average_pool_reshape(const xp_step *s, const xp_call *c, xnn_operator_t op, size_t *out_room) {
  size_t rows, columns;
  (void)s, (void)out_room;
#ifdef XP_AVERAGE_ROOM
  if (c->in_tensor[0]->type == OX_U8)
    return xnn_reshape_average_pooling2d_nhwc_qu8(op, IMAGE(c), CHANNELS(c), ROOM(out_room), &rows, &columns,
                                                  c->ep->given);
#endif
  return xnn_reshape_average_pooling2d_nhwc_f32(op, IMAGE(c), CHANNELS(c), AVERAGE_ROOM(out_room) & rows, &columns,
                                                c->ep->given);
}
static enum xnn_status average_pool_setup(const xp_step *s, const xp_call *c, xnn_operator_t op) {
  (void)s;
#ifdef XP_AVERAGE_ROOM
  if (c->in_tensor[0]->type == OX_U8) return xnn_setup_average_pooling2d_nhwc_qu8(op, c->room, c->in[0], c->out);
#endif
  return xnn_setup_average_pooling2d_nhwc_f32(op, AVERAGE_AT(c->room) c->in[0], c->out);
}

static enum xnn_status global_create(const xp_step *s, const xp_call *c, xnn_operator_t *op) {
  const struct xnn_quantization_params x = {s->q_in[0].zero, s->q_in[0].scale}, y = {s->q_out.zero, s->q_out.scale};
  bool bytes = c->in_tensor[0]->type != OX_F32;
  if (bytes && (s->q_lo != INT8_MIN || s->q_hi != INT8_MAX)) return xnn_status_unsupported_parameter;
  return xnn_create_reduce_nd(xnn_reduce_mean, bytes ? xnn_datatype_qint8 : xnn_datatype_fp32, &x, &y, 0, op);
}
static enum xnn_status global_reshape(const xp_step *s, const xp_call *c, xnn_operator_t op, size_t *out_room) {
  const xp_dims *x = c->in_dims[0];
  const size_t sizes[] = {(size_t)x->d[0], xp_rows(x) * xp_columns(x), channels(c)};
  const int64_t axis = 1;
  (void)s;
  return xnn_reshape_reduce_nd(op, 1, &axis, 3, sizes, ROOM(out_room), c->ep->given);
}
/* Sums of floats go straight to the output: the library takes a workspace as a sign that they have to be converted. */
static enum xnn_status global_setup(const xp_step *s, const xp_call *c, xnn_operator_t op) {
  (void)s;
  return xnn_setup_reduce_nd(op, c->in_tensor[0]->type == OX_F32 ? NULL : c->room, c->in[0], c->out);
}

/* ---- Resize ---- */

#ifdef XP_RESIZE_TYPES
#define BY_TYPE(call, ...)            \
  switch (c->in_tensor[0]->type) {    \
    case OX_I8:                       \
      return call##_s8(__VA_ARGS__);  \
    case OX_U8:                       \
      return call##_u8(__VA_ARGS__);  \
    default:                          \
      return call##_f32(__VA_ARGS__); \
  }
#define TYPE
#else
#define BY_TYPE(call, ...) return call(__VA_ARGS__);
#define TYPE                                             \
  c->in_tensor[0]->type == OX_F32  ? xnn_datatype_fp32   \
  : c->in_tensor[0]->type == OX_U8 ? xnn_datatype_quint8 \
                                   : xnn_datatype_qint8,
#endif

static enum xnn_status resize_create(const xp_step *s, const xp_call *c, xnn_operator_t *op) {
  BY_TYPE(xnn_create_resize_bilinear2d_nhwc, TYPE(size_t) c->out_dims->d[2], (size_t)c->out_dims->d[3], s->flags, op)
}
static enum xnn_status resize_reshape(const xp_step *s, const xp_call *c, xnn_operator_t op, size_t *out_room) {
  (void)s;
  BY_TYPE(xnn_reshape_resize_bilinear2d_nhwc, op, IMAGE(c), CHANNELS(c), ROOM(out_room), c->ep->given)
}
static enum xnn_status resize_setup(const xp_step *s, const xp_call *c, xnn_operator_t op) {
  (void)s;
  BY_TYPE(xnn_setup_resize_bilinear2d_nhwc, op, c->room, c->in[0], c->out)
}

const xp_calls xp_lib_max_pool = {max_pool_create, max_pool_reshape, max_pool_setup};
/* The library keeps separate indirection pointers for rows at the top and at the bottom. If one row is both, they
 * overlap, and it uses the pointers of the next row. */
const bool xp_lib_averages_few_rows = false;
const xp_calls xp_lib_average_pool = {average_pool_create, average_pool_reshape, average_pool_setup};
const xp_calls xp_lib_global_average_pool = {global_create, global_reshape, global_setup};
const xp_calls xp_lib_resize = {resize_create, resize_reshape, resize_setup};

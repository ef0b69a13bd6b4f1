/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/xp_kinds_weights.c - Conv, ConvTranspose, and products with a constant matrix. */
#include <string.h>

#include "xp_library.h"

/* The output size in dimension |i| (0: rows) for input size |n|. Negative: the window does not fit. */
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

/* A may have any rank; as a vector it is a row. A vector B is a column, and the output lacks that dimension. */
static const char *linear_shape(const xp_step *s, const xp_dims *const *in, xp_dims *out) {
  const xp_dims *a = in[0];
  if (a->d[a->rank - 1] != s->channels_in) return "the inner dimensions of the product differ";
  *out = *a;
  out->d[a->rank - 1] = s->channels_out;
  if (s->drop_columns) out->rank--;
  return NULL;
}

/* A batch of matrix products; the leading dimensions are broadcast. */
static const char *product_shape(const xp_step *s, const xp_dims *const *in, xp_dims *out) {
  const xp_dims *a = in[0], *b = in[1];
  xp_dims batch_a = *a, batch_b = *b;
  batch_a.rank -= 2, batch_b.rank -= 2;
  if (a->d[a->rank - 1] != b->d[b->rank - (s->flags ? 1 : 2)]) return "the inner dimensions of the product differ";
  if (!xp_broadcast(&batch_a, &batch_b, out)) return "the shapes do not broadcast";
  out->d[out->rank++] = a->d[a->rank - 2], out->d[out->rank++] = xp_product_columns(s, b);
  return NULL;
}

/* With an empty inner dimension each element is an empty sum. */
static void product_empty(const xp_step *s, const xp_call *c) {
  (void)s;
  memset(c->out, 0, xp_elements(c->out_dims) * sizeof(float));
}

const xp_kind xp_kind_product = {.shape = product_shape, .lib = &xp_lib_product, .run_empty = product_empty};
const xp_kind xp_kind_conv = {.shape = conv_shape, .lib = &xp_lib_conv};
const xp_kind xp_kind_pointwise = {.shape = conv_shape, .lib = &xp_lib_linear};
const xp_kind xp_kind_deconv = {.shape = deconv_shape, .lib = &xp_lib_deconv};
const xp_kind xp_kind_linear = {.shape = linear_shape, .lib = &xp_lib_linear};

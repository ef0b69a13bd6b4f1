/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/xp_kinds_window.c - pools and Resize. Images are channels last. */
#include <math.h>

#include "xp_library.h"

enum { MOST_PIXELS = 1 << 24 }; /* the library's arithmetic on sizes is exact up to here */

/* By how much the padded input, |n| without pads, is shorter than the window in dimension |i|; negative: longer. */
static int64_t pool_lack(const xp_window *w, int i, int64_t n) {
  int64_t pads = i ? (int64_t)w->left + w->right : (int64_t)w->top + w->bottom;
  return (int64_t)w->dilation[i] * (w->size[i] - 1) + 1 - n - pads;
}

/* The quotient is rounded towards zero, so an input that is too short by less than a stride still has one window. */
static const char *pool_shape(const xp_step *s, const xp_dims *const *in, xp_dims *out) {
  const xp_window *w = &s->window;
  *out = *in[0];
  for (int i = 0; i < 2; i++) {
    int64_t n = in[0]->d[2 + i], stride = w->stride[i], lack = pool_lack(w, i, n);
    if (n <= 0 || (!w->same && lack >= 2 * stride)) return "the input is smaller than the window";
    if (!w->same && lack > 0 && lack < stride && (w->dilation[0] != 1 || w->dilation[1] != 1 || s->q_in[0].scale != 0))
      return "the input is smaller than the window, for which the library has no pads of bytes or with dilations";
    out->d[2 + i] = w->same ? (n + stride - 1) / stride : -lack / stride + 1;
  }
  return NULL;
}

xp_window xp_pool_window(const xp_step *s, const xp_dims *x) {
  xp_window w = s->window;
  for (int i = 0; i < 2 && !w.same; i++) {
    int64_t lack = pool_lack(&w, i, x->d[2 + i]);
    if (lack > 0) *(i ? &w.right : &w.bottom) += (uint32_t)lack;
  }
  return w;
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

/* sizes: output rows and columns, or 0 where |numbers| has scales instead. */
static const char *resize_shape(const xp_step *s, const xp_dims *const *in, xp_dims *out) {
  *out = *in[0];
  for (int i = 0; i < 2; i++) {
    int64_t n = in[0]->d[2 + i];
    out->d[2 + i] = s->sizes[i] ? s->sizes[i] : (int64_t)floor((double)n * (double)s->numbers[i]);
    if (n >= MOST_PIXELS || out->d[2 + i] >= MOST_PIXELS) return "the image is too large";
    if (n <= 0 || out->d[2 + i] <= 0) return "an image without pixels is resized";
    /* The library is given sizes and takes their quotient as the scale. */
    if (!s->sizes[i] && (double)out->d[2 + i] != (double)n * (double)s->numbers[i])
      return "the scale gives no whole number";
  }
  return NULL;
}

const xp_kind xp_kind_max_pool = {.shape = pool_shape, .lib = &xp_lib_max_pool};
const xp_kind xp_kind_average_pool = {.shape = pool_shape, .lib = &xp_lib_average_pool};
const xp_kind xp_kind_global_average_pool = {.shape = global_shape, .lib = &xp_lib_global_average_pool};
const xp_kind xp_kind_resize = {.shape = resize_shape, .lib = &xp_lib_resize};

/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/xp_kinds_element.c - element-wise steps, steps along rows (PRelu, Softmax), and Pad. */
#include <math.h>

#include "xp_library.h"
#include "xp_matrix.h"

static const char *same_shape(const xp_step *s, const xp_dims *const *in, xp_dims *out) {
  (void)s;
  *out = *in[0];
  return NULL;
}

/* ---- one input ---- */

/* Tanh of floats, which the library of 2022 lacks: needed where a part ends between a Tanh and its QuantizeLinear. */
static ox_status *tanh_range(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  const xp_call *c = ctx;
  const float *x = c->in[0];
  float *y = c->out;
  (void)worker;
  for (int64_t i = begin; i < end; i++) y[i] = tanhf(x[i]);
  return NULL;
}
static void tanh_run(const xp_step *s, const xp_call *c) {
  size_t n = xp_elements(c->in_dims[0]);
  (void)s;
  xp_loop(c->ep, n, n * sizeof(float), tanh_range, (void *)(uintptr_t)c);
}

/* ---- along the last dimension of memory ---- */

size_t xp_row(const xp_call *c) {
  const xp_dims *d = c->in_dims[0];
  return (size_t)(c->in_tensor[0]->last ? d->d[1] : d->d[d->rank - 1]);
}

static const char *prelu_shape(const xp_step *s, const xp_dims *const *in, xp_dims *out) {
  *out = *in[0];
  return in[0]->d[1] == s->channels_in ? NULL : "there are not as many slopes as channels";
}

size_t xp_softmax_row(const xp_step *s, const xp_call *c) {
  const xp_dims p = xp_physical(c->in_dims[0], c->in_tensor[0]->last);
  size_t n = 1;
  for (int d = s->axis; d < p.rank; d++) n *= (size_t)p.d[d];
  return n;
}

/* ---- two inputs ---- */

bool xp_broadcast(const xp_dims *a, const xp_dims *b, xp_dims *out) {
  out->rank = a->rank > b->rank ? a->rank : b->rank;
  for (int i = 0; i < out->rank; i++) {
    int ia = i - (out->rank - a->rank), ib = i - (out->rank - b->rank);
    int64_t na = ia < 0 ? 1 : a->d[ia], nb = ib < 0 ? 1 : b->d[ib];
    if (na != nb && na != 1 && nb != 1) return false;
    out->d[i] = na == 1 ? nb : na;
  }
  return true;
}

static const char *binary_shape(const xp_step *s, const xp_dims *const *in, xp_dims *out) {
  (void)s;
  return xp_broadcast(in[0], in[1], out) ? NULL : "the shapes do not broadcast";
}

void xp_sizes(const xp_call *c, int i, size_t out[XP_MOST_RANK]) {
  const xp_dims p = xp_physical(c->in_dims[i], c->in_tensor[i]->last);
  for (int d = 0; d < p.rank; d++) out[d] = (size_t)p.d[d];
}

/* ---- Pad ---- */

/* sizes: the pads before each ONNX axis, then from XP_MOST_AXES on those after. */
static const char *pad_shape(const xp_step *s, const xp_dims *const *in, xp_dims *out) {
  *out = *in[0];
  for (int d = 0; d < out->rank; d++)
    if (__builtin_add_overflow(out->d[d], s->sizes[d] + s->sizes[XP_MOST_AXES + d], &out->d[d])) return "too large";
  return NULL;
}

static void pad_nothing(const xp_step *s, const xp_call *c) {
  float *y = c->out;
  for (size_t i = 0, n = xp_elements(c->out_dims); i < n; i++) y[i] = s->number;
}

const xp_kind xp_kind_unary = {.shape = same_shape, .lib = &xp_lib_unary, .in_place = true};
const xp_kind xp_kind_tanh = {.shape = same_shape, .run = tanh_run};
const xp_kind xp_kind_convert = {.shape = same_shape, .lib = &xp_lib_convert};
const xp_kind xp_kind_half = {.shape = same_shape, .lib = &xp_lib_half};
const xp_kind xp_kind_prelu = {.shape = prelu_shape, .lib = &xp_lib_prelu};
const xp_kind xp_kind_softmax = {.shape = same_shape, .lib = &xp_lib_softmax};
const xp_kind xp_kind_binary = {.shape = binary_shape, .lib = &xp_lib_binary, .in_place = true};
const xp_kind xp_kind_pad = {.shape = pad_shape, .lib = &xp_lib_pad, .run_empty = pad_nothing};

/* SPDX-License-Identifier: Apache-2.0
 * ops/shared/conv_node.c - attributes, shapes and geometry of Conv and its relatives. */
#include "ops/shared/conv_node.h"

/* The window of a convolution; false: the kernel's extents are not known. */
static ox_status *spatial_of(const ox_conv_attrs *a, int axes, const ox_shape *w, ox_spatial_attrs *out, bool *known) {
  int64_t room[OX_SPATIAL_AXES];
  ox_ints kernel;
  OX_TRY(ox_spatial_kernel(a->kernel_shape, w, axes, room, &kernel));
  *known = kernel.n != 0;
  return ox_spatial_attrs_read(out, axes, kernel, a->strides, a->dilations, a->pads, a->auto_pad);
}

ox_status *ox_conv_infer_shape(const ox_conv_attrs *a, const ox_shape *x, const ox_shape *w, ox_shape *out) {
  int rank;
  *out = ox_shape_unknown();
  OX_TRY(ox_spatial_rank(x, w, &rank));
  if (rank < 0) return NULL;
  int64_t channels = x->rank >= 0 ? x->dim[1] : -1, per = w->rank >= 0 ? w->dim[1] : -1;
  int64_t m = w->rank >= 0 ? w->dim[0] : -1;
  if (channels >= 0 && per >= 0 && (channels % a->group || channels / a->group != per))
    return ox_fail(OX_SHAPE_MISMATCH, "X has %lld channels, W takes %lld in each of %lld groups", (long long)channels,
                   (long long)per, (long long)a->group);
  if (m >= 0 && m % a->group)
    return ox_fail(OX_SHAPE_MISMATCH, "%lld outputs do not divide into %lld groups", (long long)m, (long long)a->group);
  ox_spatial_attrs win;
  bool known;
  OX_TRY(spatial_of(a, rank - 2, w, &win, &known));
  out->rank = rank;
  out->dim[0] = x->rank >= 0 ? x->dim[0] : -1, out->dim[1] = m;
  for (int i = 0; i < rank - 2; i++) {
    int64_t lo, hi;
    OX_TRY(ox_spatial_output(&win, i, known && x->rank >= 0 ? x->dim[i + 2] : -1, &out->dim[i + 2], &lo, &hi));
  }
  return NULL;
}

void ox_conv_refine_shape(const ox_conv_attrs *a, const ox_known_ctx *c, const ox_shape *x, const ox_shape *w,
                          ox_shape *out) {
  ox_spatial_attrs s;
  bool known;
  if (out->rank < 3 || x->rank != out->rank || !c->model) return;
  ox_status *st = spatial_of(a, out->rank - 2, w, &s, &known);
  for (int i = 0; !st && known && i < s.axes; i++) {
    bool padded = s.auto_pad == OX_PAD_SAME_UPPER || s.auto_pad == OX_PAD_SAME_LOWER;
    int64_t pads = s.auto_pad == OX_PAD_NOTSET ? s.pad_lo[i] + s.pad_hi[i] : 0;
    int64_t add = padded ? -1 : pads - (s.kernel[i] - 1) * s.dilation[i] - 1;
    if (out->dim[i + 2] == -1 && x->dim[i + 2] < -1)
      out->dim[i + 2] = ox_known_steps(c, x->dim[i + 2], add, s.stride[i]);
  }
  ox_status_free(st); /* inference has reported it */
}

enum { MOST_TAPS = 1 << 24 }; /* of one axis */

ox_status *ox_conv_geom_fill(const ox_conv_attrs *a, const ox_shape *x, const ox_shape *w, const ox_shape *y,
                             void *(*alloc)(void *host, size_t bytes), void *host, ox_conv_geom *out) {
  int axes = x->rank - 2;
  if (axes > OX_CONV_AXES) return ox_fail(OX_NOT_IMPLEMENTED, "convolution over %d axes, at most 3", axes);
  ox_spatial_attrs win;
  bool known;
  OX_TRY(spatial_of(a, axes, w, &win, &known));
  *out = (ox_conv_geom){.batch = x->dim[0], .groups = a->group, .ic = w->dim[1], .oc = w->dim[0] / a->group};
  for (int i = 0; i < OX_CONV_AXES; i++) {
    int s = i - (OX_CONV_AXES - axes); /* spatial axis of the node */
    int64_t n = s < 0 ? 1 : win.kernel[s], lo = 0, hi = 0, o = 1;
    if (n > MOST_TAPS) return ox_fail(OX_LIMIT, "a kernel of %lld along axis %d", (long long)n, s);
    if (s >= 0) OX_TRY(ox_spatial_output(&win, s, x->dim[s + 2], &o, &lo, &hi));
    int64_t *taps = alloc(host, (size_t)n * sizeof *taps);
    if (!taps) return ox_oom();
    for (int64_t t = 0; t < n; t++) taps[t] = t * (s < 0 ? 1 : win.dilation[s]) - lo;
    out->in[i] = s < 0 ? 1 : x->dim[s + 2], out->out[i] = s < 0 ? 1 : y->dim[s + 2];
    out->stride[i] = s < 0 ? 1 : win.stride[s], out->n_taps[i] = n, out->tap[i] = taps;
  }
  return NULL;
}

static void *prep_memory(void *c, size_t bytes) { return ox_ctx_alloc(c, bytes); }

ox_status *ox_conv_geom_make(ox_kernel_ctx *c, const ox_conv_attrs *a, const ox_shape *x, const ox_shape *w,
                             const ox_shape *y, ox_conv_geom *out) {
  return ox_conv_geom_fill(a, x, w, y, prep_memory, c, out);
}

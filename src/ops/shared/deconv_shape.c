/* SPDX-License-Identifier: Apache-2.0
 * ops/shared/deconv_shape.c - see deconv_shape.h. */
#include "ops/shared/deconv_shape.h"

#include "base/cksize.h"

ox_status *ox_deconv_window(const ox_deconv_attrs *a, int axes, const ox_shape *w, ox_spatial_attrs *win,
                            int64_t *extra, bool *known) {
  int64_t room[OX_SPATIAL_AXES];
  ox_ints kernel;
  OX_TRY(ox_spatial_kernel(a->kernel_shape, w, axes, room, &kernel));
  *known = kernel.n != 0;
  OX_TRY(ox_spatial_attrs_read(win, axes, kernel, a->strides, a->dilations, a->pads, a->auto_pad));
  if (a->output_padding.n && a->output_padding.n != (size_t)axes)
    return ox_fail(OX_INVALID_MODEL, "output_padding has %zu values, wanted %d", a->output_padding.n, axes);
  if (a->output_shape.n && a->output_shape.n != (size_t)axes && a->output_shape.n != (size_t)axes + 2)
    return ox_fail(OX_INVALID_MODEL, "output_shape has %zu values, wanted %d", a->output_shape.n, axes);
  for (int i = 0; i < axes; i++) extra[i] = a->output_padding.n ? a->output_padding.v[i] : 0;
  return NULL;
}

ox_status *ox_deconv_output(const ox_deconv_attrs *a, const ox_spatial_attrs *w, int i, int64_t in, int64_t extra,
                            int64_t *out, int64_t *lo) {
  int64_t span = (w->kernel[i] - 1) * w->dilation[i] + 1, full;
  *out = -1, *lo = w->pad_lo[i];
  bool same = w->auto_pad == OX_PAD_SAME_UPPER || w->auto_pad == OX_PAD_SAME_LOWER;
  if (w->auto_pad == OX_PAD_VALID) *lo = 0;
  if (a->output_shape.n) *out = a->output_shape.v[a->output_shape.n - (size_t)w->axes + (size_t)i];
  if (in < 0) return NULL;
  if (in > INT32_MAX) return ox_fail(OX_LIMIT, "spatial axis %d of %lld is too long", i, (long long)in);
  if (!ox_mul_i64_ok(in - 1, w->stride[i], &full)) return ox_fail(OX_LIMIT, "spatial axis %d: too long", i);
  full = in == 0 ? 0 : full + extra + span;
  if (!a->output_shape.n && !same) {
    *out = full - *lo - (w->auto_pad == OX_PAD_VALID ? 0 : w->pad_hi[i]);
    if (*out < 0) return ox_fail(OX_SHAPE_MISMATCH, "spatial axis %d: padding leaves %lld", i, (long long)*out);
    return NULL;
  }
  if (!a->output_shape.n) *out = in * w->stride[i];
  int64_t total = OX_MAX(full - *out, 0);
  *lo = w->auto_pad == OX_PAD_SAME_UPPER ? total / 2 : total - total / 2;
  return NULL;
}

ox_status *ox_deconv_infer_shape(const ox_deconv_attrs *a, const ox_shape *x, const ox_shape *w, ox_shape *out) {
  int rank;
  *out = ox_shape_unknown();
  OX_TRY(ox_spatial_rank(x, w, &rank));
  if (rank < 0) return NULL;
  int64_t ch = x->rank >= 0 ? x->dim[1] : -1, wc = w->rank >= 0 ? w->dim[0] : -1;
  if (ch >= 0 && wc >= 0 && (ch != wc || ch % a->group))
    return ox_fail(OX_SHAPE_MISMATCH, "X has %lld channels, W takes %lld in %lld groups", (long long)ch, (long long)wc,
                   (long long)a->group);
  ox_spatial_attrs win;
  int64_t extra[OX_SPATIAL_AXES], lo;
  bool known;
  OX_TRY(ox_deconv_window(a, rank - 2, w, &win, extra, &known));
  out->rank = rank, out->dim[0] = x->rank >= 0 ? x->dim[0] : -1;
  out->dim[1] = w->rank >= 0 ? ox_dim_mul(w->dim[1], a->group) : -1;
  for (int i = 0; i < rank - 2; i++)
    OX_TRY(ox_deconv_output(a, &win, i, known && x->rank >= 0 ? x->dim[i + 2] : -1, extra[i], &out->dim[i + 2], &lo));
  return NULL;
}

static ox_status *window_of(const ox_deconv_attrs *a, const ox_shape *w, ox_spatial_attrs *win, int64_t *extra) {
  bool known;
  if (w->rank - 2 > OX_CONV_AXES)
    return ox_fail(OX_NOT_IMPLEMENTED, "ConvTranspose over %d axes, at most 3", w->rank - 2);
  return ox_deconv_window(a, w->rank - 2, w, win, extra, &known);
}

ox_status *ox_deconv_axes(const ox_deconv_attrs *a, const ox_shape *w, ox_deconv_axis *axis) {
  ox_spatial_attrs win;
  int64_t extra[OX_SPATIAL_AXES];
  OX_TRY(window_of(a, w, &win, extra));
  for (int i = 0; i < OX_CONV_AXES; i++) {
    int s = i - (OX_CONV_AXES - win.axes);
    if (s >= 0 && win.kernel[s] > 1 << 24)
      return ox_fail(OX_LIMIT, "a kernel of %lld along axis %d", (long long)win.kernel[s], s);
    axis[i] =
        (ox_deconv_axis){1, 1, s < 0 ? 1 : win.kernel[s], s < 0 ? 1 : win.stride[s], s < 0 ? 1 : win.dilation[s], 0};
  }
  return NULL;
}

ox_status *ox_deconv_axes_make(const ox_deconv_attrs *a, const ox_shape *x, const ox_shape *w, const ox_shape *y,
                               ox_deconv_axis *axis) {
  ox_spatial_attrs win;
  int64_t extra[OX_SPATIAL_AXES];
  OX_TRY(ox_deconv_axes(a, w, axis));
  OX_TRY(window_of(a, w, &win, extra));
  for (int s = 0; s < win.axes; s++) {
    ox_deconv_axis *ax = &axis[s + OX_CONV_AXES - win.axes];
    int64_t out;
    OX_TRY(ox_deconv_output(a, &win, s, x->dim[s + 2], extra[s], &out, &ax->lo));
    ax->in = x->dim[s + 2], ax->out = y->dim[s + 2];
  }
  return NULL;
}

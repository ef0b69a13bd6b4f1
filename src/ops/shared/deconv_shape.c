/* SPDX-License-Identifier: Apache-2.0
 * ops/shared/deconv_shape.c - see deconv_shape.h. */
#include "ops/shared/deconv_shape.h"

#include "base/cksize.h"

ox_status *ox_deconv_window(const ox_deconv_attrs *a, int axes, const ox_shape *w, ox_spatial_attrs *win,
                            int64_t *extra, bool *known) {
  int64_t kernel[OX_SPATIAL_AXES];
  *known = a->kernel_shape.n != 0 || w->rank >= 0;
  for (int i = 0; i < axes && w->rank >= 0; i++) {
    kernel[i] = w->dim[i + 2];
    if (kernel[i] < 0) *known = a->kernel_shape.n != 0;
    if (kernel[i] >= 0 && a->kernel_shape.n == (size_t)axes && a->kernel_shape.v[i] != kernel[i])
      return ox_fail(OX_INVALID_MODEL, "kernel_shape[%d] is %lld, W has %lld", i, (long long)a->kernel_shape.v[i],
                     (long long)kernel[i]);
  }
  ox_ints k = a->kernel_shape;
  if (!k.n && *known) k = (ox_ints){(size_t)axes, kernel};
  OX_TRY(ox_spatial_attrs_read(win, axes, k, a->strides, a->dilations, a->pads, a->auto_pad));
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

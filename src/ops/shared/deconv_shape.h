/* SPDX-License-Identifier: Apache-2.0
 * ops/shared/deconv_shape.h - attributes of transposed convolutions, and the output's extent. */
#ifndef OX_OPS_SHARED_DECONV_SHAPE_H
#define OX_OPS_SHARED_DECONV_SHAPE_H

#include "graph/op_def.h"
#include "kern/conv/transpose.h"
#include "ops/shared/spatial_attrs.h"

typedef struct ox_deconv_attrs {
  const char *auto_pad;
  ox_ints dilations, kernel_shape, pads, strides, output_padding, output_shape;
  int64_t group;
} ox_deconv_attrs;

/* The window and output padding; |*known|: the kernel's extents are known. */
OX_NODISCARD ox_status *ox_deconv_window(const ox_deconv_attrs *a, int axes, const ox_shape *w, ox_spatial_attrs *win,
                                         int64_t *extra, bool *known);
/* Extent of the output along one axis and the padding cut from its start; -1 if not known. */
OX_NODISCARD ox_status *ox_deconv_output(const ox_deconv_attrs *a, const ox_spatial_attrs *w, int i, int64_t in,
                                         int64_t extra, int64_t *out, int64_t *lo);
/* Shape of Y for X [N, C, d...] and W [C, M / group, k...], any part of which may be unknown. */
OX_NODISCARD ox_status *ox_deconv_infer_shape(const ox_deconv_attrs *a, const ox_shape *x, const ox_shape *w,
                                              ox_shape *out);
/* Stride, dilation and kernel of up to three axes: all that packing needs. */
OX_NODISCARD ox_status *ox_deconv_axes(const ox_deconv_attrs *a, const ox_shape *w, ox_deconv_axis *axis);
/* The axes for known shapes. */
OX_NODISCARD ox_status *ox_deconv_axes_make(const ox_deconv_attrs *a, const ox_shape *x, const ox_shape *w,
                                            const ox_shape *y, ox_deconv_axis *axis);

#endif

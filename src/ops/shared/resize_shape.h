/* SPDX-License-Identifier: Apache-2.0
 * ops/shared/resize_shape.h - converts attributes and inputs of Resize and Upsample to one description per axis. */
#ifndef OX_OPS_SHARED_RESIZE_SHAPE_H
#define OX_OPS_SHARED_RESIZE_SHAPE_H

#include "graph/op_def.h"
#include "kern/resize/resize.h"

typedef struct ox_resize_attrs {
  const char *mode, *coordinate_transformation_mode, *nearest_mode, *keep_aspect_ratio_policy;
  float cubic_coeff_a, extrapolation_value, height_scale, width_scale;
  int64_t exclude_outside, antialias;
  ox_ints axes;
  ox_floats scales;
} ox_resize_attrs;

typedef struct ox_resize_spec {
  bool done;     /* filled */
  bool one_tile; /* all passes in one tile */
  bool antialias;
  ox_resize_mode mode;
  ox_resize_axis axis[OX_MAX_RANK];
} ox_resize_spec;

/* Types that are interpolated in double, as floats cannot represent all their elements. */
static inline bool ox_resize_is_wide(uint32_t dtype) {
  enum { WIDE = OX_BIT(OX_F64) | OX_BIT(OX_C128) | OX_BIT(OX_I64) | OX_BIT(OX_I32) | OX_BIT(OX_U32) | OX_BIT(OX_U64) };
  return (OX_BIT(dtype) & WIDE) != 0;
}

OX_NODISCARD ox_status *ox_resize_infer(ox_infer_ctx *c);
/* Fills |spec| and the output shape from the inputs' content; |*known| is false if scales and sizes have none yet. */
OX_NODISCARD ox_status *ox_resize_spec_ctx(const ox_kernel_ctx *c, ox_resize_spec *spec, ox_shape *y, bool *known);

#endif

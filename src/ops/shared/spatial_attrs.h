/* SPDX-License-Identifier: Apache-2.0
 * ops/shared/spatial_attrs.h - the spatial attributes of Conv, pools and their relatives (kernel_shape, strides,
 * dilations, pads, auto_pad), and the output's extent. */
#ifndef OX_OPS_SHARED_SPATIAL_ATTRS_H
#define OX_OPS_SHARED_SPATIAL_ATTRS_H

#include <stdbool.h>

#include "base/status.h"
#include "onyx/ep.h"
#include "onyx/op.h"

enum { OX_SPATIAL_AXES = OX_MAX_RANK - 2 };

typedef enum ox_auto_pad { OX_PAD_NOTSET, OX_PAD_VALID, OX_PAD_SAME_UPPER, OX_PAD_SAME_LOWER } ox_auto_pad;

typedef struct ox_spatial_attrs {
  int axes;
  ox_auto_pad auto_pad;
  bool ceil;    /* ceil_mode: round the output extent up */
  bool clipped; /* pools: a window that exceeds the padded input may count; see ox_spatial_output */
  int64_t kernel[OX_SPATIAL_AXES], stride[OX_SPATIAL_AXES], dilation[OX_SPATIAL_AXES];
  int64_t pad_lo[OX_SPATIAL_AXES], pad_hi[OX_SPATIAL_AXES]; /* as given; ox_spatial_output resolves auto_pad */
} ox_spatial_attrs;

/* NOTSET, "", SAME_UPPER ...; NULL counts as NOTSET. */
OX_NODISCARD ox_status *ox_auto_pad_read(const char *text, ox_auto_pad *out);
/* Checks and copies; empty lists mean ones (strides, dilations) or zeros (pads). Errors: INVALID_MODEL. */
OX_NODISCARD ox_status *ox_spatial_attrs_read(ox_spatial_attrs *s, int axes, ox_ints kernel, ox_ints strides,
                                              ox_ints dilations, ox_ints pads, const char *auto_pad);
/* The kernel's extents: |given| or, where that is empty, those of W [., ., k...], kept in |room|. Empty: not known.
 * Error: the two contradict each other. */
OX_NODISCARD ox_status *ox_spatial_kernel(ox_ints given, const ox_shape *w, int axes, int64_t room[OX_SPATIAL_AXES],
                                          ox_ints *out);
/* The rank of X [N, C, d...] and W, of which either may be unknown; -1: both are. Errors: too small, not the same. */
OX_NODISCARD ox_status *ox_spatial_rank(const ox_shape *x, const ox_shape *w, int *out);
/* The extent of the output along axis |a| and the effective padding; -1 if |in| < 0. Error: the window is longer than
 * the padded input, unless |clipped|: the quotient of the formula, which the standard leaves open below zero, is then
 * rounded towards zero, as in ONNX Runtime. A window too long by less than a stride gives one element, computed from
 * the input there is; by less than two strides, none. */
OX_NODISCARD ox_status *ox_spatial_output(const ox_spatial_attrs *s, int a, int64_t in, int64_t *out, int64_t *lo,
                                          int64_t *hi);

#endif

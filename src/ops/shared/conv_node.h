/* SPDX-License-Identifier: Apache-2.0
 * ops/shared/conv_node.h - shared by Conv and its relatives: attributes, shapes, geometry. */
#ifndef OX_OPS_SHARED_CONV_NODE_H
#define OX_OPS_SHARED_CONV_NODE_H

#include "graph/known.h"
#include "graph/op_def.h"
#include "kern/conv/conv.h"
#include "ops/shared/spatial_attrs.h"

typedef struct ox_conv_attrs {
  const char *auto_pad;
  ox_ints dilations, kernel_shape, pads, strides;
  int64_t group;
  const char *activation; /* fused relatives only */
  ox_floats activation_params;
} ox_conv_attrs;

#define OX_CONV_ATTR_ROWS(st)                                                                            \
  OX_ATTR_STR(st, auto_pad, NULL), OX_ATTR_INTS_IN(st, dilations, 1, OX_COUNT_MAX),                      \
      OX_ATTR_INT_IN(st, group, 1, 1, OX_COUNT_MAX), OX_ATTR_INTS_IN(st, kernel_shape, 1, OX_COUNT_MAX), \
      OX_ATTR_INTS(st, pads), OX_ATTR_INTS_IN(st, strides, 1, OX_COUNT_MAX)

/* Shape of Y for X [N, C, d...] and W [M, C / group, k...], any part of which may be unknown. */
OX_NODISCARD ox_status *ox_conv_infer_shape(const ox_conv_attrs *a, const ox_shape *x, const ox_shape *w,
                                            ox_shape *out);
/* Dimensions of |out|, Y's shape, that are not known: with strides, symbols made of those of X. */
void ox_conv_refine_shape(const ox_conv_attrs *a, const ox_known_ctx *c, const ox_shape *x, const ox_shape *w,
                          ox_shape *out);
/* The geometry for known shapes with at most three spatial axes. |alloc| allocates memory for the taps, which must live
 * as long as the geometry; it returns NULL if there is none. */
OX_NODISCARD ox_status *ox_conv_geom_fill(const ox_conv_attrs *a, const ox_shape *x, const ox_shape *w,
                                          const ox_shape *y, void *(*alloc)(void *host, size_t bytes), void *host,
                                          ox_conv_geom *out);
/* The same; taps are allocated with the prepared shapes. */
OX_NODISCARD ox_status *ox_conv_geom_make(ox_kernel_ctx *c, const ox_conv_attrs *a, const ox_shape *x,
                                          const ox_shape *w, const ox_shape *y, ox_conv_geom *out);

#endif

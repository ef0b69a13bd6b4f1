/* SPDX-License-Identifier: Apache-2.0
 * ops/shared/pool_node.h - shared by pools of planes and of blocks: attributes, and the geometry in the terms of
 * kern/pool and of kern/conv. */
#ifndef OX_OPS_SHARED_POOL_NODE_H
#define OX_OPS_SHARED_POOL_NODE_H

#include "graph/op_def.h"
#include "kern/conv/conv.h"
#include "kern/pool/pool.h"
#include "ops/shared/spatial_attrs.h"

typedef struct ox_pool_attrs {
  const char *auto_pad;
  ox_ints dilations, kernel_shape, pads, strides;
  int64_t ceil_mode, count_include_pad, storage_order, p;
  float p_float; /* LpPool of version 1 */
} ox_pool_attrs;

#define OX_POOL_ATTR_ROWS                                                                                             \
  OX_ATTR_STR(ox_pool_attrs, auto_pad, NULL), OX_ATTR_INTS_REQUIRED_IN(ox_pool_attrs, kernel_shape, 1, OX_COUNT_MAX), \
      OX_ATTR_INTS(ox_pool_attrs, pads), OX_ATTR_INTS_IN(ox_pool_attrs, strides, 1, OX_COUNT_MAX),                    \
      OX_ATTR_INTS_IN(ox_pool_attrs, dilations, 1, OX_COUNT_MAX), OX_ATTR_INT(ox_pool_attrs, ceil_mode, 0)

/* Shape of Y for X [N, C, d...], any part of which may be unknown. */
OX_NODISCARD ox_status *ox_pool_infer_shape(const ox_pool_attrs *a, const ox_shape *x, ox_shape *out);
/* For known shapes. */
OX_NODISCARD ox_status *ox_pool_make(const ox_pool_attrs *a, ox_pool_kind kind, const ox_shape *x, const ox_shape *y,
                                     ox_pool *out);
/* The same as |planes| correlations, if ox_pool_has_taps. Taps that are over the input for no output are omitted. For
 * AVERAGE, the factors 1 / count as a product over the axes. Memory lives as long as the prepared shapes. */
OX_NODISCARD ox_status *ox_pool_taps(ox_kernel_ctx *c, const ox_pool *p, int64_t planes, ox_conv_geom *g,
                                     float *inverse[OX_CONV_AXES]);
/* Those factors alone; up to OX_CONV_AXES axes. */
OX_NODISCARD ox_status *ox_pool_inverse(ox_kernel_ctx *c, const ox_pool *p, float *inverse[OX_CONV_AXES]);
/* Are there few enough axes, and are the tables of taps short enough? */
bool ox_pool_has_taps(const ox_pool *p);

#endif

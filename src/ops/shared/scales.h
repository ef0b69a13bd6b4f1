/* SPDX-License-Identifier: Apache-2.0
 * ops/shared/scales.h - the granularity of scales: one for all elements, one per index of an axis, or one per block of
 * an axis. Elements are divided into segments within which the scale is constant or advances with each element. */
#ifndef OX_OPS_SHARED_SCALES_H
#define OX_OPS_SHARED_SCALES_H

#include "base/macros.h"
#include "graph/op_def.h"

typedef struct ox_scales {
  int64_t axis, inner, block; /* extent of the axis (1: one scale), elements below it, indices that share a scale */
  int64_t blocks;             /* scales along the axis, for blocked granularity; else 0 */
} ox_scales;

typedef struct ox_segment {
  int64_t n;   /* elements left in the segment */
  int64_t off; /* index of the first element's scale */
  int step;    /* 0 or 1 */
} ox_segment;

/* Checks |scale|'s shape against |x|'s. Only ranks need be known; unknown dimensions pass. */
OX_NODISCARD ox_status *ox_scales_check(const ox_shape *x, const ox_shape *scale, int64_t axis, int64_t block_size);
/* Both shapes must be known and checked. */
void ox_scales_init(ox_scales *s, const ox_shape *x, const ox_shape *scale, int64_t axis, int64_t block_size);

/* The segment that element |at| lies in. */
static inline ox_segment ox_scales_at(const ox_scales *s, int64_t at) {
  if (s->axis == 1 && !s->blocks) return (ox_segment){INT64_MAX, 0, 0};
  int64_t i = at % s->inner, a = at / s->inner % s->axis, o = at / s->inner / s->axis;
  if (!s->blocks) return s->inner == 1 ? (ox_segment){s->axis - a, a, 1} : (ox_segment){s->inner - i, a, 0};
  int64_t row = o * s->blocks + a / s->block;
  if (s->inner > 1) return (ox_segment){s->inner - i, row * s->inner + i, 1};
  return (ox_segment){OX_MIN(s->block - a % s->block, s->axis - a), row, 0};
}

/* The scales and zero points of QuantizeLinear and DequantizeLinear: inputs 1 and 2, the latter optional. */
typedef struct ox_scale_pair {
  ox_scales scales, zeros;
  bool has_zeros;
} ox_scale_pair;

OX_NODISCARD ox_status *ox_scale_pair_check(const ox_infer_ctx *c, int64_t axis, int64_t block_size);
void ox_scale_pair_init(ox_scale_pair *p, const ox_kernel_ctx *c, int64_t axis, int64_t block_size);

/* Zero points lie beside the scales, or there are none. */
static inline bool ox_scale_pair_is_beside(const ox_scale_pair *p) {
  return !p->has_zeros || (p->zeros.axis == p->scales.axis && p->zeros.blocks == p->scales.blocks);
}

/* Within a segment there is one scale and one zero point, both at its |off|. */
static inline bool ox_scale_pair_is_even(const ox_scale_pair *p) {
  return !ox_scales_at(&p->scales, 0).step && ox_scale_pair_is_beside(p);
}

#endif

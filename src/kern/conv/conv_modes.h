/* SPDX-License-Identifier: Apache-2.0
 * kern/conv/conv_modes.h - the modes of convolution (ox_conv_mode), as conv_plan.c calls them: plans and tiles. */
#ifndef OX_KERN_CONV_CONV_MODES_H
#define OX_KERN_CONV_CONV_MODES_H

#include "kern/conv/conv.h"

enum { OX_CONV_TILES = 24 /* aimed at: a tile is then 4 % of the work, by which the last thread may be late */ };

/* How many of the |n| units a tile should have, if a unit takes |unit_ns| and the whole convolution |total_ns|. */
static inline int64_t ox_conv_units_per_tile(double total_ns, double unit_ns, int64_t n) {
  const double ns_min = 8e3, ns_max = 100e3; /* the shortest and the longest tile */
  double target = OX_MIN(OX_MAX(total_ns / OX_CONV_TILES, ns_min), ns_max);
  if (unit_ns * (double)n <= target) return n;
  return OX_MAX((int64_t)(target / unit_ns), 1);
}

/* OX_CONV_DEPTHWISE. False: too large. */
bool ox_conv_planes_plan(ox_conv_plan *p);
void ox_conv_planes_tables(ox_conv_plan *p, void *memory);
void ox_conv_planes_tile(const ox_conv_plan *p, const ox_conv_args *a, int64_t tile, float *scratch);

/* OX_CONV_PIXELS and OX_CONV_FEW; gather: a tile of the first of two stages. */
void ox_conv_pixels_plan(ox_conv_plan *p, const ox_gemm_variant *v);
void ox_conv_pixels_gather(const ox_conv_plan *p, const ox_conv_args *a, int64_t tile);
void ox_conv_pixels_tile(const ox_conv_plan *p, const ox_conv_args *a, int64_t tile, void *scratch);
void ox_conv_few_plan(ox_conv_plan *p, const ox_gemm_variant *v);
void ox_conv_few_gather(const ox_conv_plan *p, const ox_conv_args *a, int64_t tile);
void ox_conv_few_tile(const ox_conv_plan *p, const ox_conv_args *a, int64_t tile);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * kern/conv/conv_modes.h - what a mode of convolution gives to conv_plan.c: its plan and its tiles. */
#ifndef OX_KERN_CONV_CONV_MODES_H
#define OX_KERN_CONV_CONV_MODES_H

#include "kern/conv/conv.h"

enum { OX_CONV_TILES = 24 /* to aim at: two threads then end within 4 % of each other */ };

/* How many of |n| units, each of |unit_ns|, make a tile when all units of a convolution take |total_ns|. */
int64_t ox_conv_units_per_tile(double total_ns, double unit_ns, int64_t n);

/* Depthwise. False: too large. */
bool ox_conv_planes_plan(ox_conv_plan *p);
void ox_conv_planes_tables(ox_conv_plan *p, void *memory);
void ox_conv_planes_tile(const ox_conv_plan *p, const ox_conv_args *a, int64_t tile, float *scratch);

/* Products; gather: a tile of the first of two stages. */
void ox_conv_pixels_plan(ox_conv_plan *p, const ox_gemm_variant *v);
void ox_conv_pixels_gather(const ox_conv_plan *p, const ox_conv_args *a, int64_t tile);
void ox_conv_pixels_tile(const ox_conv_plan *p, const ox_conv_args *a, int64_t tile, void *scratch);
void ox_conv_few_plan(ox_conv_plan *p, const ox_gemm_variant *v);
void ox_conv_few_gather(const ox_conv_plan *p, const ox_conv_args *a, int64_t tile);
void ox_conv_few_tile(const ox_conv_plan *p, const ox_conv_args *a, int64_t tile);

#endif

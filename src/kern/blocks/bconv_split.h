/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/bconv_split.h - the form for matrix units: convolution as products of floats that are split into bfloat16
 * terms (gemm/split_product.h).
 *
 * Rows of A are pixels; k is a pair of blocks of channels and a tap. A tile splits the pixels that it reads once, with
 * padding, into planes by coordinate modulo the strides, so that each tap reads consecutive rows of A at an offset of
 * its own. Outputs are computed for all columns of a plane; those past the last pixel of a row are dropped. Weights
 * stay float: [panel of 32 channels][pair of blocks][tap][32 of k][32]. */
#ifndef OX_KERN_BLOCKS_BCONV_SPLIT_H
#define OX_KERN_BLOCKS_BCONV_SPLIT_H

#include "kern/blocks/bconv.h"
#include "kern/gemm/split_product.h"

enum { OX_BCONV_SPLIT_PHASES = 4 /* at most, per axis */ };

typedef struct ox_bconv_split_plan {
  ox_bconv_plan head;
  ox_conv_geom g; /* of a pointwise convolution: all pixels in one row */
  const ox_split_kernels *v;
  int terms;
  int64_t x_blocks, pairs, y_blocks, panels, taps, pixels, in_pixels;
  int64_t tap_min[OX_CONV_AXES], far[OX_CONV_AXES]; /* far: rows of a plane from the first tap's to the last's */
  int64_t n_phases[OX_CONV_AXES], phase[OX_CONV_AXES][OX_BCONV_SPLIT_PHASES]; /* those in use */
  int64_t tile_n, tile_h, tile_w, tile_m; /* images, rows, columns, panels of a tile */
  int64_t tiles_n, tiles_h, tiles_w, tiles_m;
  int64_t pitch, plane; /* rows of A per row of pixels; per plane of one input image */
  int64_t kp;           /* pairs of blocks of channels that are split at a time */
  size_t rows;          /* largest number of rows of A in a tile */
  size_t term_bytes, pair_bytes, image_bytes, sums_bytes;
  double ns;
} ox_bconv_split_plan;

/* The channel of a pair of blocks that is |k| of 32: so vectors of both blocks are split without permutations. */
static inline int64_t ox_bconv_split_channel(int64_t k) { return k % 2 * OX_BLOCK + k / 2; }

/* The form's plan with the kernels |v| instead of those of task.isa: for tests. False: a size overflows, or the task is
 * not supported. */
bool ox_bconv_split_plan_on(ox_bconv_plan *head, const ox_split_kernels *v);
void ox_bconv_split_run(const ox_bconv_plan *p, const ox_conv_args *a, uint32_t stage, int64_t begin, int64_t end,
                        void *scratch);

#endif

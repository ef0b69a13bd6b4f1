/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/bconv_strassen.h - 1x1 convolution by one level of Strassen's product, in Winograd's variant: seven
 * products of halves instead of eight.
 *
 * The pixels of a tile, the channels of X and some panels of weights are cut in halves: C = A B of 2 x 2 quadrants
 * each, A[pixels][channels], B[channels][panels], C[pixels][panels]. With
 *
 *   S1 = A21 + A22   S2 = S1 - A11    S3 = A11 - A21   S4 = A12 - S2
 *   T1 = B12 - B11   T2 = B22 - T1    T3 = B22 - B12   T4 = B21 - T2
 *
 * the four quadrants are made in this order, where R is what the registers hold and goes on to hold:
 *
 *   0  R  = A11 B11            kept as P
 *   1  R += S1 T1              kept as Q
 *   2  R += S2 T2              kept as U
 *   3  R += S3 T3              = C22
 *   4  R += P - Q + A22 T4     = C21
 *   5  R  = U + S4 B22         = C12
 *   6  R  = P + A12 B21        = C11
 *
 * Sums of X are made by the tile that reads them; T by the first strip of pixels of a tile that multiplies by it: the
 * weights are packed as for the direct form, and nothing is kept of them.
 *
 * Errors are bounded by the largest magnitudes in what is mixed, not by each sum's own terms: with k channels and
 * u = 2^-24, |error| <= (4.5 k^2 + 48 k) u max |A| max |B| (N. Higham, "Accuracy and Stability of Numerical
 * Algorithms", 2002, chapter 23; plain sums: k^2 u). In practice they are a few times those of plain sums. */
#ifndef OX_KERN_BLOCKS_BCONV_STRASSEN_H
#define OX_KERN_BLOCKS_BCONV_STRASSEN_H

#include "kern/blocks/bconv_direct.h"

enum { OX_SW_STEPS = 7, OX_SW_SUMS = 4, OX_SW_SINGLES = 3, OX_SW_MOST_PIXELS = 14, OX_SW_MOST_PANELS = 2 };

/* R += X (W - less), of one half of the channels. */
typedef struct ox_sw_step {
  const float *x;
  size_t x_block;        /* floats from block to block */
  const float *w, *less; /* less: where sums of weights are made */
  size_t w_panel, less_panel;
  float *to; /* where W - less goes */
  const float
      *fetch; /* as many pixels of a block of X that come next, |fetch_block| floats from block to block; or NULL */
} ox_sw_step;

/* A strip of pixels of both halves, the panels of a group. */
typedef struct ox_sw_mul {
  ox_sw_step step[OX_SW_STEPS];
  size_t blocks, to_panel; /* blocks: of a half of the channels */
  const float *ahead,
      *ahead_end;          /* weights that come next, of the first panel: of all panels, |ahead_n| vectors of 16 */
  size_t ahead_n, w_panel; /* ... are fetched for each block of a step */
  size_t fetch_block;
  float *c; /* [4][pixel][panel][16]: sums of other channels, before and after */
  float *y[2];
  const float *z[2]; /* residual like y, or NULL */
  size_t y_panel;
  const float *bias; /* of all panels, or NULL */
  float lo, hi;
  bool first, last; /* of the channels */
} ox_sw_mul;

/* Quadrants of a block of |pixels|: S1..S4, and if |singles| A11, A12, A22 as they are, |to_sum| floats apart. */
typedef struct ox_sw_sums {
  const float *a[4];   /* A11, A12, A21, A22 */
  const size_t *at[2]; /* floats to each pixel of both halves */
  size_t pixels;
  float *to;
  size_t to_sum;
  bool singles;
} ox_sw_sums;

/* False: a sum is not finite or beyond 2^100. */
typedef bool ox_sw_mul_fn(const ox_sw_mul *m);

typedef struct ox_sw_variant {
  ox_isa needs;
  const char *name;
  int64_t np, mr;                         /* panels of a half, pixels of a strip: from (mr + 1) / 2 on */
  ox_sw_mul_fn *const *mul, *const *make; /* [pixels - 1]; make: as mul, and T */
  void (*sums)(const ox_sw_sums *s);
} ox_sw_variant;

const ox_sw_variant *ox_sw_select(ox_isa have);

typedef struct ox_sw_plan {
  ox_bconv_plan head;
  const ox_sw_variant *v;
  const ox_bconv_variant *direct; /* for what is left over, and for what is not finite */
  int64_t x_blocks, panels, pixels, in_pixels;
  int64_t halves, parts;                                 /* blocks of half of the channels, in so many parts */
  int64_t groups;                                        /* of 2 np panels */
  int64_t tiles_px, tile_m, tiles_m, strips, all_strips; /* strips: of a tile, at most, and of all */
  bool gathers;                                          /* pixels of X do not lie side by side */
  int64_t strip_floats, t_floats, c_floats;
  float lo, hi;
  bool post;
} ox_sw_plan;

void ox_sw_run(const ox_bconv_plan *p, const ox_conv_args *a, uint32_t stage, int64_t begin, int64_t end,
               void *scratch);

#endif

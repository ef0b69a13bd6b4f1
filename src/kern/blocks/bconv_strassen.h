/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/bconv_strassen.h - 1x1 convolutions by Strassen's multiplication of 2 x 2 block matrices: the steps of
 * kern/gemm/strassen.h, with pixels as rows, input channels as k and output channels as columns.
 *
 * The two halves of each dimension are the first and the last pixels of a tile (with an odd number of pixels, both
 * halves have the middle one), the first and the last blocks of a run of input channels, and one or two panels of
 * weights and the next ones. Weights are packed as for the direct form. Each worker adds up the pixels that the steps
 * multiply for itself.
 *
 * Each product is stored once, and the steps that complete a block of C add its other products in registers: five
 * products are stored and eight are read. Adding each product to its blocks at once would store eight sums. The bias is
 * added to the products of steps 3 and 5; each block of C contains exactly one of them. Sums that are not finite are
 * recomputed without Strassen before anything is stored. */
#ifndef OX_KERN_BLOCKS_BCONV_STRASSEN_H
#define OX_KERN_BLOCKS_BCONV_STRASSEN_H

#include "kern/blocks/bconv_direct.h"
#include "kern/gemm/strassen.h"

enum { OX_BSTRASSEN_STRIPS = 12 /* of a call, at most */ };

/* What makes a block of C of the product that completes it. */
typedef struct ox_bstrassen_end {
  const float *plus[3], *minus; /* other products that are part of it; NULL: no more */
  const float *a_rest, *b_rest; /* a last block of channels that has no partner, multiplied plainly; NULL: none */
  float *y;                     /* the first pixel of the first panel */
  const float *z;               /* residual like y (may be y), or NULL */
  size_t panel;                 /* floats from panel to panel of y and z */
  size_t pixels;                /* so many are stored */
  float lo, hi;
} ox_bstrassen_end;

/* Strips of |m| pixels times the panels of a block of C, for one step. */
typedef struct ox_bstrassen_strips {
  const float *a; /* [blocks][a_block / 16][16], of which n_strips * m pixels are read */
  size_t a_block; /* floats from block to block of channels */
  size_t m, n_strips;
  size_t blocks;
  const float *b[2]; /* [blocks * 16][16] each */
  size_t b_panel;
  int b_sign;        /* the right side is b[0] + b_sign * b[1] */
  float *b_sum;      /* for kernels that keep sums: room for the right side if |b_sign|, */
  bool has_sum;      /* which it holds already */
  const float *bias; /* added to the product: [16 panels], or NULL */
  float *own;        /* the product, [n_strips * m][16 panels] */
  bool adds, keeps;  /* adds: |own| holds the product of other channels, and is added; keeps: |own| is stored */
  const ox_bstrassen_end *end; /* only with b_sign > 0. NULL: the product completes no block */
  const float *const *ahead;   /* prefetched to L2 during each strip, a line per |fetch_every| k; or NULL */
} ox_bstrassen_strips;

typedef struct ox_bstrassen_kernels {
  int64_t most;                     /* largest number of pixels in a strip; the smallest is two thirds of it */
  int64_t panels;                   /* of a block of C */
  int64_t tile_pixels, tile_blocks; /* most pixels of a tile, most blocks of input channels in half a stretch of k */
  int64_t fetch_every;
  double steps_share, of_ic, of_oc, of_pixels; /* the time, as form_strassen.c estimates it */
  bool keeps_sums; /* the first strip stores the sum of two blocks of B, which the others read */
  /* A bit for each strip: its complete sums are not finite, or so large that adding them up overflows; none of them is
   * stored. */
  uint32_t (*multiply)(const ox_bstrassen_strips *t);
  /* The left sides of the steps for blocks of channels x[0] and x[1], one of each half of k. Pixel i is at x[] + at[i];
   * of |n| pixels the first |half| are one half of the rows, the last |half| the other. Step s writes to
   * to + s * step_floats. |alone|: also the steps whose left side is a single block. */
  void (*mix)(const float *const x[2], const ptrdiff_t *at, size_t half, size_t n, float *to, size_t step_floats,
              bool alone);
} ox_bstrassen_kernels;

#endif

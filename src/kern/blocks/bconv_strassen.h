/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/bconv_strassen.h - 1x1 convolutions by Strassen's multiplication of 2 x 2 block matrices: the steps of
 * kern/gemm/strassen.h, with pixels as rows, input channels as k and output channels as columns.
 *
 * The two halves of each dimension are: the first and second half of a tile's pixels; of a run of blocks of input
 * channels; two panels of weights and the next two. Weights are packed as for the direct form. Each worker computes the
 * steps' combinations of pixels for itself. Sums that are not finite or exceed 2^100 are recomputed without Strassen,
 * before anything is stored. */
#ifndef OX_KERN_BLOCKS_BCONV_STRASSEN_H
#define OX_KERN_BLOCKS_BCONV_STRASSEN_H

#include "kern/blocks/bconv_direct.h"
#include "kern/gemm/strassen.h"

enum {
  OX_BSTRASSEN_MOST = 14,             /* largest number of pixels in a strip; the smallest is two thirds of it */
  OX_BSTRASSEN_COLUMNS = 2 * OX_BLOCK /* channels of a block of C */
};

/* The epilogue of complete sums. */
typedef struct ox_bstrassen_end {
  float *y;       /* the first pixel of the first panel */
  const float *z; /* residual like y (may be y), or NULL */
  size_t panel;   /* floats from panel to panel of y and z */
  size_t pixels;  /* pixels of the strip that exist */
  const float *bias;
  float lo, hi;
} ox_bstrassen_end;

/* One strip of pixels times two panels, in one step. */
typedef struct ox_bstrassen_strip {
  const float *a;    /* [blocks][a_block / 16][16], of which |m| pixels are read */
  size_t a_block, m; /* a_block: floats from block to block of channels */
  size_t blocks;
  const float *b[2]; /* [blocks * 16][16] each */
  size_t b_panel;
  int b_sign;  /* the right side is b[0] + b_sign * b[1] */
  float *c[2]; /* the product times c_sign is added to these, [m][32]; c[1] may be NULL */
  float c_sign[2];
  bool c_first;                /* store instead: c has no values yet */
  const ox_bstrassen_end *end; /* this product completes c[0]; NULL: it does not */
  const char *ahead;           /* prefetched to L2 meanwhile, ahead_step bytes per k */
  size_t ahead_step;
} ox_bstrassen_strip;

typedef struct ox_bstrassen_kernels {
  /* False: complete sums are not finite or exceed 2^100; none of them is stored. */
  bool (*multiply)(const ox_bstrassen_strip *t);
  /* The left sides of the steps for blocks of channels x[0] and x[1], one of each half of k. Pixel i is at x[] + at[i];
   * of |n| pixels the first |half| are one half of the rows. Step s writes to to + s * step_floats. |alone|: also the
   * steps whose left side is a single block. */
  void (*mix)(const float *const x[2], const ptrdiff_t *at, size_t half, size_t n, float *to, size_t step_floats,
              bool alone);
} ox_bstrassen_kernels;

#endif

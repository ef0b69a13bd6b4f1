/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/bconv_strassen.h - 1x1 convolutions by Strassen's product of matrices of 2 x 2 blocks: the steps of
 * kern/gemm/strassen.h, with pixels as rows, channels of the input as k, those of the output as columns.
 *
 * Pixel i of a tile goes with pixel i + half of them, a block of channels of the input with one half a stretch of them
 * further on, two panels of weights with the next two. Weights are packed as for the direct form. What the steps take
 * of the pixels each worker makes for itself. Sums that are not finite or beyond 2^100 are formed again plainly, before
 * anything is stored. */
#ifndef OX_KERN_BLOCKS_BCONV_STRASSEN_H
#define OX_KERN_BLOCKS_BCONV_STRASSEN_H

#include "kern/blocks/bconv_direct.h"
#include "kern/gemm/strassen.h"

enum {
  OX_BSTRASSEN_MOST = 14,             /* pixels of a strip; two thirds of them at least */
  OX_BSTRASSEN_COLUMNS = 2 * OX_BLOCK /* channels of a block of C */
};

/* Where sums that are whole go. */
typedef struct ox_bstrassen_end {
  float *y;       /* the first pixel of the first panel */
  const float *z; /* residual like y, or NULL, which may be y */
  size_t panel;   /* floats from panel to panel of both */
  size_t pixels;  /* of the strip that there are */
  const float *bias;
  float lo, hi;
} ox_bstrassen_end;

/* Some pixels, two panels. */
typedef struct ox_bstrassen_strip {
  const float *a;    /* [blocks][a_block / 16][16], of which |m| pixels are read */
  size_t a_block, m; /* floats from block to block of channels */
  size_t blocks;
  const float *b[2]; /* [blocks * 16][16] each */
  size_t b_panel;
  int b_sign;  /* of b[1]; 0: b[0] is all */
  float *c[2]; /* [m][32]; c[1] NULL: none */
  float c_sign[2];
  bool c_first;                /* nobody has written to them yet */
  const ox_bstrassen_end *end; /* c[0] is whole with this; NULL: not yet */
  const char *ahead;           /* brought to L2 meanwhile, ahead_step bytes for each k */
  size_t ahead_step;
} ox_bstrassen_strip;

typedef struct ox_bstrassen_kernels {
  /* False: sums that would be whole are not finite, or beyond 2^100; nothing is stored of them. */
  bool (*multiply)(const ox_bstrassen_strip *t);
  /* What the steps take of a block of channels x[0] and its partner x[1]: pixel i lies at[i] further on, |half| pixels
   * go with the following ones, of |n| in all. Step s goes to to + s * step_floats. */
  void (*mix)(const float *const x[2], const ptrdiff_t *at, size_t half, size_t n, float *to, size_t step_floats,
              bool alone);
} ox_bstrassen_kernels;

#endif

/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/bconv_far.h - with large dilations, many outputs have taps outside the image. Outputs are divided into
 * pieces where a tap enters or leaves the image: within a piece each tap is inside for all outputs, or is skipped
 * for all. */
#ifndef OX_KERN_BLOCKS_BCONV_FAR_H
#define OX_KERN_BLOCKS_BCONV_FAR_H

#include "kern/conv/conv.h"

/* Returns the end, at most |end|, of the piece of axis |a| that begins at output |o|; its taps [*tap, *tap + *n) are
 * inside the image, the others outside. */
int64_t ox_bconv_far_piece(const ox_conv_geom *g, int a, int64_t o, int64_t end, int64_t *tap, int64_t *n);

/* The fraction of the products that remains with pieces; 1: pieces are not worth it. */
double ox_bconv_far_share(const ox_conv_geom *g);

#endif

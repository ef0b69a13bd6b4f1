/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/bconv_far.h - taps that are far apart, as those of large dilations, leave the image for many outputs. Cut
 * where a tap enters or leaves it, outputs fall into pieces, each of which has its taps wholly inside or does without.
 */
#ifndef OX_KERN_BLOCKS_BCONV_FAR_H
#define OX_KERN_BLOCKS_BCONV_FAR_H

#include "kern/conv/conv.h"

/* Outputs [o, result) of axis |a|, at most up to |end|, read taps [*tap, *tap + *n), all of them inside. */
int64_t ox_bconv_far_piece(const ox_conv_geom *g, int a, int64_t o, int64_t end, int64_t *tap, int64_t *n);

/* The share of the products that is left in pieces; 1: cutting does not pay. */
double ox_bconv_far_share(const ox_conv_geom *g);

#endif

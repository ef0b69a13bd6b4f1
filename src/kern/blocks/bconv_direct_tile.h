/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/bconv_direct_tile.h - the tiles of the direct form: which outputs one computes, and the copy of its
 * inputs where taps are outside. */
#ifndef OX_KERN_BCONV_DIRECT_TILE_H
#define OX_KERN_BCONV_DIRECT_TILE_H

#include "kern/blocks/bconv_direct.h"

typedef struct ox_bconv_direct_tile {
  int64_t image, group, q0, q1, next; /* panels, and the first panel of the tile that usually comes next */
  int64_t o[OX_CONV_AXES], n[OX_CONV_AXES];
  int64_t tap[OX_CONV_AXES], taps[OX_CONV_AXES]; /* the taps that are read: the first of each axis, and their number */
  bool in_place;
  int64_t len[OX_CONV_AXES]; /* of the copy */
} ox_bconv_direct_tile;

/* Tile |i| in the order of a run. */
ox_bconv_direct_tile ox_bconv_direct_tile_at(const ox_bconv_direct_plan *p, int64_t i);
/* Sets whether all taps of |t| are inside, and otherwise the extents of the copy. */
void ox_bconv_direct_place(const ox_bconv_direct_plan *p, ox_bconv_direct_tile *t);
/* Copies what |t| reads of |blocks| blocks from |x| on to |to|, with zeros outside. */
void ox_bconv_direct_copy(const ox_bconv_direct_plan *p, const ox_bconv_direct_tile *t, float *to, const float *x,
                          int64_t blocks);

#endif

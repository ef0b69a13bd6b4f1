/* SPDX-License-Identifier: Apache-2.0
 * ops/shared/block_shape.h - shapes of tensors in blocks of channels (docs/blocks.md): [N, C, d...] is held as
 * [N, ceil(C / 16), d..., 16]. Dimensions may be unknown. */
#ifndef OX_OPS_SHARED_BLOCK_SHAPE_H
#define OX_OPS_SHARED_BLOCK_SHAPE_H

#include "graph/op_def.h"
#include "kern/blocks/bconv.h"

/* |s|, of rank 2 to OX_MAX_RANK - 1, in blocks. */
static inline ox_shape ox_shape_to_blocks(const ox_shape *s) {
  ox_shape r = *s;
  if (s->rank < 2 || s->rank >= OX_MAX_RANK) return ox_shape_unknown();
  r.dim[1] = s->dim[1] < 0 ? -1 : OX_CEIL_DIV(s->dim[1], OX_BLOCK);
  r.dim[r.rank++] = OX_BLOCK;
  return r;
}

/* The shape whose form in blocks is |s|, if it has |channels| channels (-1: not known). */
static inline ox_shape ox_shape_from_blocks(const ox_shape *s, int64_t channels) {
  ox_shape r = *s;
  if (s->rank < 3) return ox_shape_unknown();
  r.rank--, r.dim[1] = channels;
  return r;
}

/* Can |s| be a tensor of |channels| channels in blocks, as far as both are known? */
static inline bool ox_shape_is_blocks(const ox_shape *s, int64_t channels) {
  if (s->rank < 0) return true;
  if (s->rank < 3 || (s->dim[s->rank - 1] >= 0 && s->dim[s->rank - 1] != OX_BLOCK)) return false;
  return channels < 0 || s->dim[1] < 0 || s->dim[1] == OX_CEIL_DIV(channels, OX_BLOCK);
}

#endif

/* SPDX-License-Identifier: Apache-2.0
 * device/move.h - moves of elements from places to places, as one launch or copy. */
#ifndef OX_DEVICE_MOVE_H
#define OX_DEVICE_MOVE_H

#include "plugins/device/emit.h"

/* Axes of elements that move, the outermost first; offsets and strides in elements. */
typedef struct dev_move {
  int rank;
  int64_t size[2 * OX_MAX_RANK], from_stride[2 * OX_MAX_RANK], to_stride[2 * OX_MAX_RANK];
  int64_t from, to;
} dev_move;

/* Bytes of an element; 0: the kernels have no such elements. */
int dev_element_bytes(uint32_t dtype);
/* |name| with the number of bytes behind it: one of |of|, for 1, 2, 4, 8. */
const char *dev_of_bytes(const char *const of[4], int bytes);
/* For takes: elements that can be moved, of known rank, and not integers that shapes are computed with, which stay with
 * the host: those of at most one axis, unless
 * the device made them. */
const char *dev_takes_data(const dev_node *n, size_t in, int most_rank);
/* Strides of |s|, row-major. */
void dev_strides(const ox_shape *s, int64_t *out);
OX_NODISCARD ox_status *dev_emit_move(dev_plan *p, const dev_move *m, uint32_t dtype, dev_ref from, dev_ref to);

#endif

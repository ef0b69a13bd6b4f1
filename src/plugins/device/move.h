/* SPDX-License-Identifier: Apache-2.0
 * device/move.h - strided copies of tensors, each as one launch or copy. */
#ifndef OX_DEVICE_MOVE_H
#define OX_DEVICE_MOVE_H

#include "plugins/device/emit.h"

/* A strided copy. Axes are outermost first; offsets and strides are in elements. */
typedef struct dev_move {
  int rank;
  int64_t size[2 * OX_MAX_RANK], from_stride[2 * OX_MAX_RANK], to_stride[2 * OX_MAX_RANK];
  int64_t from, to;
} dev_move;

/* Bytes of an element; 0: the kernels have no such elements. */
int dev_element_bytes(uint32_t dtype);
/* Selects a kernel's name by element size: |of| has those for 1, 2, 4 and 8 bytes. */
const char *dev_of_bytes(const char *const of[4], int bytes);
/* For takes: NULL if the elements of input |in| can be moved and its rank is known and at most |most_rank|. Integers of
 * at most one axis are declined unless the device made them: shapes are computed from them, so they stay with the host.
 */
const char *dev_takes_data(const dev_node *n, size_t in, int most_rank);
/* The row-major strides of |s|. */
void dev_strides(const ox_shape *s, int64_t *out);
OX_NODISCARD ox_status *dev_emit_move(dev_plan *p, const dev_move *m, uint32_t dtype, dev_ref from, dev_ref to);

#endif

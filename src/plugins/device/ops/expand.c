/* SPDX-License-Identifier: Apache-2.0
 * device/ops/expand.c - Expand and Tile with shapes and repeats that are constant or follow from shapes. */
#include <string.h>

#include "plugins/device/move.h"

static const char *takes(const dev_node *n) {
  bool tile = strcmp(dev_node_op(n), "Tile") == 0;
  const char *why = dev_takes_data(n, 0, tile ? 4 : 8);
  if (why) return why;
  if (tile && dev_node_version(n) < 6) return REASON("opset 6 or later", "{op}");
  if (!dev_in_host(n, 1)) return REASON("a shape that is known before the run", "{1}");
  int64_t rank = dev_in_rank(n, 1) == 1 ? dev_in_dim(n, 1, 0) : 1;
  return rank < 0 || rank > 8 ? REASON("a result of known rank, at most 8", "{0}, {1}") : NULL;
}

/* Each axis of the output is two axes of the move: repetitions, read with stride 0, and the axis of X. */
static ox_status *emit(dev_plan *p, const dev_node *n) {
  const ox_shape *x = dev_shape(p, dev_in(n, 0)), *y = dev_shape(p, dev_out(n, 0));
  int64_t from[OX_MAX_RANK], to[OX_MAX_RANK];
  dev_move m = {.rank = 0};
  dev_strides(x, from);
  dev_strides(y, to);
  if (dev_count(p, dev_out(n, 0)) == 0) return NULL;
  for (int d = 0; d < y->rank; d++) {
    int a = d - (y->rank - x->rank);
    int64_t dim = a < 0 ? 1 : x->dim[a];
    m.size[m.rank] = y->dim[d] / dim, m.from_stride[m.rank] = 0, m.to_stride[m.rank++] = to[d] * dim;
    m.size[m.rank] = dim, m.from_stride[m.rank] = a < 0 ? 0 : from[a], m.to_stride[m.rank++] = to[d];
  }
  return dev_emit_move(p, &m, dev_dtype(p, dev_in(n, 0)), dev_value(p, dev_in(n, 0)), dev_value(p, dev_out(n, 0)));
}

static const char *const names[] = {"Expand", "Tile", NULL};
DEV_OP(expand) = {"", names, takes, emit};

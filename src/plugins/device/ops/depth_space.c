/* SPDX-License-Identifier: Apache-2.0
 * device/ops/depth_space.c - DepthToSpace and SpaceToDepth. */
#include <string.h>

#include "plugins/device/move.h"

static const char *takes(const dev_node *n) {
  return dev_in_rank(n, 0) == 4 ? dev_takes_data(n, 0, 4) : REASON("4 axes", "{0}");
}

/* The depth side is [image, block row, block column, channel, row, column] (mode CRD: channel first), the space side
 * [image, channel, row, block row, column, block column]. */
static ox_status *emit(dev_plan *p, const dev_node *n) {
  bool to_space = strcmp(dev_node_op(n), "DepthToSpace") == 0, channel_first = dev_attr_is(n, "mode", "CRD", "DCR");
  const ox_shape *space = dev_shape(p, to_space ? dev_out(n, 0) : dev_in(n, 0));
  const ox_shape *depth = dev_shape(p, to_space ? dev_in(n, 0) : dev_out(n, 0));
  int64_t b = dev_attr_int(n, "blocksize", 1), c = space->dim[1], h = depth->dim[2], w = depth->dim[3];
  if (b < 1 || depth->dim[1] != c * b * b || space->dim[2] != h * b || space->dim[3] != w * b)
    return dev_refuse(p, "blocksize does not fit the shapes");
  bool first = to_space && channel_first;
  int64_t plane = h * w, row = first ? b * plane : b * c * plane, column = first ? plane : c * plane;
  int64_t in_depth[] = {c * b * b * plane, first ? b * b * plane : plane, w, row, 1, column};
  int64_t in_space[] = {c * b * b * plane, b * b * plane, b * b * w, b * w, b, 1};
  dev_move m = {.rank = 6, .size = {space->dim[0], c, h, b, w, b}};
  memcpy(m.from_stride, to_space ? in_depth : in_space, sizeof in_depth);
  memcpy(m.to_stride, to_space ? in_space : in_depth, sizeof in_depth);
  return dev_emit_move(p, &m, dev_dtype(p, dev_in(n, 0)), dev_value(p, dev_in(n, 0)), dev_value(p, dev_out(n, 0)));
}

static const char *const names[] = {"DepthToSpace", "SpaceToDepth", NULL};
DEV_OP(depth_space) = {"", names, takes, emit};

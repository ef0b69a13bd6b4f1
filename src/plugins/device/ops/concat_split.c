/* SPDX-License-Identifier: Apache-2.0
 * device/ops/concat_split.c - Concat and Split. */
#include <string.h>

#include "plugins/device/move.h"

static const char *takes(const dev_node *n) {
  bool split = strcmp(dev_node_op(n), "Split") == 0;
  if (dev_in_count(n) == 0) return REASON("inputs", "none");
  for (size_t i = 0; i < (split ? 1 : dev_in_count(n)); i++) {
    const char *why = dev_takes_data(n, i, OX_MAX_RANK);
    if (why) return why;
  }
  bool given = split && dev_in_count(n) > 1 && dev_in(n, 1) != UINT32_MAX;
  if (given && !dev_in_host(n, 1)) return REASON("sizes that are known before the run", "{1}");
  for (size_t i = 0; split && i < n->host->node_out_count(n->graph, n->index); i++)
    if (dev_out(n, i) == UINT32_MAX) return REASON("readers of all outputs", "outputs without one");
  return NULL;
}

/* Moves |part|, the piece of |whole| that begins at |first| along |axis|, into |whole| or out of it. */
static ox_status *emit_piece(dev_plan *p, uint32_t whole, uint32_t part, int axis, int64_t first, bool to_whole) {
  const ox_shape *w = dev_shape(p, whole), *s = dev_shape(p, part);
  int64_t inner = dev_span(w, axis + 1, w->rank);
  dev_move m = {.rank = 2, .size = {dev_span(s, 0, axis), s->dim[axis] * inner}};
  int64_t *of_whole = to_whole ? m.to_stride : m.from_stride, *of_part = to_whole ? m.from_stride : m.to_stride;
  of_whole[0] = w->dim[axis] * inner, of_part[0] = s->dim[axis] * inner, of_whole[1] = of_part[1] = 1;
  *(to_whole ? &m.to : &m.from) = first * inner;
  return dev_emit_move(p, &m, dev_dtype(p, whole), dev_value(p, to_whole ? part : whole),
                       dev_value(p, to_whole ? whole : part));
}

static ox_status *emit(dev_plan *p, const dev_node *n) {
  bool split = strcmp(dev_node_op(n), "Split") == 0;
  uint32_t whole = split ? dev_in(n, 0) : dev_out(n, 0);
  size_t count = split ? n->host->node_out_count(n->graph, n->index) : dev_in_count(n);
  int axis = dev_axis(dev_attr_int(n, "axis", split ? 0 : 1), dev_shape(p, whole)->rank);
  int64_t first = 0;
  if (axis < 0) return dev_refuse(p, "there is no such axis");
  for (size_t i = 0; i < count; i++) {
    uint32_t part = split ? dev_out(n, i) : dev_in(n, i);
    DEV_TRY(emit_piece(p, whole, part, axis, first, !split));
    first += dev_shape(p, part)->dim[axis];
  }
  return NULL;
}

static const char *const names[] = {"Concat", "Split", NULL};
DEV_OP(concat_split) = {"", names, takes, emit};

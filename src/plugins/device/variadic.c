/* SPDX-License-Identifier: Apache-2.0
 * device/variadic.c - see variadic.h: operands are combined one after the other with the result so far. */
#include "plugins/device/variadic.h"

#include <string.h>

#include "plugins/device/emit.h"
#include "plugins/device/kernels/elementwise_params.h"

static const struct {
  const char *name;
  int op;
} rows[] = {{"Sum", TAIL_ADD}, {"Mean", TAIL_ADD}, {"Max", TAIL_MAX}, {"Min", TAIL_MIN}};

static size_t row_of(const dev_node *n) {
  size_t i = 0;
  while (i < DEV_LENGTH(rows) && strcmp(rows[i].name, dev_node_op(n)) != 0) i++;
  return i;
}

static bool is_mean(const dev_node *n) { return strcmp(dev_node_op(n), "Mean") == 0; }

bool dev_variadic_is(const dev_node *n) {
  return !*n->host->node_domain(n->graph, n->index) && row_of(n) < DEV_LENGTH(rows) &&
         (is_mean(n) || dev_in_count(n) != 2);
}

const char *dev_variadic_takes(const dev_node *n) {
  if (dev_in_count(n) == 0 || dev_node_version(n) < 8)
    return REASON("inputs, and the broadcasting of opset 8 or later", "{op}, {inputs}");
  for (size_t i = 0; i < dev_in_count(n); i++)
    if (dev_in_rank(n, i) < 0 || dev_in_rank(n, i) > BROADCAST_RANK || dev_in_dtype(n, i) != dev_in_dtype(n, 0))
      return REASON("one type and known ranks of at most 8", "{inputs}");
  return dev_takes_real(n, 0, BROADCAST_RANK);
}

/* |to| = op(|so_far|, operand |i|), where |so_far| has shape |a|. */
static ox_status *emit_operand(dev_plan *p, const dev_node *n, size_t i, dev_ref so_far, const ox_shape *a, dev_ref to,
                               const dev_tail *tail) {
  const ox_shape *y = dev_shape(p, dev_out(n, 0));
  broadcast_params b = {.n = (int)dev_count(p, dev_out(n, 0)), .rank = y->rank, .op = rows[row_of(n)].op};
  b.tail = tail->params;
  for (int d = 0; d < y->rank; d++) b.dim[d] = (int)y->dim[y->rank - 1 - d];
  dev_broadcast_steps(a, y, b.a_stride);
  dev_broadcast_steps(dev_shape(p, dev_in(n, i)), y, b.b_stride);
  dev_call c = {.source = "elementwise",
                .kernel = "broadcast",
                .dtype = dev_dtype(p, dev_in(n, 0)),
                .groups = {dev_groups(b.n, FLAT_ITEMS)},
                .items = FLAT_ITEMS,
                .n_buffers = 3,
                .buffers = {so_far, dev_value(p, dev_in(n, i)), to},
                .written = 1u << 2,
                DEV_PARAMS(b)};
  dev_call_tail(&c, tail);
  return dev_emit(p, &c);
}

ox_status *dev_variadic_emit(dev_plan *p, const dev_node *n) {
  const dev_tail none = dev_tail_none(dev_out(n, 0));
  dev_tail tail, then, own = none;
  size_t count = dev_in_count(n), bytes = (size_t)dev_count(p, dev_out(n, 0)) * sizeof(float);
  dev_ref so_far = dev_value(p, dev_in(n, 0));
  const ox_shape *shape = dev_shape(p, dev_in(n, 0));
  if (!bytes) return NULL;
  if (count == 1) return dev_emit_view(p, dev_out(n, 0), dev_in(n, 0));
  if (is_mean(n)) dev_tail_constant(&own, TAIL_DIV, (float)count);
  DEV_TRY(dev_take_tail(p, n, &then));
  bool joined = dev_tail_join(&own, &then, &tail);
  for (size_t i = 1; i < count; i++) {
    bool last = i + 1 == count;
    dev_ref to = last ? dev_value(p, then.out) : dev_temp(p, bytes);
    DEV_TRY(emit_operand(p, n, i, so_far, shape, to, !last ? &none : joined ? &tail : &own));
    so_far = to, shape = dev_shape(p, dev_out(n, 0));
  }
  if (joined) return NULL;
  return dev_emit_tail(p, &then, so_far, dev_dtype(p, dev_in(n, 0)), dev_count(p, dev_out(n, 0)));
}

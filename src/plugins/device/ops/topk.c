/* SPDX-License-Identifier: Apache-2.0
 * device/ops/topk.c - TopK with a constant k, always sorted. */
#include "plugins/device/emit.h"
#include "plugins/device/kernels/select_params.h"

static const char *takes(const dev_node *n) {
  int64_t k;
  const char *why = dev_takes_real(n, 1, OX_MAX_RANK);
  if (why) return why;
  if (dev_node_version(n) < 10 || dev_in_ints(n, 1, &k, 1) != 1)
    return REASON("a constant k, as of opset 10", "{1}, {op}");
  if (k < 0 || k > TOPK_MOST) return REASON("a k of at most 1024", "{1}");
  for (size_t i = 0; i < 2; i++)
    if (dev_out(n, i) == UINT32_MAX) return REASON("readers of both outputs", "{>0}, {>1}");
  return NULL;
}

static ox_status *emit(dev_plan *p, const dev_node *n) {
  const ox_shape *x = dev_shape(p, dev_in(n, 0)), *y = dev_shape(p, dev_out(n, 0));
  int axis = dev_axis(dev_attr_int(n, "axis", -1), x->rank);
  if (axis < 0) return dev_refuse(p, "there is no such axis");
  topk_params q = {.n = (int)x->dim[axis],
                   .inner = (int)dev_span(x, axis + 1, x->rank),
                   .k = (int)y->dim[axis],
                   .size = 2,
                   .smallest = !dev_attr_int(n, "largest", 1)};
  q.rows = (int)(dev_span(x, 0, axis) * q.inner);
  while (q.size < q.n && q.size < TOPK_SIZE) q.size *= 2;
  if (q.k > q.n) return dev_refuse(p, "k is more than the axis has");
  if (dev_count(p, dev_out(n, 0)) == 0) return NULL;
  dev_call c = {.source = "topk",
                .kernel = "topk",
                .dtype = dev_dtype(p, dev_in(n, 0)),
                .groups = {(uint32_t)q.rows},
                .items = 256,
                .n_buffers = 3,
                .buffers = {dev_value(p, dev_in(n, 0)), dev_value(p, dev_out(n, 0)), dev_value(p, dev_out(n, 1))},
                .written = 6,
                DEV_PARAMS(q)};
  return dev_emit(p, &c);
}

static const char *const names[] = {"TopK", NULL};
DEV_OP(topk) = {"", names, takes, emit};

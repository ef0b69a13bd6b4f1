/* SPDX-License-Identifier: Apache-2.0
 * device/ops/triangle.c - Trilu with a constant k. */
#include "plugins/device/kernels/select_params.h"
#include "plugins/device/move.h"

static bool has_k(const dev_node *n) { return dev_in_count(n) > 1 && dev_in(n, 1) != UINT32_MAX; }

static const char *takes(const dev_node *n) {
  int64_t k;
  if (has_k(n) && dev_in_ints(n, 1, &k, 1) != 1) return REASON("a constant k", "{1}");
  return dev_in_rank(n, 0) < 2 ? REASON("2 or more axes", "{0}") : dev_takes_data(n, 0, OX_MAX_RANK);
}

static ox_status *emit(dev_plan *p, const dev_node *n) {
  static const char *const kernels[] = {"triangle1", "triangle2", "triangle4", "triangle8"};
  const ox_shape *x = dev_shape(p, dev_in(n, 0));
  int64_t k = 0, most = x->dim[x->rank - 1] + x->dim[x->rank - 2];
  if (has_k(n) && dev_in_ints(n, 1, &k, 1) != 1) return dev_refuse(p, "k is not constant");
  k = k < -most ? -most : k > most ? most : k;
  triangle_params q = {.n = (int)dev_count(p, dev_in(n, 0)),
                       .rows = (int)x->dim[x->rank - 2],
                       .columns = (int)x->dim[x->rank - 1],
                       .k = (int)k,
                       .upper = dev_attr_int(n, "upper", 1) != 0};
  dev_call c = {.source = "triangle",
                .kernel = dev_of_bytes(kernels, dev_element_bytes(dev_dtype(p, dev_in(n, 0)))),
                .dtype = OX_F32,
                .n_buffers = 2,
                .buffers = {dev_value(p, dev_in(n, 0)), dev_value(p, dev_out(n, 0))},
                .written = 1u << 1,
                DEV_PARAMS(q)};
  return dev_emit_items(p, &c, q.n);
}

static const char *const names[] = {"Trilu", NULL};
DEV_OP(triangle) = {"", names, takes, emit};

/* SPDX-License-Identifier: Apache-2.0
 * device/ops/view.c - operators that change only the shape. */
#include <string.h>

#include "plugins/device/move.h"

/* Floats are taken whatever their rank, which a plan knows. */
static bool is_real(const dev_node *n) { return dev_in_dtype(n, 0) == OX_F32 || dev_in_dtype(n, 0) == OX_F16; }

static const char *takes(const dev_node *n) {
  const char *op = dev_node_op(n), *why = is_real(n) ? NULL : dev_takes_data(n, 0, OX_MAX_RANK);
  if (why) return why;
  if (strcmp(op, "Dropout") == 0) {
    if (n->host->node_out_count(n->graph, n->index) > 1 && dev_out(n, 1) != UINT32_MAX)
      return REASON("no mask", "{>1}");
    return dev_in_count(n) > 2 && dev_in(n, 2) != UINT32_MAX ? REASON("inference", "{2}") : NULL;
  }
  bool shaped = dev_in_count(n) > 1 && dev_in(n, 1) != UINT32_MAX;
  return shaped && !dev_in_host(n, 1) ? REASON("a shape that is known before the run", "{1}") : NULL;
}

static ox_status *emit(dev_plan *p, const dev_node *n) { return dev_emit_view(p, dev_out(n, 0), dev_in(n, 0)); }

static const char *const names[] = {"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", "Dropout", NULL};
DEV_OP(view) = {"", names, takes, emit};

/* SPDX-License-Identifier: Apache-2.0
 * device/ops/qgemm.c - com.microsoft's MatMulIntegerToFloat and QGemm. */
#include <string.h>

#include "plugins/device/qproduct.h"

#define NO DEV_Q_ABSENT
static const dev_q_inputs to_float = {"MatMulIntegerToFloat", 0, 1, 4, 5, 2, 3, NO, NO, NO, 6};
static const dev_q_inputs gemm = {"QGemm", 0, 3, 2, 5, 1, 4, 7, 8, 6, NO};

static const dev_q_inputs *inputs_of(const dev_node *n) {
  return strcmp(dev_node_op(n), gemm.name) == 0 ? &gemm : &to_float;
}

static const char *takes(const dev_node *n) {
  if (dev_attr_int(n, "transA", 0)) return "of a transposed A";
  return dev_q_matmul_takes(n, inputs_of(n));
}
static ox_status *emit(dev_plan *p, const dev_node *n) { return dev_q_matmul(p, n, inputs_of(n)); }

static const char *const names[] = {"MatMulIntegerToFloat", "QGemm", NULL};
DEV_OP(qgemm) = {"com.microsoft", names, takes, emit};

/* SPDX-License-Identifier: Apache-2.0
 * device/ops/matmul_integer.c - MatMulInteger and QLinearMatMul. */
#include <string.h>

#include "plugins/device/qproduct.h"

#define NO DEV_Q_ABSENT
static const dev_q_inputs integer = {"MatMulInteger", 0, 1, 2, 3, NO, NO, NO, NO, NO, NO, false, 0};
static const dev_q_inputs linear = {"QLinearMatMul", 0, 3, 2, 5, 1, 4, 6, 7, NO, NO, false, 0};

static const dev_q_inputs *inputs_of(const dev_node *n) {
  return strcmp(dev_node_op(n), integer.name) == 0 ? &integer : &linear;
}

static const char *takes(const dev_node *n) { return dev_q_matmul_takes(n, inputs_of(n)); }
static ox_status *emit(dev_plan *p, const dev_node *n) { return dev_q_matmul(p, n, inputs_of(n), NULL, NULL); }

static const char *const names[] = {"MatMulInteger", "QLinearMatMul", NULL};
DEV_OP(matmul_integer) = {"", names, takes, emit};

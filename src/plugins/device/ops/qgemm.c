/* SPDX-License-Identifier: Apache-2.0
 * device/ops/qgemm.c - com.microsoft's MatMulIntegerToFloat, DynamicQuantizeMatMul and QGemm. */
#include <string.h>

#include "plugins/device/qproduct.h"

#define NO DEV_Q_ABSENT
static const dev_q_inputs to_float = {"MatMulIntegerToFloat", 0, 1, 4, 5, 2, 3, NO, NO, NO, 6, false, 0};
static const dev_q_inputs dynamic = {"DynamicQuantizeMatMul", 0, 1, NO, 3, NO, 2, NO, NO, NO, 4, true, 0};
static const dev_q_inputs gemm = {"QGemm", 0, 3, 2, 5, 1, 4, 7, 8, 6, NO, false, 0};

static const dev_q_inputs *inputs_of(const dev_node *n) {
  static const dev_q_inputs *const all[] = {&to_float, &dynamic, &gemm};
  size_t i = 0;
  while (strcmp(dev_node_op(n), all[i]->name) != 0) i++;
  return all[i];
}

static const char *takes(const dev_node *n) {
  if (dev_attr_int(n, "transA", 0)) return REASON("an A that is not transposed", "{transA}");
  return dev_q_matmul_takes(n, inputs_of(n));
}

static ox_status *emit(dev_plan *p, const dev_node *n) {
  const dev_q_inputs *in = inputs_of(n);
  int64_t count = dev_count(p, dev_in(n, in->x));
  if (!in->dynamic) return dev_q_matmul(p, n, in, NULL, NULL);
  const dev_q_left made = {dev_temp(p, (size_t)count), dev_temp(p, 1), dev_temp(p, sizeof(float))};
  DEV_TRY(dev_q_quantize(p, dev_value(p, dev_in(n, in->x)), count, &made));
  return dev_q_matmul(p, n, in, &made, NULL);
}

static const char *const names[] = {"MatMulIntegerToFloat", "DynamicQuantizeMatMul", "QGemm", NULL};
DEV_OP(qgemm) = {"com.microsoft", names, takes, emit};

/* SPDX-License-Identifier: Apache-2.0
 * device/ops/matmul_integer.c - MatMulInteger with zero points for all, or for rows of A and columns of B. */
#include <limits.h>

#include "plugins/device/emit.h"
#include "plugins/device/kernels/quant_params.h"

static bool has_in(const dev_node *n, size_t i) { return dev_in_count(n) > i && dev_in(n, i) != UINT32_MAX; }

static const char *takes(const dev_node *n) {
  for (size_t i = 0; i < 2; i++) {
    if (dev_in_dtype(n, i) != OX_U8 && dev_in_dtype(n, i) != OX_I8) return "not of 8-bit integers";
    if (dev_in_rank(n, i) < 2) return "of a rank that the kernels do not have";
    if (has_in(n, 2 + i) &&
        (dev_in_dtype(n, 2 + i) != dev_in_dtype(n, i) || dev_in_rank(n, 2 + i) > 1 || dev_in_rank(n, 2 + i) < 0))
      return "zero points that the kernels do not have";
  }
  if (dev_in_rank(n, 1) == 2 || dev_in_rank(n, 1) == dev_in_rank(n, 0)) { /* batches of one, or equal ones */
    bool same = dev_in_rank(n, 1) > 2;
    for (int d = 0; same && d + 2 < dev_in_rank(n, 0); d++) {
      int64_t a = dev_in_dim(n, 0, d), b = dev_in_dim(n, 1, d);
      if (a < 0 || a != b) return "batches that may be broadcast";
    }
    return NULL;
  }
  return "batches that are broadcast";
}

static ox_status *emit(dev_plan *p, const dev_node *n) {
  const ox_shape *a = dev_shape(p, dev_in(n, 0)), *b = dev_shape(p, dev_in(n, 1));
  int64_t batch = b->rank > 2 ? dev_span(a, 0, a->rank - 2) : 1;
  int8_params params = {.m = (int)(b->rank > 2 ? a->dim[a->rank - 2] : dev_span(a, 0, a->rank - 1)),
                        .n = (int)b->dim[b->rank - 1],
                        .k = (int)a->dim[a->rank - 1],
                        .a_kind = dev_in_dtype(n, 0) == OX_I8,
                        .b_kind = dev_in_dtype(n, 1) == OX_I8};
  int *const steps[] = {&params.a_zero_step, &params.b_zero_step};
  int64_t sizes[] = {params.m, params.n};
  params.a_batch = params.m * params.k, params.b_batch = params.k * params.n;
  for (size_t i = 0; i < 2; i++) {
    int64_t zeros = has_in(n, 2 + i) ? dev_count(p, dev_in(n, 2 + i)) : 0;
    if (zeros > 1 && zeros != sizes[i]) return dev_refuse(p, "zero points that do not fit");
    *steps[i] = zeros == 0 ? -1 : zeros > 1;
  }
  int64_t groups = batch * dev_groups(params.m, 64) * dev_groups(params.n, 64);
  if (groups == 0) return NULL;
  if (groups > INT_MAX) return dev_refuse(p, "a product of too many tiles");
  dev_call c = {.source = "int8",
                .kernel = "int8_product",
                .dtype = OX_F32,
                .groups = {(uint32_t)groups},
                .items = 256,
                .n_buffers = 5,
                .written = 1u << 2,
                DEV_PARAMS(params),
                .buffers = {dev_value(p, dev_in(n, 0)), dev_value(p, dev_in(n, 1)), dev_value(p, dev_out(n, 0)),
                            dev_value(p, has_in(n, 2) ? dev_in(n, 2) : UINT32_MAX),
                            dev_value(p, has_in(n, 3) ? dev_in(n, 3) : UINT32_MAX)}};
  return dev_emit(p, &c);
}

static const char *const names[] = {"MatMulInteger", NULL};
DEV_OP(matmul_integer) = {"", names, takes, emit};

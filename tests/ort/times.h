/* SPDX-License-Identifier: Apache-2.0
 * ort/times.h - the operator Times of float tensors, and what it makes of 1, 2, 3, 4. */
#ifndef OX_TESTS_ORT_TIMES_H
#define OX_TESTS_ORT_TIMES_H

#include "ort/op_world.h"

static float numbers[] = {1, 2, 3, 4};
static int64_t integers[] = {1, 2, 3, 4};
static const int64_t four[] = {4};

/* The first element of y when |w| runs with x = 1, 2, 3, 4 of type |elem|. */
static inline double first(world *w, int elem) {
  OrtValue *x = elem == F32 ? tensor_over(F32, four, 1, numbers, sizeof numbers)
                            : tensor_over(I64, four, 1, integers, sizeof integers);
  OrtValue *y;
  OK(run_world(w, x, NULL, &y));
  double got = elem == F32 ? *(float *)data_of(y) : (double)*(int64_t *)data_of(y);
  ort()->ReleaseValue(x);
  ort()->ReleaseValue(y);
  return got;
}

/* |of|: create_times_2 or create_times_3. */
static inline op_row times_row(OrtStatus *(*of)(kernel *k, const OrtKernelInfo *info)) {
  return (op_row){.version = 18,
                  .name = "Times",
                  .n_in = 1,
                  .n_out = 1,
                  .in = {F32},
                  .out = {F32},
                  .create = of,
                  .compute = compute_times};
}

#endif

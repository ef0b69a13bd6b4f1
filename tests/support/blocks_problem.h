/* SPDX-License-Identifier: Apache-2.0
 * support/blocks_problem.h - a convolution on whole blocks of channels, run by one form alone, and its sums in double.
 */
#ifndef OX_TESTS_BLOCKS_PROBLEM_H
#define OX_TESTS_BLOCKS_PROBLEM_H

#include "kern/blocks/bconv.h"

/* X and Y lie [batch][block][pixel][16]. W lies as ONNX has it. */
typedef struct blocks_problem {
  ox_bconv_task t;
  int64_t taps[OX_CONV_AXES][256];
  float *x, *w, *y;
  size_t n_x, n_w, n_y;
} blocks_problem;

/* X and W are zeros. |pad|: on both sides of an axis, may be negative. */
void blocks_problem_init(blocks_problem *p, int64_t batch, int64_t ic, int64_t oc, const int64_t *in,
                         const int64_t *kernel, const int64_t *dilation, const int64_t *pad);
void blocks_problem_deinit(blocks_problem *p);

const ox_bconv_form *blocks_form_called(const char *name);
/* Computes Y, which holds NaN before. */
void blocks_run_form(blocks_problem *p, const char *name);
/* Element |i| of Y in double; *size: the sum of magnitudes. */
double blocks_sum_at(const blocks_problem *p, size_t i, double *size);
/* The largest error over the largest sum of magnitudes. Winograd's errors follow the tile, not the single output. */
double blocks_error_of(const blocks_problem *p);
/* Equal, both NaN, or not farther apart than |tolerance|. */
bool blocks_is_as(double got, double want, double tolerance);

/* The next of a sequence of normally distributed numbers. */
float blocks_normal(uint32_t *seed);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * ops/rnn/recurrent_project.h - the product of the inputs of all steps and W, in floats: plainly, or in seven steps
 * instead of eight (kern/gemm/strassen.h) where that pays. */
#ifndef OX_OPS_RNN_RECURRENT_PROJECT_H
#define OX_OPS_RNN_RECURRENT_PROJECT_H

#include "kern/gemm/strassen.h"
#include "ops/rnn/recurrent.h"

typedef struct recurrent_project {
  ox_gemm_plan g;
  ox_strassen_plan z; /* instead of |g|, if |strassen| */
  bool strassen;
  size_t tiles;   /* of one direction */
  size_t scratch; /* of a worker */
  size_t bytes;   /* in the shared memory: what workers have made of X, for all directions */
} recurrent_project;

void recurrent_project_plan(const ox_kernel_ctx *c, const recurrent_dims *d, recurrent_project *p);
/* Before the tiles of a run. |shared|: p->bytes. */
void recurrent_project_begin(const recurrent_project *p, void *shared);
void recurrent_project_run(const ox_kernel_ctx *c, const recurrent_project *p, const recurrent_dims *d,
                           const recurrent_weights *w, void *shared, float *to, size_t tile, void *scratch);

#endif

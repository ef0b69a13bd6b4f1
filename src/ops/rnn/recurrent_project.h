/* SPDX-License-Identifier: Apache-2.0
 * ops/rnn/recurrent_project.h - the product of the inputs of all steps with W, in floats: a plain product, or
 * Strassen's (kern/gemm/strassen.h) where that is faster. */
#ifndef OX_OPS_RNN_RECURRENT_PROJECT_H
#define OX_OPS_RNN_RECURRENT_PROJECT_H

#include "kern/gemm/strassen.h"
#include "ops/rnn/recurrent.h"

typedef struct recurrent_project {
  ox_gemm_plan g;
  ox_strassen_plan z; /* instead of |g|, if |strassen| */
  bool strassen;
  size_t tiles;   /* per direction */
  size_t scratch; /* per worker */
  size_t bytes;   /* in the shared memory: records of the operands that workers have made from X, for all directions */
} recurrent_project;

void recurrent_project_plan(const ox_kernel_ctx *c, const recurrent_dims *d, recurrent_project *p);
/* To be called before the tiles of a run. |shared| has p->bytes. */
void recurrent_project_begin(const recurrent_project *p, void *shared);
void recurrent_project_run(const ox_kernel_ctx *c, const recurrent_project *p, const recurrent_dims *d,
                           const recurrent_weights *w, void *shared, float *to, size_t tile, void *scratch);

#endif

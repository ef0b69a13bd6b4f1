/* SPDX-License-Identifier: Apache-2.0
 * ops/rnn/recurrent_project.h - the product of the inputs of all steps with W, in floats: on a matrix unit
 * (kern/gemm/split_product.h) or by Strassen's algorithm (kern/gemm/strassen.h) where that is faster, else a plain
 * product. All of them read W in the same panels. */
#ifndef OX_OPS_RNN_RECURRENT_PROJECT_H
#define OX_OPS_RNN_RECURRENT_PROJECT_H

#include "kern/gemm/split_product.h"
#include "kern/gemm/strassen.h"
#include "ops/rnn/recurrent.h"

typedef enum recurrent_way { PROJECT_PLAIN, PROJECT_STRASSEN, PROJECT_SPLIT } recurrent_way;

typedef struct recurrent_project {
  recurrent_way way;
  ox_gemm_plan g;     /* PLAIN */
  ox_strassen_plan z; /* STRASSEN */
  ox_split_plan s;    /* SPLIT */
  size_t tiles;       /* per direction */
  size_t scratch;     /* per worker */
  size_t bytes; /* in the shared memory: records of the operands that workers have made from X, for all directions */
} recurrent_project;

void recurrent_project_plan(const ox_kernel_ctx *c, const recurrent_dims *d, recurrent_project *p);
/* The name of the form: how the inputs are projected, and whether a tile steps through |all| rows or 12 of them. */
const char *recurrent_project_form(const recurrent_project *p, bool all);
/* To be called before the tiles of a run if p->bytes, which |shared| has. */
void recurrent_project_begin(const recurrent_project *p, void *shared);
/* Tiles [begin, end) of a direction. */
void recurrent_project_run(const ox_kernel_ctx *c, const recurrent_project *p, const recurrent_dims *d,
                           const recurrent_weights *w, void *shared, float *to, ox_range tiles, void *scratch);

#endif

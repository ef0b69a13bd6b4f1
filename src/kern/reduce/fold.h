/* SPDX-License-Identifier: Apache-2.0
 * kern/reduce/fold.h - folding some dimensions of a tensor of any numeric type into one accumulator per output. */
#ifndef OX_KERN_REDUCE_FOLD_H
#define OX_KERN_REDUCE_FOLD_H

#include <stdbool.h>

#include "kern/reduce/reduce.h"
#include "onyx/ep.h"

/* The dimensions, divided into kept and folded ones; adjacent ones of one kind are merged. Innermost first. */
typedef struct ox_fold_plan {
  int n_kept, n_folded;
  int64_t kept[OX_MAX_RANK], kept_stride[OX_MAX_RANK];
  int64_t folded[OX_MAX_RANK], folded_stride[OX_MAX_RANK];
  int64_t outputs, length; /* accumulators, elements folded into each */
  bool columns;            /* the innermost dimension is kept */
} ox_fold_plan;

void ox_fold_plan_init(ox_fold_plan *p, const ox_shape *shape, const bool *fold_axis);

/* double for float types, int64 for integers and bool */
typedef union ox_fold_acc {
  double f;
  int64_t i;
} ox_fold_acc;

typedef struct ox_fold_job {
  const ox_fold_plan *plan;
  const void *data;
  uint32_t dtype;
  ox_isa isa;
} ox_fold_job;

/* Outputs handled at a time. */
enum { OX_FOLD_BATCH = 512 };

/* acc[k] of an empty fold. */
ox_fold_acc ox_fold_identity(ox_fold f, uint32_t dtype);
/* Combines two partial results (EXP: of the same shift) of each of n outputs: acc[k] and part[k]. */
void ox_fold_join_all(ox_isa isa, ox_fold f, uint32_t dtype, ox_fold_acc *acc, const ox_fold_acc *part, int64_t n);
/* Accumulators of outputs [out, out + n), n <= OX_FOLD_BATCH, over the folded elements [begin, end) in row-major order.
 * EXP reads shift[k] per output. */
void ox_fold_run(const ox_fold_job *j, ox_fold f, int64_t out, int64_t n, int64_t begin, int64_t end,
                 const double *shift, ox_fold_acc *acc);

#endif

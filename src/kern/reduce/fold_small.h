/* SPDX-License-Identifier: Apache-2.0
 * kern/reduce/fold_small.h - folds of short rows that lie one behind the other, of every type but float32. */
#ifndef OX_KERN_REDUCE_FOLD_SMALL_H
#define OX_KERN_REDUCE_FOLD_SMALL_H

#include "kern/reduce/fold.h"

bool ox_fold_is_small(const ox_fold_job *j);
/* As ox_fold_run, of a job that is. */
void ox_fold_small(const ox_fold_job *j, ox_fold f, int64_t out, int64_t n, int64_t begin, int64_t end,
                   const double *shift, ox_fold_acc *acc);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * kern/attention/linear_attention.h - one token of linear attention for one head: the state S, a d_k x d_v matrix,
 * decays, k v' is added to it, and the output is S' q. Columns of the state are independent: a tile has some of them.
 */
#ifndef OX_KERN_ATTENTION_LINEAR_ATTENTION_H
#define OX_KERN_ATTENTION_LINEAR_ATTENTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cpu.h"

enum { OX_LINEAR_COLS = 64 }; /* columns of a tile */

typedef struct ox_linear_step {
  float *state; /* [dk][64] */
  int64_t dk;
  const float *k;    /* [dk] */
  const float *keep; /* decay factors of the old state, [dk] or one for all (n_keep 1); NULL: 1 */
  int64_t n_keep;
  const float *v; /* [64] */
  bool delta;     /* delta rule: add k beta (v - S' k)' instead of k v' */
  float beta;
  const float *q; /* [n_q][dk], scaled */
  int64_t n_q;
  float *out; /* [n_q][64] */
} ox_linear_step;

typedef void ox_linear_step_fn(const ox_linear_step *s);
ox_linear_step_fn ox_linear_step__scalar, ox_linear_step__avx2, ox_linear_step__avx512, ox_linear_step__neon;
ox_linear_step_fn *ox_linear_step_select(ox_isa have);

#endif

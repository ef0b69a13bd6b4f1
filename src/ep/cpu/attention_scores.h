/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu/attention_scores.h - what a Softmax of attention works on: scale * Q K^T with masks, as exporters write them.
 */
#ifndef OX_EP_CPU_ATTENTION_SCORES_H
#define OX_EP_CPU_ATTENTION_SCORES_H

#include "onyx/rewrite.h"

typedef struct ox_scores {
  ox_id product; /* the MatMul of Q and K */
  double scale;
  ox_id mask;        /* added; or OX_NONE */
  ox_id window_mask; /* OX_NONE, or [windows, heads or 1, rows, keys], dimensions of 1 in front */
  /* Scores where |cond| is false (true if |inverted|) become |low|, which leaves them no weight: Where(cond, x, low).
   * OX_NONE: there is no such choice. |masked_before|: the mask is added before it, else behind it. */
  ox_id cond, low;
  int inverted, masked_before;
} ox_scores;

/* From the Softmax's input |v| back to the product, if every step in between serves one reader. */
int ox_scores_find(const ox_rewrite *g, ox_id v, ox_scores *out);
/* The inputs 3 to 7 of ai.onyx.Attention; *out_n is how many inputs there are up to the last that is set. The past
 * stays OX_NONE. */
enum { OX_SCORES_MASK = 3, OX_SCORES_WINDOW_MASK = 7, OX_SCORES_INPUTS };
OX_NODISCARD ox_status *ox_scores_masks(const ox_rewrite *g, const ox_scores *s, ox_id in[OX_SCORES_INPUTS],
                                        uint32_t *out_n);
/* Peels products with and quotients by a positive constant off |v|. */
ox_id ox_scores_unscale(const ox_rewrite *g, ox_id v, double *scale);

static inline int ox_dims_equal(const ox_shape *a, int i, const ox_shape *b, int j) {
  return a->dim[i] == b->dim[j] && a->dim[i] != -1;
}

#endif

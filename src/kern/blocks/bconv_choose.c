/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/bconv_choose.c - which form computes a convolution. */
#include <math.h>

#include "kern/blocks/bconv.h"

const ox_bconv_form *ox_bconv_choose(const ox_bconv_task *t) {
  const ox_bconv_form *best = t->tune ? ox_bconv_measured(t) : NULL;
  if (best) return best;
  size_t n_forms;
  const ox_bconv_form *const *forms = ox_bconv_forms(&n_forms);
  double least = INFINITY;
  for (size_t i = 0; i < n_forms; i++) {
    double ns = forms[i]->cost_ns(t);
    if (ns < least) best = forms[i], least = ns;
  }
  return best;
}

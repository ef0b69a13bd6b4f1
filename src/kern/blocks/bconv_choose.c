/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/bconv_choose.c - which form computes a convolution. */
#include <math.h>

#include "base/cpu_kind.h"
#include "kern/blocks/bconv.h"

/* Where L3 is slow, products hide little of the time that weights take to arrive: Emerald Rapids with 128 MB of weights
 * in turn, all forms (a byte takes 1/28 ns there, where estimates are 1.5 times too low). */
double ox_bconv_weights_ns(const ox_bconv_task *t, double floats) {
  return t->isa & OX_SLOW_L3 ? floats * sizeof(float) / 42 : 0;
}

const ox_bconv_form *ox_bconv_choose(const ox_bconv_task *t) {
  const ox_bconv_form *best = t->tune ? ox_bconv_measured(t) : NULL;
  if (best) return best;
  size_t n_forms;
  const ox_bconv_form *const *forms = ox_bconv_forms(&n_forms);
  double least = INFINITY;
  for (size_t i = 0; i < n_forms; i++) {
    double ns = forms[i]->cost_ns(t);
    if (ns < INFINITY) ns += ox_bconv_weights_ns(t, (double)forms[i]->weight_floats(t));
    if (ns < least) best = forms[i], least = ns;
  }
  return best;
}

/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu/activation.c - see activation.h. */
#include "ep/cpu/activation.h"

#include "base/status.h"

int ox_activation_free(const ox_rewrite *g, ox_id node) { return ox_attr_is(g, node, "activation", "", 1); }

ox_status *ox_activation_set(const ox_rewrite *g, ox_id node, const ox_activation *a) {
  OX_TRY(ox_set_str(g, node, "activation", a->name));
  return a->n_params ? ox_set_floats(g, node, "activation_params", a->params, a->n_params) : NULL;
}

/* SPDX-License-Identifier: Apache-2.0
 * device/rules.c - see rules.h: the CPU provider's rules for quantized graphs, attention, norms and activations,
 * renamed for this provider. ops/ must support what they produce, for all ranks in which it takes the operators they
 * replace. */
#include "plugins/device/rules.h"

#include <stdio.h>

#include "base/macros.h"

extern const ox_rule_set ox_cpu_rules_qdq_product, ox_cpu_rules_qdq_wise, ox_cpu_rules_dyn_quant,
    ox_cpu_rules_attention_fuse, ox_cpu_rules_gated_act, ox_cpu_rules_layer_norm_fuse;

enum { MOST_RULES = 32, MOST_NAME = 64 };

static const ox_rule_set *const from[] = {&ox_cpu_rules_qdq_product, &ox_cpu_rules_qdq_wise,
                                          &ox_cpu_rules_dyn_quant,   &ox_cpu_rules_attention_fuse,
                                          &ox_cpu_rules_gated_act,   &ox_cpu_rules_layer_norm_fuse};
static ox_rule rules[MOST_RULES];
static char names[MOST_RULES][MOST_NAME];
static ox_rule_set sets[OX_COUNT(from)];
static const ox_rule_set *list[OX_COUNT(from)];

const ox_rule_set *const *dev_rule_sets(const char *name, size_t *out_n) {
  size_t n = 0;
  for (size_t s = 0; s < OX_COUNT(from); s++) {
    sets[s] = *from[s], sets[s].owner = name, sets[s].rules = &rules[n], sets[s].n_rules = 0;
    for (size_t i = 0; i < from[s]->n_rules && n < MOST_RULES; i++, n++) {
      rules[n] = from[s]->rules[i];
      snprintf(names[n], MOST_NAME, "%s-%s", name, rules[n].name);
      rules[n].name = names[n], sets[s].n_rules++;
    }
    list[s] = &sets[s];
  }
  *out_n = OX_COUNT(from);
  return list;
}

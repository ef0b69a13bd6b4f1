/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu/cpu_rules.h - the CPU provider's fusions and layouts: rules for what it owns. */
#ifndef OX_EP_CPU_CPU_RULES_H
#define OX_EP_CPU_CPU_RULES_H

#include "onyx/rule.h"

#define OX_CPU_RULES(stem) +1
enum { OX_N_CPU_RULE_SETS = 0
#include "cpu_rule_list.inc"
};
#undef OX_CPU_RULES

/* Those in ep/cpu/rules. */
extern const ox_rule_set *const ox_cpu_rule_sets[OX_N_CPU_RULE_SETS];

#endif

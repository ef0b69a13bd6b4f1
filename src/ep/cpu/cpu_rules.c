/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu/cpu_rules.c - the rules in ep/cpu/rules, as a list to hand in. */
#include "ep/cpu/cpu_rules.h"

#define OX_CPU_RULES(stem) extern const ox_rule_set ox_cpu_rules_##stem;
#include "cpu_rule_list.inc" /* the build writes OX_CPU_RULES(stem) for each src/ep/cpu/rules/<stem>.c, sorted */
#undef OX_CPU_RULES

const ox_rule_set *const ox_cpu_rule_sets[OX_N_CPU_RULE_SETS] = {
#define OX_CPU_RULES(stem) &ox_cpu_rules_##stem,
#include "cpu_rule_list.inc"
#undef OX_CPU_RULES
};

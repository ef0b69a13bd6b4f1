/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu/cpu_rules.h - the CPU provider's fusions and layouts: rules for what it owns. */
#ifndef OX_EP_CPU_CPU_RULES_H
#define OX_EP_CPU_CPU_RULES_H

#include "onyx/rule.h"

/* Those in ep/cpu/rules; |*out_n| of them. */
const ox_rule_set *const *ox_cpu_rules(size_t *out_n);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * opt/standard_rules.c - the rules in opt/rules, as a list to hand in. */
#include "base/macros.h"
#include "opt/opt.h"

#define OX_RULES(stem) extern const ox_rule_set ox_rules_##stem;
#include "rule_list.inc" /* the build writes OX_RULES(stem) for each src/opt/rules/<stem>.c, sorted */
#undef OX_RULES

static const ox_rule_set *const sets[] = {
#define OX_RULES(stem) &ox_rules_##stem,
#include "rule_list.inc"
#undef OX_RULES
};

const ox_rule_list ox_standard_rules = {sets, OX_COUNT(sets)};

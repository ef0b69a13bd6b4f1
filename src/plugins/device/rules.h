/* SPDX-License-Identifier: Apache-2.0
 * device/rules.h - rules for what a device provider owns. */
#ifndef OX_DEVICE_RULES_H
#define OX_DEVICE_RULES_H

#include "onyx/rule.h"

/* The sets for the provider |name|, which are kept. Once in a process. */
const ox_rule_set *const *dev_rule_sets(const char *name, size_t *out_n);

#endif

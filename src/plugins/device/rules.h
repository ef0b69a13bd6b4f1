/* SPDX-License-Identifier: Apache-2.0
 * device/rules.h - rewriting rules for the nodes that a device provider owns. */
#ifndef OX_DEVICE_RULES_H
#define OX_DEVICE_RULES_H

#include "onyx/rule.h"

/* The rule sets for the provider |name|, in static memory. To be called once per process. */
const ox_rule_set *const *dev_rule_sets(const char *name, size_t *out_n);

#endif

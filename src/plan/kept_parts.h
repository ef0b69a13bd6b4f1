/* SPDX-License-Identifier: Apache-2.0
 * plan/kept_parts.h - limits a provider to some of the programs it could have. A text says to which: '+' for the listed
 * ones, '-' for all but these, then for each the hash of the name of one of its nodes in the model, in hexadecimal,
 * separated by ','. */
#ifndef OX_PLAN_KEPT_PARTS_H
#define OX_PLAN_KEPT_PARTS_H

#include "plan/parts.h"
#include "plan/provider.h"

/* The hash of a node's name. */
uint32_t ox_part_hash(const char *name);
/* Whether |list| lists node |n| of |g| or a node that it was made of. A node without a name goes by its first
 * output. */
bool ox_part_lists(const char *list, const ox_graph *g, const ox_node *n);
/* Called after |owner| has claimed: frees the programs of |g| that |list| denies it, and notes a refusal that says so.
 * |parts|: the groups. */
OX_NODISCARD ox_status *ox_parts_keep(ox_graph *g, ox_parts *parts, uint16_t owner, const char *list);

#endif

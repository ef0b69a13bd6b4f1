/* SPDX-License-Identifier: Apache-2.0
 * plan/kept_parts.h - a provider that has only some of the programs it could have. Which ones is a text: '+' for those
 * that are listed, '-' for all others, then for each the hash of the name of one of its nodes in the model, in
 * hexadecimal digits, with ',' between. */
#ifndef OX_PLAN_KEPT_PARTS_H
#define OX_PLAN_KEPT_PARTS_H

#include "plan/parts.h"
#include "plan/provider.h"

/* The hash of a node's name. */
uint32_t ox_part_hash(const char *name);
/* Whether node |n| of |g|, or one that it was made of, is listed in |list|. A node without a name goes by its first
 * output. */
bool ox_part_lists(const char *list, const ox_graph *g, const ox_node *n);
/* After |owner| has claimed: the programs of |g| that it is not to have are free again, with a refusal that says so.
 * |parts|: the groups. */
OX_NODISCARD ox_status *ox_parts_keep(ox_graph *g, ox_parts *parts, uint16_t owner, const char *list);

#endif

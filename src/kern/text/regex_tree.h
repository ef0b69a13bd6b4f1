/* SPDX-License-Identifier: Apache-2.0
 * kern/text/regex_tree.h - a parsed expression, shared by regex_parse.c and regex_compile.c alone. */
#ifndef OX_KERN_TEXT_REGEX_TREE_H
#define OX_KERN_TEXT_REGEX_TREE_H

#include "kern/text/regex_program.h"

typedef enum regex_node_kind { NODE_EMPTY, NODE_SET, NODE_CAT, NODE_ALT, NODE_REPEAT, NODE_ASSERT } regex_node_kind;
typedef struct regex_node {
  regex_node_kind kind;
  const struct regex_node *a, *b;
  const regex_set *set;
  int min, max; /* REPEAT; max < 0: no limit. ASSERT: min is the place */
} regex_node;

/* The tree of |pattern|, in |arena|. Errors: INVALID_MODEL with the place; NOT_IMPLEMENTED for \p; LIMIT. */
OX_NODISCARD ox_status *ox_regex_parse(ox_arena *arena, const char *pattern, size_t n, const regex_node **out_tree);

#endif

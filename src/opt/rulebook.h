/* SPDX-License-Identifier: Apache-2.0
 * opt/rulebook.h - all rules and passes that were handed in: checked, converted to this build's struct sizes, and in
 * order. */
#ifndef OX_OPT_RULEBOOK_H
#define OX_OPT_RULEBOOK_H

#include "opt/opt.h"

/* One bit per OX_RULES_* place. */
enum {
  OX_AT_WITH = 1 << OX_RULES_WITH,
  OX_AT_BEFORE = 1 << OX_RULES_BEFORE,
  OX_AT_AFTER = 1 << OX_RULES_AFTER,
  OX_AT_OWNED = 1 << OX_RULES_OWNED
};

/* A rule or a pass. */
typedef struct ox_book_row {
  const ox_rule *rule; /* NULL: a pass */
  const ox_pass *pass;
  const ox_rule_set *set;
  const char *name;
  uint32_t level, place; /* OX_AT_* */
  bool late, disabled;
  uint32_t order; /* among all that were handed in */
  uint32_t n_applied;
} ox_book_row;

typedef struct ox_rulebook {
  ox_arena arena;
  ox_book_row *rows; /* by level, late, name, order */
  uint32_t n;
} ox_rulebook;

/* Errors: INVALID_ARGUMENT naming rule or pass; OUT_OF_MEMORY. Call deinit in any case. */
OX_NODISCARD ox_status *ox_rulebook_init(ox_rulebook *b, ox_alloc alloc, const ox_opt_options *o);
void ox_rulebook_deinit(ox_rulebook *b);
/* Whether the row applies at |level| in one of |places|, and for |owner| (its name) if it is an owner's. */
bool ox_book_row_is_on(const ox_book_row *r, uint32_t places, uint32_t level, const char *owner);
/* Whether any row is for this owner in particular, disabled or not. */
bool ox_rulebook_is_for(const ox_rulebook *b, const char *owner);
/* Whether a rule, a pass or a built-in pass is called |name|. */
bool ox_rulebook_knows(const ox_rulebook *b, const char *name);
bool ox_opt_disabled(const ox_opt_options *o, const char *name);

#endif

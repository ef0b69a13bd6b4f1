/* SPDX-License-Identifier: Apache-2.0
 * opt/driver.h - one run of the optimizer, shared by driver.c (what comes when), sweep.c (rules over a graph) and
 * driver_report.c (what it tells). */
#ifndef OX_OPT_DRIVER_H
#define OX_OPT_DRIVER_H

#include "opt/rulebook.h"

/* ox_builtin_passes, by place there. */
enum {
  OX_PASS_INFER_CONST,
  OX_PASS_INVARIANT,
  OX_PASS_HOIST,
  OX_PASS_FOLD,
  OX_PASS_CSE,
  OX_PASS_DCE,
  OX_BUILTIN_PASSES
};

typedef struct ox_driver {
  ox_opt_options *o;
  ox_model *m;
  uint16_t owner; /* whose phase it is; OX_NO_OWNER: everybody's */
  ox_rulebook book;
  ox_book_row **chosen; /* those that are on now, in turn; room for all */
  uint32_t n_chosen;
  struct ox_rule_chain *chains; /* chosen rules by the operator of their root (sweep.c) */
  uint32_t n_chains;
  ox_map roots;
  size_t budget;
  uint32_t n_applied; /* by the round that runs */
  uint32_t n_builtin[OX_BUILTIN_PASSES];
  bool early;      /* folding leaves alone what fusion may still want ... */
  uint32_t n_held; /* ... this many nodes */
} ox_driver;

/* The name of whom the phase belongs to, or NULL. */
const char *ox_driver_owner_name(const ox_driver *d);
/* Chooses the rows at |places| up to |level|; the late ones only if |late|. */
OX_NODISCARD ox_status *ox_driver_choose(ox_driver *d, uint32_t places, uint32_t level, bool late);
/* Applies the chosen rules to |g| until none matches. */
OX_NODISCARD ox_status *ox_driver_apply_rules(ox_driver *d, ox_graph *g);
/* Runs the chosen passes on |g|, once for each assignment of its nodes. */
OX_NODISCARD ox_status *ox_driver_run_passes(ox_driver *d, ox_graph *g);
/* Shows the model if |name| is the one to be shown then. */
OX_NODISCARD ox_status *ox_driver_dump(ox_driver *d, const char *wanted, const char *when, const char *name);
/* Adds what applied to the counts in the options, and writes it to the log. */
OX_NODISCARD ox_status *ox_driver_count(const ox_driver *d);
/* Warns if no rule or pass has the name that option |what| gave; NULL is fine. */
void ox_driver_warn_unknown(const ox_driver *d, const char *what, const char *name);

#endif

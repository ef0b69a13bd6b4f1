/* SPDX-License-Identifier: Apache-2.0
 * opt/driver_report.c - what a run of the optimizer tells: models while it works, counts of what applied, warnings. */
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "opt/driver.h"

static void put_line(void *ctx, const char *text) { ox_log_write(ctx, OX_LOG_INFO, "%s", text); }

ox_status *ox_driver_dump(ox_driver *d, const char *wanted, const char *when, const char *name) {
  char title[96];
  if (!wanted || strcmp(wanted, name) != 0) return NULL;
  snprintf(title, sizeof title, "%s '%s'", when, name);
  if (d->o->dump) return d->o->dump(d->o->dump_ctx, d->m, title);
  if (!d->o->log) return NULL;
  ox_log_write(d->o->log, OX_LOG_INFO, "%s", title);
  ox_graph_print(d->m->graph, put_line, (void *)d->o->log);
  return NULL;
}

/* Room for one more. */
static bool grow_counts(ox_opt_options *o, ox_arena *a) {
  if (o->n_counts < o->max_counts) return true;
  uint32_t room = OX_MAX(16, 2 * o->max_counts);
  ox_opt_count *counts = OX_ARENA_ARRAY(a, ox_opt_count, room);
  if (!counts) return false;
  if (o->n_counts) memcpy(counts, o->counts, o->n_counts * sizeof *counts);
  o->counts = counts, o->max_counts = room;
  return true;
}

static ox_status *count(const ox_driver *d, const char *name, uint32_t n) {
  ox_opt_options *o = d->o;
  if (!n) return NULL;
  if (o->log) ox_log_write(o->log, OX_LOG_INFO, "optimizer: %s x %u", name, n);
  for (uint32_t i = 0; i < o->n_counts; i++)
    if (strcmp(o->counts[i].rule, name) == 0) {
      o->counts[i].n += n;
      return NULL;
    }
  if (!grow_counts(o, &d->m->arena)) return ox_oom();
  o->counts[o->n_counts++] = (ox_opt_count){name, n};
  return NULL;
}

ox_status *ox_driver_count(const ox_driver *d) {
  for (int i = 0; i < OX_BUILTIN_PASSES; i++) OX_TRY(count(d, ox_builtin_passes[i], d->n_builtin[i]));
  /* variants of a rule are next to each other */
  for (uint32_t i = 0, n = 0; i < d->book.n; i++) {
    const ox_book_row *row = &d->book.rows[i];
    n += row->n_applied;
    if (i + 1 < d->book.n && strcmp(row->name, row[1].name) == 0) continue;
    OX_TRY(count(d, row->name, n));
    n = 0;
  }
  return NULL;
}

void ox_driver_warn_unknown(const ox_driver *d, const char *what, const char *name) {
  if (name && d->o->log && !ox_rulebook_knows(&d->book, name))
    ox_log_write(d->o->log, OX_LOG_WARNING, "%s: there is no rule or pass '%s'", what, name);
}

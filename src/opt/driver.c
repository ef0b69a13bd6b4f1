/* SPDX-License-Identifier: Apache-2.0
 * opt/driver.c - the order of things: inference, folding, rules, passes and elimination in rounds; standard rules
 * first, then those of owners. */
#include "opt/driver.h"

#include <string.h>

#include "base/macros.h"
#include "opt/origin.h"

enum { MAX_ROUNDS = 4 };
static const size_t default_fold_bytes = (size_t)1 << 30;

/* ---- built-in passes ---- */

static ox_status *infer_const(ox_driver *d, ox_graph *g, uint32_t *n) { return ox_infer_consts(g, d->o, d->owner, n); }
static ox_status *invariant(ox_driver *d, ox_graph *g, uint32_t *n) { return (void)d, ox_invariant_graph(g, n); }
static ox_status *hoist(ox_driver *d, ox_graph *g, uint32_t *n) { return (void)d, ox_hoist_graph(g, n); }
static ox_status *cse(ox_driver *d, ox_graph *g, uint32_t *n) { return ox_cse_graph(g, d->owner, n); }
static ox_status *dce(ox_driver *d, ox_graph *g, uint32_t *n) { return ox_dce_graph(g, d->owner, n); }
static ox_status *fold(ox_driver *d, ox_graph *g, uint32_t *n) {
  return ox_fold_graph(g, d->o, d->owner, d->early, &d->budget, n, &d->n_held);
}

/* One of them on |g|, between its dumps. */
static ox_status *run_builtin(ox_driver *d, ox_graph *g, int which) {
  static ox_status *(*const run[])(ox_driver * d, ox_graph * g, uint32_t * n) = {[OX_PASS_INFER_CONST] = infer_const,
                                                                                 [OX_PASS_INVARIANT] = invariant,
                                                                                 [OX_PASS_HOIST] = hoist,
                                                                                 [OX_PASS_FOLD] = fold,
                                                                                 [OX_PASS_CSE] = cse,
                                                                                 [OX_PASS_DCE] = dce};
  const char *name = ox_builtin_passes[which];
  uint32_t n = 0;
  if (ox_opt_disabled(d->o, name)) return NULL;
  OX_TRY(ox_driver_dump(d, d->o->dump_before, "before", name));
  OX_TRY(run[which](d, g, &n));
  d->n_builtin[which] += n;
  if (which != OX_PASS_INFER_CONST && which != OX_PASS_DCE) d->n_applied += n;
  return ox_driver_dump(d, d->o->dump_after, "after", name);
}

static ox_status *invariant_all(ox_driver *d, ox_graph *g) { return run_builtin(d, g, OX_PASS_INVARIANT); }
static ox_status *hoist_all(ox_driver *d, ox_graph *g) { return run_builtin(d, g, OX_PASS_HOIST); }
static ox_status *fold_all(ox_driver *d, ox_graph *g) { return run_builtin(d, g, OX_PASS_FOLD); }
static ox_status *cse_all(ox_driver *d, ox_graph *g) { return run_builtin(d, g, OX_PASS_CSE); }

static ox_status *infer(ox_driver *d) {
  if (ox_opt_disabled(d->o, ox_builtin_passes[OX_PASS_INFER_CONST])) return ox_infer_graph(d->m->graph, d->o, false);
  return run_builtin(d, d->m->graph, OX_PASS_INFER_CONST);
}

/* ---- rounds ---- */

/* Calls |fn| for |g| and the bodies in it, innermost first. */
static ox_status *each_graph(ox_driver *d, ox_graph *g, ox_status *(*fn)(ox_driver *d, ox_graph *g)) {
  for (ox_id i = 0; i < g->n_nodes; i++) {
    ox_graph *b;
    for (uint32_t k = 0; !g->nodes[i].dead && (b = ox_node_body(&g->nodes[i], k)); k++) OX_TRY(each_graph(d, b, fn));
  }
  return fn(d, g);
}

/* Folding, rules, passes, elimination and inference until a round changes nothing. Sets that come before or after the
 * standard ones have the graph to themselves. */
static ox_status *rounds(ox_driver *d, uint32_t places, uint32_t level, bool late, bool early) {
  ox_graph *g = d->m->graph;
  bool standard = (places & OX_AT_WITH) != 0;
  d->early = early;
  OX_TRY(ox_driver_choose(d, places, level, late));
  if (!standard && !d->n_chosen) return NULL;
  for (int i = 0; i < MAX_ROUNDS; i++) {
    d->n_applied = d->n_held = 0;
    if (standard && !d->owner) OX_TRY(each_graph(d, g, invariant_all));
    if (standard && !d->owner && level >= OX_OPTIMIZE_EXTENDED) OX_TRY(each_graph(d, g, hoist_all));
    if (standard) OX_TRY(each_graph(d, g, fold_all));
    OX_TRY(each_graph(d, g, ox_driver_apply_rules));
    OX_TRY(each_graph(d, g, ox_driver_run_passes));
    if (standard) OX_TRY(each_graph(d, g, cse_all));
    OX_TRY(run_builtin(d, g, OX_PASS_DCE));
    if (d->o->verify) OX_TRY(ox_graph_verify(g));
    if (!d->n_applied) break;
    OX_TRY(infer(d));
  }
  return NULL;
}

/* ---- phases ---- */

static bool any_on(const ox_driver *d, uint32_t places, bool late_only) {
  for (uint32_t i = 0; i < d->book.n; i++) {
    const ox_book_row *r = &d->book.rows[i];
    if (ox_book_row_is_on(r, places, d->o->level, ox_driver_owner_name(d)) && (r->late || !late_only)) return true;
  }
  return false;
}

static ox_status *improve(ox_driver *d) {
  uint32_t level = d->o->level;
  bool early = level >= OX_OPTIMIZE_EXTENDED; /* owners' fusions are to come */
  OX_TRY(ox_origin_name_all(d->m));
  OX_TRY(infer(d));
  OX_TRY(rounds(d, OX_AT_BEFORE, level, true, early));
  OX_TRY(each_graph(d, d->m->graph, cse_all)); /* what layers make of shared weights is folded once, and stays shared */
  OX_TRY(rounds(d, OX_AT_WITH, OX_OPTIMIZE_BASIC, level < OX_OPTIMIZE_EXTENDED, early));
  if (level >= OX_OPTIMIZE_EXTENDED) OX_TRY(rounds(d, OX_AT_WITH, level, false, early));
  if (level >= OX_OPTIMIZE_EXTENDED && any_on(d, OX_AT_WITH, true)) OX_TRY(rounds(d, OX_AT_WITH, level, true, early));
  return rounds(d, OX_AT_AFTER, level, true, early);
}

/* Late rules wait until the others have found nothing more; what was held back for fusion is folded at last. An owner
 * without rules may want to see it and is left alone. */
static ox_status *improve_owned(ox_driver *d) {
  uint32_t level = d->o->level, places = OX_AT_WITH | OX_AT_OWNED;
  bool own = any_on(d, OX_AT_OWNED, false);
  if (!ox_rulebook_is_for(&d->book, ox_driver_owner_name(d))) return NULL;
  if (level < OX_OPTIMIZE_EXTENDED) return own ? rounds(d, places, level, true, false) : NULL;
  if (own) {
    OX_TRY(rounds(d, places, level, false, true));
    OX_TRY(rounds(d, places, level, true, true));
    if (!d->n_held && !d->n_applied) return NULL;
  }
  return rounds(d, places, level, true, false);
}

/* Operators that rules made may be of domains that the model does not import. */
static ox_status *import_domains(ox_model *m) {
  const char *known = NULL; /* domains are interned */
  for (ox_graph *g = m->graphs; g; g = g->next)
    for (ox_id i = 0; !g->dead && i < g->n_nodes; i++) {
      const char *domain = g->nodes[i].domain;
      if (g->nodes[i].dead || domain == known) continue;
      if (!ox_model_opset(m, domain)) OX_TRY(ox_model_set_opset(m, domain, 1));
      known = domain;
    }
  return NULL;
}

/* Nodes whose outputs all became constants; they cannot run, so they go with dce switched off, too. */
static void drop_idle(ox_model *m) {
  for (ox_graph *g = m->graphs; g; g = g->next)
    for (ox_id i = 0; !g->dead && i < g->n_nodes; i++)
      if (!g->nodes[i].dead && !ox_node_has_output(&g->nodes[i])) ox_graph_remove_node(g, i);
}

static ox_status *run(ox_driver *d, ox_status *(*phase)(ox_driver *d)) {
  OX_TRY(ox_rulebook_init(&d->book, d->m->alloc, d->o));
  d->chosen = OX_ARENA_ARRAY(&d->book.arena, ox_book_row *, d->book.n);
  if (!d->chosen) return ox_oom();
  for (uint32_t i = 0; !d->owner && i < d->o->n_disabled; i++) ox_driver_warn_unknown(d, "disabled", d->o->disabled[i]);
  if (!d->owner)
    ox_driver_warn_unknown(d, "dump before", d->o->dump_before),
        ox_driver_warn_unknown(d, "dump after", d->o->dump_after);
  OX_TRY(phase(d));
  drop_idle(d->m);
  OX_TRY(import_domains(d->m));
  return ox_graph_compact(d->m->graph);
}

static ox_status *infer_only(ox_driver *d) { return ox_infer_graph(d->m->graph, d->o, false); }

static ox_status *optimize(ox_model *m, ox_opt_options *o, uint16_t owner, ox_status *(*phase)(ox_driver *d)) {
  ox_driver d = {.o = o, .m = m, .owner = owner};
  size_t most = o->fold_bytes ? o->fold_bytes : default_fold_bytes, budget = most - OX_MIN(o->folded_bytes, most);
  d.budget = budget;
  ox_map_init(&d.roots, m->alloc);
  ox_status *st = run(&d, phase);
  ox_status *counted = ox_driver_count(&d);
  if (st)
    ox_status_free(counted);
  else
    st = counted;
  o->folded_bytes += budget - d.budget;
  ox_map_deinit(&d.roots);
  ox_rulebook_deinit(&d.book);
  return ox_status_note(st, "optimizing");
}

ox_status *ox_optimize(ox_model *m, ox_opt_options *o) {
  o->n_counts = 0, o->folded_bytes = 0;
  return optimize(m, o, OX_NO_OWNER, o->level >= OX_OPTIMIZE_BASIC ? improve : infer_only);
}

ox_status *ox_optimize_owned(ox_model *m, ox_opt_options *o, uint16_t owner) {
  if (o->level < OX_OPTIMIZE_BASIC) return NULL;
  return optimize(m, o, owner, improve_owned);
}

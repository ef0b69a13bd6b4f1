/* SPDX-License-Identifier: Apache-2.0
 * opt/sweep.c - rules by (level, late, name) over nodes in topological order until nothing more applies, and passes
 * that are data. A rule shrinks a measure of its own, so this ends; limits make sure. */
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "graph/registry.h"
#include "opt/driver.h"
#include "opt/rewriter.h"
#include "opt/match.h"

enum { MAX_SWEEPS = 40, MAX_AT_NODE = 32 };

typedef struct ox_rule_chain {
  ox_book_row *row;
  uint32_t next; /* in chains, or OX_NONE */
} chain;

/* ---- choosing ---- */

/* Calls |fn| for each alternative of the root of |r|: |n| characters at |op|. */
static ox_status *each_root(ox_driver *d, ox_book_row *row,
                            ox_status *(*fn)(ox_driver *d, ox_book_row *row, const char *op, size_t n)) {
  const ox_pat *root = &row->rule->pat[row->rule->n_pat - 1];
  const char *op = root->op;
  for (const ox_registry *r = root->activation ? d->m->registry : NULL; r; r = ox_registry_base(r)) {
    size_t n;
    const ox_op *const *all = ox_registry_all(r, &n);
    for (size_t i = 0; i < n; i++)
      if (all[i]->schema->activation) OX_TRY(fn(d, row, all[i]->schema->name, strlen(all[i]->schema->name)));
  }
  if (root->activation) return NULL;
  for (size_t n; *op; op += n + (op[n] == '|')) {
    n = strcspn(op, "|");
    OX_TRY(fn(d, row, op, n));
  }
  return NULL;
}

static ox_status *count_root(ox_driver *d, ox_book_row *row, const char *op, size_t n) {
  (void)row, (void)op, (void)n;
  d->n_chains++;
  return NULL;
}

/* Appends |row| to the chain of root operator |op|. */
static ox_status *add_root(ox_driver *d, ox_book_row *row, const char *op, size_t n) {
  char *name = ox_arena_str(&d->book.arena, op, n);
  if (!name) return ox_oom();
  uint32_t id = d->n_chains++, at = ox_map_find(&d->roots, name);
  d->chains[id] = (chain){row, OX_NONE};
  if (at == OX_NONE) return ox_map_put(&d->roots, name, id) ? NULL : ox_oom();
  while (d->chains[at].next != OX_NONE) at = d->chains[at].next;
  if (d->chains[at].row == row)
    d->n_chains--; /* an activation of several versions or domains */
  else
    d->chains[at].next = id;
  return NULL;
}

const char *ox_driver_owner_name(const ox_driver *d) {
  return d->owner && d->owner <= d->o->n_owners ? d->o->owners[d->owner - 1].name : NULL;
}

ox_status *ox_driver_choose(ox_driver *d, uint32_t places, uint32_t level, bool late) {
  const char *owner = ox_driver_owner_name(d);
  d->n_chosen = d->n_chains = 0;
  ox_map_deinit(&d->roots);
  for (uint32_t i = 0; i < d->book.n; i++) {
    ox_book_row *row = &d->book.rows[i];
    if (!ox_book_row_is_on(row, places, level, owner) || (row->late && !late)) continue;
    d->chosen[d->n_chosen++] = row;
    if (row->rule) OX_TRY(each_root(d, row, count_root));
  }
  d->chains = OX_ARENA_ARRAY(&d->book.arena, chain, d->n_chains);
  if (!d->chains) return ox_oom();
  d->n_chains = 0;
  for (uint32_t i = 0; i < d->n_chosen; i++)
    if (d->chosen[i]->rule) OX_TRY(each_root(d, d->chosen[i], add_root));
  return NULL;
}

/* ---- one application ---- */

static ox_status *take_failure(ox_rewriter *h) {
  ox_status *st = h->failed;
  h->failed = NULL;
  return st;
}

static ox_status *edit(ox_driver *d, ox_rewriter *h, ox_book_row *row, const ox_match *m) {
  ox_graph *g = h->rw.graph;
  ox_origin_start(&h->origin);
  ox_naming_start(&h->naming, g);
  OX_TRY(row->rule->apply(&h->rw, m));
  OX_TRY(take_failure(h));
  for (uint32_t i = 0; i < row->rule->n_pat; i++) OX_TRY(ox_rewriter_remove_unused(&h->rw, m->node[i]));
  OX_TRY(ox_naming_settle(&h->naming, g));
  OX_TRY(ox_origin_settle(&h->origin, g));
  d->n_applied++, row->n_applied++;
  return d->o->verify ? ox_graph_verify(g) : NULL;
}

static ox_status *apply(ox_driver *d, ox_rewriter *h, ox_book_row *row, const ox_match *m) {
  OX_TRY(ox_driver_dump(d, d->o->dump_before, "before", row->name));
  OX_TRY(ox_status_note(edit(d, h, row, m), "rule '%s'", row->name));
  return ox_driver_dump(d, d->o->dump_after, "after", row->name);
}

/* The first chosen rule that fits at |id|; NULL: none. */
static ox_status *find(ox_driver *d, ox_rewriter *h, ox_id id, ox_match *m, ox_book_row **out_row) {
  *out_row = NULL;
  const ox_graph *g = h->rw.graph;
  uint32_t c = ox_map_find(&d->roots, g->nodes[id].op);
  const ox_schema *schema = c == OX_NONE ? NULL : ox_node_schema(g->model, &g->nodes[id], NULL);
  for (; c != OX_NONE; c = d->chains[c].next) {
    ox_book_row *row = d->chains[c].row;
    if (!ox_rule_match(g, row->rule, id, schema, m)) continue;
    bool fits = !row->rule->guard || row->rule->guard(&h->rw, m);
    if (h->failed) return ox_status_note(take_failure(h), "guard of rule '%s'", row->name);
    if (fits) {
      *out_row = row;
      return NULL;
    }
    ox_rewriter_clear_scratch(h);
  }
  return NULL;
}

/* Rules at one node until none matches any more. */
static ox_status *visit(ox_driver *d, ox_rewriter *h, ox_id id) {
  ox_match m;
  ox_graph *g = h->rw.graph;
  OX_TRY(ox_watch_check(g->model->watch));
  for (int left = MAX_AT_NODE; left > 0; left--) {
    ox_book_row *row;
    if (g->nodes[id].dead || (d->owner && g->nodes[id].assigned.owner != d->owner)) return NULL;
    h->assigned = g->nodes[id].assigned;
    OX_TRY(find(d, h, id, &m, &row));
    if (!row) return NULL;
    OX_TRY(apply(d, h, row, &m));
    ox_rewriter_clear_scratch(h);
  }
  return NULL;
}

static ox_status *sweep(ox_driver *d, ox_rewriter *h) {
  ox_graph *g = h->rw.graph;
  ox_alloc a = g->model->alloc;
  ox_id *order = NULL;
  uint32_t n, n_alloc = g->n_nodes;
  OX_TRY(ox_graph_order(g, a, &order, &n));
  ox_status *st = NULL;
  for (uint32_t i = 0; !st && i < n; i++) st = visit(d, h, order[i]);
  ox_delete(a, order, n_alloc * sizeof *order);
  return st;
}

ox_status *ox_driver_apply_rules(ox_driver *d, ox_graph *g) {
  ox_rewriter h;
  ox_status *st = NULL;
  ox_rewriter_init(&h, g, d->o);
  for (int i = 0; !st && d->n_chains && i < MAX_SWEEPS; i++) {
    uint32_t before = d->n_applied;
    st = sweep(d, &h);
    if (d->n_applied == before) break;
  }
  ox_rewriter_deinit(&h);
  return st;
}

/* ---- passes ---- */

static int compare_assignments(const void *a, const void *b) {
  const ox_assignment *x = a, *y = b;
  if (x->owner != y->owner) return x->owner < y->owner ? -1 : 1;
  if (x->claim != y->claim) return x->claim < y->claim ? -1 : 1;
  return (x->part > y->part) - (x->part < y->part);
}

/* The assignments of live nodes, each once; at least one entry, so that an empty graph is seen, too. */
static uint32_t list_assignments(const ox_driver *d, const ox_graph *g, ox_assignment *list) {
  uint32_t n = 0, kept = 0;
  for (ox_id i = 0; i < g->n_nodes; i++)
    if (!g->nodes[i].dead && (!d->owner || g->nodes[i].assigned.owner == d->owner)) list[n++] = g->nodes[i].assigned;
  if (!n) list[n++] = (ox_assignment){.owner = d->owner};
  qsort(list, n, sizeof *list, compare_assignments);
  for (uint32_t i = 0; i < n; i++)
    if (!i || compare_assignments(&list[kept - 1], &list[i])) list[kept++] = list[i];
  return kept;
}

static ox_status *run_pass(ox_driver *d, ox_rewriter *h, ox_book_row *row) {
  uint32_t changes = 0;
  OX_TRY(ox_driver_dump(d, d->o->dump_before, "before", row->name));
  ox_naming_start(&h->naming, h->rw.graph);
  ox_status *st = row->pass->run(&h->rw, &changes);
  if (!st) st = take_failure(h);
  if (!st) st = ox_naming_settle(&h->naming, h->rw.graph);
  if (!st && changes && d->o->verify) st = ox_graph_verify(h->rw.graph);
  OX_TRY(ox_status_note(st, "pass '%s'", row->name));
  ox_rewriter_clear_scratch(h);
  d->n_applied += changes, row->n_applied += changes;
  return ox_driver_dump(d, d->o->dump_after, "after", row->name);
}

ox_status *ox_driver_run_passes(ox_driver *d, ox_graph *g) {
  ox_rewriter h;
  ox_status *st = NULL;
  uint32_t n_passes = 0;
  for (uint32_t i = 0; i < d->n_chosen; i++) n_passes += d->chosen[i]->pass != NULL;
  if (!n_passes) return NULL;
  size_t bytes = ((size_t)g->n_nodes + 1) * sizeof(ox_assignment);
  ox_assignment *list = ox_new(g->model->alloc, bytes);
  if (!list) return ox_oom();
  uint32_t n = list_assignments(d, g, list);
  ox_rewriter_init(&h, g, d->o);
  h.tracks = false;
  for (uint32_t i = 0; !st && i < d->n_chosen; i++)
    for (uint32_t k = 0; !st && d->chosen[i]->pass && k < n; k++) {
      h.assigned = list[k];
      st = run_pass(d, &h, d->chosen[i]);
    }
  ox_rewriter_deinit(&h);
  ox_delete(g->model->alloc, list, bytes);
  return st;
}

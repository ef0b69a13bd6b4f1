/* SPDX-License-Identifier: Apache-2.0
 * opt/driver.c - the order of things: rules by (level, late, name) over nodes in topological order until nothing more
 * applies, and the passes that are not local. A rule shrinks a measure of its own, so this ends; limits make sure. */
#include <stdlib.h>
#include <string.h>

#include "opt/match.h"

#define OX_RULES(stem) extern const ox_rule_set ox_rules_##stem;
#include "rule_list.inc" /* the build writes OX_RULES(stem) for each src/opt/rules/<stem>.c, sorted */
#undef OX_RULES

static const ox_rule_set *const sets[] = {
#define OX_RULES(stem) &ox_rules_##stem,
#include "rule_list.inc"
#undef OX_RULES
};

enum { MAX_RULES = 256, MAX_SWEEPS = 40, MAX_AT_NODE = 32, MAX_ROUNDS = 4, MAX_ROOTS = 512 };
static const size_t default_fold_bytes = (size_t)1 << 30;

/* The rules of one pass, found by the operator of their root. */
typedef struct chain {
  const ox_rule *rule;
  uint32_t next; /* in chains, or OX_NONE */
} chain;

typedef struct driver {
  ox_opt_options *o;
  ox_model *m;
  const ox_rule *rules[MAX_RULES]; /* all enabled ones, sorted */
  uint32_t n_rules;
  chain chains[MAX_ROOTS];
  uint32_t n_chains;
  ox_map roots;
  char root_names[MAX_ROOTS][32];
  size_t budget;
  uint32_t n_applied; /* by the pass that runs */
} driver;

static bool disabled(const ox_opt_options *o, const char *name) {
  for (uint32_t i = 0; i < o->n_disabled; i++)
    if (strcmp(o->disabled[i], name) == 0) return true;
  return false;
}

static void count(driver *d, const char *name, uint32_t n) {
  ox_opt_options *o = d->o;
  if (!n || !o->counts) return;
  for (uint32_t i = 0; i < o->n_counts; i++)
    if (strcmp(o->counts[i].rule, name) == 0) {
      o->counts[i].n += n;
      return;
    }
  if (o->n_counts < o->max_counts) o->counts[o->n_counts++] = (ox_opt_count){name, n};
}

/* ---- choosing rules ---- */

static int compare_rules(const void *a, const void *b) {
  const ox_rule *x = *(const ox_rule *const *)a, *y = *(const ox_rule *const *)b;
  if (x->level != y->level) return x->level < y->level ? -1 : 1;
  if (x->late != y->late) return x->late ? 1 : -1;
  int c = strcmp(x->name, y->name);
  return c ? c : (x > y) - (x < y); /* one name stands once per set: the order there */
}

static void collect_rules(driver *d) {
  for (size_t s = 0; s < OX_COUNT(sets); s++)
    for (size_t i = 0; i < sets[s]->n && d->n_rules < MAX_RULES; i++)
      if (sets[s]->rules[i].level <= d->o->level && !disabled(d->o, sets[s]->rules[i].name))
        d->rules[d->n_rules++] = &sets[s]->rules[i];
  qsort(d->rules, d->n_rules, sizeof d->rules[0], compare_rules);
}

/* Appends |rule| to the chain of root operator |op|. */
static ox_status *add_root(driver *d, const char *op, size_t len, const ox_rule *rule) {
  char *name = d->root_names[d->n_chains];
  if (d->n_chains == MAX_ROOTS || len >= sizeof d->root_names[0]) return ox_fail(OX_LIMIT, "too many rules");
  memcpy(name, op, len), name[len] = 0;
  uint32_t id = d->n_chains++, at = ox_map_find(&d->roots, name);
  d->chains[id] = (chain){rule, OX_NONE};
  if (at == OX_NONE) return ox_map_put(&d->roots, name, id) ? NULL : ox_oom();
  while (d->chains[at].next != OX_NONE) at = d->chains[at].next;
  d->chains[at].next = id;
  return NULL;
}

/* The rules up to |level|; the late ones only if |late|. */
static ox_status *choose_rules(driver *d, ox_opt_level level, bool late) {
  ox_map_deinit(&d->roots);
  d->n_chains = 0;
  for (uint32_t i = 0; i < d->n_rules; i++) {
    const ox_rule *r = d->rules[i];
    if (r->level > level || (r->late && !late)) continue;
    const char *op = r->pat[r->n_pat - 1].op;
    for (size_t len; *op; op += len + (op[len] == '|')) {
      len = strcspn(op, "|");
      OX_TRY(add_root(d, op, len, r));
    }
  }
  return NULL;
}

/* ---- applying ---- */

static void put_line(void *ctx, const char *text) { ox_log_write(ctx, OX_LOG_INFO, "%s", text); }

static ox_status *applied(driver *d, ox_graph *g, const ox_rule *r, const ox_match *m) {
  for (uint32_t i = 0; i < r->n_pat; i++)
    if (m->node[i] < g->n_nodes) OX_TRY(ox_dce_from(g, m->node[i]));
  d->n_applied++;
  count(d, r->name, 1);
  if (d->o->verify) OX_TRY(ox_status_note(ox_graph_verify(g), "after rule '%s'", r->name));
  if (d->o->dump_after && d->o->log && strcmp(d->o->dump_after, r->name) == 0)
    ox_graph_print(g, put_line, (void *)d->o->log);
  return NULL;
}

/* Rules at one node until none matches any more. */
static ox_status *visit(driver *d, ox_graph *g, ox_id id) {
  ox_match m;
  for (int left = MAX_AT_NODE; left > 0; left--) {
    const ox_rule *r = NULL;
    if (g->nodes[id].dead) return NULL;
    for (uint32_t c = ox_map_find(&d->roots, g->nodes[id].op); c != OX_NONE; c = d->chains[c].next) {
      r = d->chains[c].rule;
      if (ox_rule_match(g, r, id, &m) && (!r->guard || r->guard(g, &m))) break;
      r = NULL;
    }
    if (!r) return NULL;
    OX_TRY(ox_status_note(r->apply(g, &m), "rule '%s'", r->name));
    OX_TRY(applied(d, g, r, &m));
  }
  return NULL;
}

static ox_status *sweep(driver *d, ox_graph *g) {
  ox_alloc a = g->model->alloc;
  ox_id *order = NULL;
  uint32_t n, n_alloc = g->n_nodes;
  OX_TRY(ox_graph_order(g, a, &order, &n));
  ox_status *st = NULL;
  for (uint32_t i = 0; !st && i < n; i++) st = visit(d, g, order[i]);
  ox_delete(a, order, n_alloc * sizeof *order);
  return st;
}

/* Calls |fn| for |g| and the bodies in it, innermost first. */
static ox_status *each_graph(driver *d, ox_graph *g, ox_status *(*fn)(driver *d, ox_graph *g)) {
  for (ox_id i = 0; i < g->n_nodes; i++) {
    ox_graph *b;
    for (uint32_t k = 0; !g->nodes[i].dead && (b = ox_node_body(&g->nodes[i], k)); k++) OX_TRY(each_graph(d, b, fn));
  }
  return fn(d, g);
}

static ox_status *run_rules(driver *d, ox_graph *g) {
  for (int i = 0; i < MAX_SWEEPS; i++) {
    uint32_t before = d->n_applied;
    OX_TRY(sweep(d, g));
    if (d->n_applied == before) break;
  }
  return NULL;
}

/* ---- passes ---- */

static ox_status *fold(driver *d, ox_graph *g, bool early) {
  uint32_t n = 0;
  if (disabled(d->o, "fold")) return NULL;
  OX_TRY(ox_fold_graph(g, d->o, early && d->o->level >= OX_LEVEL_EXTENDED, &d->budget, &n));
  d->n_applied += n;
  count(d, "fold", n);
  return NULL;
}

static ox_status *fold_early(driver *d, ox_graph *g) { return fold(d, g, true); }
static ox_status *fold_late(driver *d, ox_graph *g) { return fold(d, g, false); }

static ox_status *cse(driver *d, ox_graph *g) {
  uint32_t n = 0;
  if (disabled(d->o, "cse")) return NULL;
  OX_TRY(ox_cse_graph(g, &n));
  d->n_applied += n;
  count(d, "cse", n);
  return NULL;
}

static ox_status *dce(driver *d) {
  uint32_t n = 0;
  if (disabled(d->o, "dce")) return NULL;
  OX_TRY(ox_dce_graph(d->m->graph, &n));
  count(d, "dce", n);
  return NULL;
}

/* Inference, folding, rules and elimination until a round changes nothing. */
static ox_status *rounds(driver *d, ox_opt_level level, bool late, ox_status *(*folding)(driver *d, ox_graph *g)) {
  ox_graph *g = d->m->graph;
  OX_TRY(choose_rules(d, level, late));
  for (int i = 0; i < MAX_ROUNDS; i++) {
    d->n_applied = 0;
    OX_TRY(each_graph(d, g, folding));
    OX_TRY(each_graph(d, g, run_rules));
    OX_TRY(each_graph(d, g, cse));
    OX_TRY(dce(d));
    if (d->o->verify) OX_TRY(ox_graph_verify(g));
    if (!d->n_applied) break;
    OX_TRY(ox_infer_graph(g, d->o, true));
  }
  return NULL;
}

static ox_status *improve(driver *d) {
  OX_TRY(rounds(d, OX_LEVEL_BASIC, false, fold_early));
  if (d->o->level >= OX_LEVEL_EXTENDED) {
    /* fused operators live in domains a model need not import */
    if (!ox_model_opset(d->m, "com.microsoft")) OX_TRY(ox_model_set_opset(d->m, "com.microsoft", 1));
    if (!ox_model_opset(d->m, "ai.onyx")) OX_TRY(ox_model_set_opset(d->m, "ai.onyx", 1));
    OX_TRY(rounds(d, d->o->level, false, fold_early));
    OX_TRY(rounds(d, d->o->level, true, fold_early));
    OX_TRY(rounds(d, d->o->level, true, fold_late));
  }
  return NULL;
}

static void report(const ox_opt_options *o) {
  for (uint32_t i = 0; o->log && i < o->n_counts; i++)
    ox_log_write(o->log, OX_LOG_INFO, "optimizer: %s x %u", o->counts[i].rule, o->counts[i].n);
}

ox_status *ox_optimize(ox_model *m, ox_opt_options *o) {
  ox_opt_count counts[MAX_RULES + 3];
  bool own_counts = !o->counts;
  if (own_counts) o->counts = counts, o->max_counts = OX_COUNT(counts);
  o->n_counts = 0;
  driver *d = ox_new_zeroed(m->alloc, sizeof *d);
  ox_status *st = d ? ox_infer_graph(m->graph, o, o->level >= OX_LEVEL_BASIC) : ox_oom();
  if (d) {
    d->o = o, d->m = m, d->budget = o->fold_bytes ? o->fold_bytes : default_fold_bytes;
    ox_map_init(&d->roots, m->alloc);
    collect_rules(d);
    if (!st && o->level >= OX_LEVEL_BASIC) st = improve(d);
    ox_map_deinit(&d->roots);
    ox_delete(m->alloc, d, sizeof *d);
  }
  if (!st) st = ox_graph_compact(m->graph);
  report(o);
  if (own_counts) o->counts = NULL, o->max_counts = o->n_counts = 0;
  return ox_status_note(st, "optimizing");
}

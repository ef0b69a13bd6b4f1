/* SPDX-License-Identifier: Apache-2.0
 * session/placement.c - see placement.h. */
#include "session/placement.h"

#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "graph/extract.h"
#include "plan/transfers.h"

typedef struct {
  ox_session *s;
  ox_arena *arena;
  const char *path; /* of the graph */
  const char *part;
  size_t n;         /* found so far */
} walk;

static const char *how_of(const ox_unit *u) {
  static const char *const names[] = {[OX_UNIT_KERNEL] = "kernel", [OX_UNIT_PROGRAM] = "program", [OX_UNIT_VIEW] = "view",
                                      [OX_UNIT_CONTROL] = "control", [OX_UNIT_COPY] = "copy",
                                      [OX_UNIT_REFUSED] = "refused"};
  return names[u->kind];
}

/* The refusals of |n|, the first provider's first. */
static ox_status *list_refusals(const walk *w, const ox_node *n, ox_placement *p) {
  size_t count = 0;
  for (const ox_refusal *r = n->refusals; r; r = r->next) count++;
  if (!count) return NULL;
  const char **by = OX_ARENA_ARRAY(w->arena, const char *, count), **why = OX_ARENA_ARRAY(w->arena, const char *, count);
  if (!by || !why) return ox_oom();
  p->n_refusals = count, p->refused_by = by, p->refused_why = why;
  for (const ox_refusal *r = n->refusals; r; r = r->next) {
    count--;
    by[count] = ox_owner_name(w->s->providers, w->s->n_providers, r->owner), why[count] = r->why;
  }
  return NULL;
}

static ox_status *add(walk *w, const ox_graph *g, const ox_node *n, const char *how) {
  int64_t version = ox_node_version(g->model, n);
  if (w->s->placement) {
    ox_placement *p = &w->s->placement[w->n];
    *p = (ox_placement){.graph = w->path, .name = n->name, .op = n->op, .domain = n->domain,
                        .version = version > 0 ? (uint32_t)version : 1, .how = how, .part = w->part,
                        .owner = ox_owner_name(w->s->providers, w->s->n_providers, n->assigned.owner),
                        .n_from = n->n_from, .from = n->from};
    w->s->placed[w->n] = n, w->s->labels[w->n] = ox_node_label(g, n);
    OX_TRY(list_refusals(w, n, p));
  }
  w->n++;
  return NULL;
}

static ox_status *add_part(walk *w, const ox_graph *part, const char *name) {
  walk inner = *w;
  inner.part = name;
  for (ox_id i = 0; i < part->n_nodes; i++)
    if (!part->nodes[i].dead) OX_TRY(add(&inner, part, &part->nodes[i], "program"));
  w->n = inner.n;
  return NULL;
}

static ox_status *add_plan(walk *w, const ox_plan *p);

static ox_status *add_bodies(walk *w, const ox_unit *u, const ox_node *n) {
  uint32_t k = 0;
  for (uint32_t i = 0; i < n->n_attrs && k < u->n_bodies; i++) {
    if (!n->attrs[i].graph) continue;
    walk inner = *w;
    char path[256];
    int len = snprintf(path, sizeof path, "%s%s%s.%s", w->path, *w->path ? "." : "", *n->name ? n->name : n->op,
                       n->attrs[i].name);
    inner.path = ox_arena_str(w->arena, path, OX_MIN((size_t)len, sizeof path - 1));
    if (!inner.path) return ox_oom();
    OX_TRY(add_plan(&inner, u->bodies[k++]));
    w->n = inner.n;
  }
  return NULL;
}

static ox_status *add_plan(walk *w, const ox_plan *p) {
  for (uint32_t i = 0; i < p->n_units; i++) {
    const ox_unit *u = &p->units[i];
    const ox_node *n = ox_graph_node(p->graph, u->node);
    if (u->kind == OX_UNIT_PROGRAM) OX_TRY(add_part(w, ox_node_part(n), n->name));
    else OX_TRY(add(w, p->graph, n, how_of(u)));
    if (u->kind == OX_UNIT_CONTROL) OX_TRY(add_bodies(w, u, n));
  }
  return NULL;
}

/* Counted first, then filled in. */
ox_status *ox_placement_list(ox_session *s) {
  walk w = {.s = s, .arena = &s->model->arena, .path = "", .part = ""};
  OX_TRY(add_plan(&w, s->plan));
  s->n_placement = w.n, w.n = 0;
  s->placed = OX_ARENA_ARRAY(w.arena, const ox_node *, s->n_placement);
  s->labels = OX_ARENA_ARRAY(w.arena, const char *, s->n_placement);
  if (!s->placed || !s->labels || !(s->placement = OX_ARENA_ARRAY(w.arena, ox_placement, s->n_placement)))
    return ox_oom();
  return add_plan(&w, s->plan);
}

int ox_session_placement(const ox_session *s, size_t i, ox_placement *out) {
  if (i >= s->n_placement) return 0;
  *out = s->placement[i];
  return 1;
}

/* The node that computes |v|: for a copy, the node whose output it copies; in a program, the node inside it. */
static const ox_node *maker(const ox_graph *g, ox_id v) {
  for (;;) {
    const ox_graph_value *value = &g->values[v];
    if (value->producer == OX_NONE) return NULL;
    const ox_node *n = ox_graph_node(g, value->producer);
    const ox_graph *part = ox_node_part(n);
    if (part)
      v = part->outputs[value->producer_slot], g = part;
    else if (ox_node_is_copy(n))
      v = n->in[0];
    else
      return n;
  }
}

size_t ox_session_output_node(const ox_session *s, size_t i) {
  const ox_graph *g = s->model->graph;
  const ox_node *n = i < g->n_outputs ? maker(g, g->outputs[i]) : NULL;
  for (size_t k = 0; n && k < s->n_placement; k++)
    if (s->placed[k] == n) return k;
  return SIZE_MAX;
}

/* ---- assertions ---- */

typedef struct {
  bool all; /* "all X on P", else "no X on P" */
  ox_str nodes, provider;
} assertion;

static ox_str next_word(const char **at) {
  *at += strspn(*at, " ");
  ox_str word = {*at, strcspn(*at, " ")};
  *at += word.n;
  return word;
}

static bool is_word(ox_str w, const char *text) { return w.n == strlen(text) && memcmp(w.p, text, w.n) == 0; }

static ox_status *parse(const char *text, assertion *out) {
  const char *at = text ? text : "";
  ox_str quantor = next_word(&at), nodes = next_word(&at), on = next_word(&at), provider = next_word(&at);
  bool all = is_word(quantor, "all"), no = is_word(quantor, "no");
  if (!(all || no) || !nodes.n || !is_word(on, "on") || !provider.n || next_word(&at).n)
    return ox_fail(OX_INVALID_ARGUMENT, "requirement '%s': wanted 'no NODES on PROVIDER' or 'all NODES on PROVIDER'",
                   text ? text : "");
  *out = (assertion){all, nodes, provider};
  return NULL;
}

static bool concerns(const assertion *a, const ox_placement *p) {
  if (is_word(a->nodes, "node") || is_word(a->nodes, "nodes")) return true;
  for (size_t i = 0; i < a->nodes.n;) {
    size_t n = 0;
    while (i + n < a->nodes.n && a->nodes.p[i + n] != '|') n++;
    if (strlen(p->op) == n && memcmp(p->op, a->nodes.p + i, n) == 0) return true;
    i += n + 1;
  }
  return false;
}

enum { MOST_NAMED = 4 };

/* "node 'x' (Conv) is on cpu (null: the null provider takes nothing)". */
static size_t describe(const ox_placement *p, char *text, size_t room) {
  int at = snprintf(text, room, "; node '%s' (%s) is on %s", p->name, p->op, p->owner);
  for (size_t i = 0; i < p->n_refusals && at >= 0 && (size_t)at < room; i++)
    at += snprintf(text + at, room - (size_t)at, "%s%s: %s%s", i ? ", " : " (", p->refused_by[i], p->refused_why[i],
                   i + 1 == p->n_refusals ? ")" : "");
  return at < 0 ? 0 : OX_MIN((size_t)at, room - 1);
}

static ox_status *check(const ox_session *s, const assertion *a, const char *text) {
  char found[1024] = "";
  size_t at = 0, n = 0;
  for (size_t i = 0; i < s->n_placement; i++) {
    const ox_placement *p = &s->placement[i];
    if (!concerns(a, p) || is_word(a->provider, p->owner) == a->all) continue;
    if (n++ < MOST_NAMED) at += describe(p, found + at, sizeof found - at);
  }
  if (!n) return NULL;
  return ox_fail(OX_FAIL, "required: %s; nodes that violate it: %zu%s%s", text, n, found, n > MOST_NAMED ? "; ..." : "");
}

ox_status *ox_placement_require(const ox_session *s, const char *const *require, size_t n) {
  for (size_t i = 0; i < n; i++) {
    assertion a;
    OX_TRY(parse(require[i], &a));
    OX_TRY(check(s, &a, require[i]));
  }
  return NULL;
}

/* SPDX-License-Identifier: Apache-2.0
 * cli/info_plan.c - see info_plan.h. */
#include "info_plan.h"

#include <string.h>

enum { MOST_OWNERS = 64, WIDEST = 44 };

/* ---- per owner ---- */

static const char *const ways[] = {"kernel", "program", "view", "control", "copy", "refused"};
enum { WAYS = sizeof ways / sizeof *ways };

typedef struct {
  const char *name;
  size_t nodes, by_way[WAYS], parts;
} owner;

typedef struct {
  owner owners[MOST_OWNERS];
  size_t n;
} owners;

static owner *find(owners *all, const char *name) {
  for (size_t i = 0; i < all->n; i++)
    if (strcmp(all->owners[i].name, name) == 0) return &all->owners[i];
  if (all->n == MOST_OWNERS) return &all->owners[MOST_OWNERS - 1]; /* a session has fewer */
  all->owners[all->n] = (owner){.name = name};
  return &all->owners[all->n++];
}

static void count(const ox_session *s, owners *all) {
  ox_placement p;
  const char *part = "";
  for (size_t i = 0; ox_session_placement(s, i, &p); i++) {
    owner *o = find(all, p.owner);
    o->nodes++;
    for (size_t k = 0; k < WAYS; k++) o->by_way[k] += strcmp(p.how, ways[k]) == 0;
    o->parts += *p.part && strcmp(p.part, part) != 0; /* the nodes of a program follow each other */
    part = p.part;
  }
}

/* ---- as text ---- */

static int operator_text(const ox_placement *p, char *out, size_t n) {
  return snprintf(out, n, "%s%s%s(%u)", p->domain, *p->domain ? "." : "", p->op, p->version);
}

static int wider(int width, size_t text) {
  return text > (size_t)width && text <= WIDEST ? (int)text : width; /* what is longer stands out */
}

typedef struct {
  int node, op, owner, how;
} widths;

static widths measure(const ox_session *s) {
  ox_placement p;
  char text[256];
  widths w = {(int)strlen("node"), (int)strlen("operator"), (int)strlen("owner"), (int)strlen("runs as")};
  for (size_t i = 0; ox_session_placement(s, i, &p); i++) {
    w.node = wider(w.node, strlen(p.name)), w.op = wider(w.op, (size_t)operator_text(&p, text, sizeof text));
    w.owner = wider(w.owner, strlen(p.owner)), w.how = wider(w.how, strlen(p.how));
  }
  return w;
}

/* Its name, its program, what it was made of, which providers declined it. */
static void print_node(const ox_placement *p, int width) {
  const char *before = "  ";
  bool notes = *p->part || p->n_from || p->n_refusals;
  printf("%-*s", notes ? width : 0, *p->name ? p->name : "-");
  if (*p->part) printf("%sin %s", before, p->part), before = "; ";
  for (size_t i = 0; i < p->n_from; i++) printf("%s%s", i ? ", " : before, p->from[i]);
  if (p->n_from) before = "; ";
  for (size_t i = 0; i < p->n_refusals; i++, before = "; ")
    printf("%snot %s: %s", before, p->refused_by[i], p->refused_why[i]);
  printf("\n");
}

void cli_plan_print(const ox_session *s) {
  ox_placement p;
  owners all = {.n = 0};
  char text[256];
  const char *graph = "";
  widths w = measure(s);
  printf("%-*s  %-*s  %-*s  %-*s  program; made of; declined\n", w.owner, "owner", w.how, "runs as", w.op, "operator",
         w.node, "node");
  for (size_t i = 0; ox_session_placement(s, i, &p); i++) {
    if (strcmp(graph, p.graph) != 0) printf("%s:\n", *p.graph ? p.graph : "main graph");
    graph = p.graph;
    operator_text(&p, text, sizeof text);
    printf("%-*s  %-*s  %-*s  ", w.owner, p.owner, w.how, p.how, w.op, text);
    print_node(&p, w.node);
  }
  count(s, &all);
  printf("\n");
  for (size_t i = 0; i < all.n; i++) {
    const owner *o = &all.owners[i];
    const char *before = "";
    printf("%s: %zu nodes (", o->name, o->nodes);
    for (size_t k = 0; k < WAYS; k++)
      if (o->by_way[k]) printf("%s%zu %s", before, o->by_way[k], ways[k]), before = ", ";
    printf(")");
    if (o->parts) printf(" in %zu programs", o->parts);
    printf("\n");
  }
}

/* ---- as JSON ---- */

static void write_node(ox_json *j, const ox_placement *p) {
  ox_json_begin_object(j);
  ox_json_string(ox_json_key(j, "graph"), p->graph);
  ox_json_string(ox_json_key(j, "name"), p->name);
  ox_json_string(ox_json_key(j, "operator"), p->op);
  ox_json_string(ox_json_key(j, "domain"), p->domain);
  ox_json_uint(ox_json_key(j, "version"), p->version);
  ox_json_string(ox_json_key(j, "owner"), p->owner);
  ox_json_string(ox_json_key(j, "how"), p->how);
  ox_json_string(ox_json_key(j, "program"), p->part);
  ox_json_begin_array(ox_json_key(j, "from"));
  for (size_t i = 0; i < p->n_from; i++) ox_json_string(j, p->from[i]);
  ox_json_end_array(j);
  ox_json_begin_object(ox_json_key(j, "declined"));
  for (size_t i = 0; i < p->n_refusals; i++) ox_json_string(ox_json_key(j, p->refused_by[i]), p->refused_why[i]);
  ox_json_end_object(j);
  ox_json_end_object(j);
}

void cli_plan_print_json(const ox_session *s) {
  ox_placement p;
  owners all = {.n = 0};
  ox_json j = cli_json();
  ox_json_begin_object(&j);
  ox_json_begin_array(ox_json_key(&j, "nodes"));
  for (size_t i = 0; ox_session_placement(s, i, &p); i++) write_node(&j, &p);
  ox_json_end_array(&j);
  count(s, &all);
  ox_json_begin_object(ox_json_key(&j, "owners"));
  for (size_t i = 0; i < all.n; i++) {
    const owner *o = &all.owners[i];
    ox_json_begin_object(ox_json_key(&j, o->name));
    ox_json_uint(ox_json_key(&j, "nodes"), o->nodes);
    for (size_t k = 0; k < WAYS; k++) ox_json_uint(ox_json_key(&j, ways[k]), o->by_way[k]);
    ox_json_uint(ox_json_key(&j, "programs"), o->parts);
    ox_json_end_object(&j);
  }
  ox_json_end_object(&j);
  ox_json_end_object(&j);
  ox_json_end(&j);
}

/* SPDX-License-Identifier: Apache-2.0
 * support/claim_rule.c - see claim_rule.h. */
#include "support/claim_rule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "ops/builtin.h"

const ox_option_def claim_rule_options[CLAIM_RULE_OPTIONS] = {
    {"claims", OX_OPTION_STRING, "all|none|but_one|second|random|parts", "all", "which nodes"},
    {"as", OX_OPTION_STRING, "kernels|programs|either", "kernels", "how they are claimed"},
    {"seed", OX_OPTION_INT, NULL, "0", "of the choice"},
    {"ops", OX_OPTION_STRING, NULL, "", "only these operators"},
    {"no_bodies", OX_OPTION_BOOL, NULL, "0", "operators with bodies are left"}};

static int index_in(const char *list, const char *value) {
  int at = 0;
  for (size_t n = strlen(value); *list; at++) {
    size_t len = strcspn(list, "|");
    if (len == n && memcmp(list, value, n) == 0) return at;
    list += len + (list[len] == '|');
  }
  return 0;
}

void claim_rule_read(claim_rule *r, const ox_options *o) {
  *r = (claim_rule){.pick = PICK_ALL};
  for (uint32_t i = 0; o && i < o->n; i++) {
    const char *key = o->keys[i], *value = o->values[i];
    if (strcmp(key, "claims") == 0) r->pick = (claim_pick)index_in(claim_rule_options[0].values, value);
    if (strcmp(key, "as") == 0) r->as = (claim_as)index_in(claim_rule_options[1].values, value);
    if (strcmp(key, "seed") == 0) r->seed = (uint32_t)strtoul(value, NULL, 10);
    if (strcmp(key, "ops") == 0) snprintf(r->ops, sizeof r->ops, "|%s|", value);
    if (strcmp(key, "no_bodies") == 0) r->no_bodies = index_in("0|1|false|true", value) % 2;
  }
}

/* ---- what can be claimed ---- */

static bool has_bodies(const ox_ep_host *h, const ox_graph_view *g, size_t node) {
  ox_attr_view a;
  for (size_t i = 0; i < h->node_attr_count(g, node); i++)
    if (h->node_attr_at(g, node, i, &a) && a.kind == OX_ATTR_GRAPH_KIND) return true;
  return false;
}

bool claim_rule_cpu_has(const ox_ep_host *h, const ox_graph_view *g, size_t node, bool bodies) {
  const ox_op *op =
      ox_registry_find(ox_ops_builtin(), h->node_domain(g, node), h->node_op(g, node), h->node_version(g, node));
  ox_attr_view a;
  if (!has_bodies(h, g, node)) return op && ((op->kernel && op->kernel->run) || (op->schema->traits & OX_VIEW));
  for (size_t i = 0; i < h->node_attr_count(g, node); i++) {
    const char *name = h->node_attr_at(g, node, i, &a);
    const ox_graph_view *body = a.kind == OX_ATTR_GRAPH_KIND ? h->node_body(g, node, name) : NULL;
    for (size_t k = 0; body && k < h->node_count(body); k++)
      if (!claim_rule_cpu_has(h, body, k, true)) return false;
  }
  return bodies;
}

static bool is_numbers(const ox_ep_host *h, const ox_graph_view *g, uint32_t value) {
  uint32_t kind, dtype;
  ox_shape shape;
  if (value == UINT32_MAX) return true;
  h->value_type(g, value, &kind, &dtype, &shape);
  return kind == OX_TENSOR && dtype != OX_STRING && dtype != OX_UNDEFINED;
}

bool claim_rule_all_numbers(const ox_ep_host *h, const ox_graph_view *g, size_t node) {
  bool all = true;
  for (size_t i = 0; i < h->node_in_count(g, node); i++) all &= is_numbers(h, g, h->node_in(g, node, i));
  for (size_t i = 0; i < h->node_out_count(g, node); i++) all &= is_numbers(h, g, h->node_out(g, node, i));
  return all;
}

/* ---- claiming ---- */

typedef struct {
  const claim_rule *r;
  const ox_ep_host *h;
  const ox_graph_view *g;
  ox_claims *claims;
  uint32_t random;
} turn;

static uint32_t next(turn *t) { return (t->random = t->random * 1664525 + 1013904223) >> 8; }

static bool named(const claim_rule *r, const char *op) {
  char word[80];
  snprintf(word, sizeof word, "|%s|", op);
  return !r->ops[0] || strstr(r->ops, word);
}

static bool wanted(turn *t, size_t i, size_t n) {
  switch (t->r->pick) {
    case PICK_NONE:
      return false;
    case PICK_BUT_ONE:
      return i != t->r->seed % n;
    case PICK_SECOND:
      return (i + t->r->seed) % 2;
    case PICK_RANDOM:
      return next(t) % 4 < 1 + t->r->seed % 3;
    default:
      return true;
  }
}

static void claim_one(turn *t, size_t i, bool kernel, bool program) {
  bool as_program = t->r->as == AS_PROGRAMS || (t->r->as == AS_EITHER && next(t) % 2);
  if (as_program && program)
    t->h->claim_fused(t->claims, i);
  else if (kernel && t->r->as != AS_PROGRAMS)
    t->h->claim_node(t->claims, i);
  else
    t->h->decline(t->claims, i, "not as the options want it");
}

/* Groups of up to eight nodes that lie close together; what would close a cycle is left to others. */
static void claim_parts(turn *t, const bool *fit, size_t n) {
  size_t nodes[8];
  for (size_t i = 0; i < n; i++) {
    size_t count = 0, most = 1 + next(t) % OX_COUNT(nodes);
    for (size_t k = i; k < n && count < most; k++)
      if (fit[k] && next(t) % 3) nodes[count++] = k;
    if (count) ox_status_free(t->h->claim_part(t->claims, nodes, count));
  }
}

ox_status *claim_rule_apply(const claim_rule *r, const ox_ep_host *h, const ox_graph_view *g, ox_claims *claims,
                            bool (*able)(const ox_ep_host *h, const ox_graph_view *g, size_t node)) {
  size_t n = h->node_count(g);
  turn t = {r, h, g, claims, r->seed * 2654435761u + (uint32_t)n};
  bool *fit = calloc(n + 1, 1);
  if (!fit) return h->status_make(OX_OUT_OF_MEMORY, "out of memory");
  for (size_t i = 0; i < n; i++) {
    bool mine = named(r, h->node_op(g, i)) && wanted(&t, i, n) && (!able || able(h, g, i));
    bool kernel = mine && claim_rule_cpu_has(h, g, i, false);
    fit[i] = mine && claim_rule_cpu_has(h, g, i, !r->no_bodies);
    if (r->pick != PICK_PARTS) claim_one(&t, i, kernel, fit[i]);
  }
  if (r->pick == PICK_PARTS) claim_parts(&t, fit, n);
  free(fit);
  return NULL;
}

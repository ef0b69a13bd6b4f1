/* SPDX-License-Identifier: Apache-2.0
 * opt/match.c - patterns matched from the root. Where inputs may be swapped, every choice is tried: one bit of |swaps|
 * per commutative node, so a pattern with n of them costs at most 2^n walks, and most end at the first node. */
#include "opt/match.h"

#include <string.h>

#include "base/macros.h"
#include "graph/registry.h"

typedef struct walk {
  const ox_graph *g;
  const ox_rule *rule;
  ox_match *m;
  ox_id root;
  const ox_schema *root_schema;
  const ox_assignment *assigned;
  uint32_t swaps; /* this try: bit per pattern node */
  uint32_t asked; /* commutative nodes that were reached */
} walk;

/* |name| is one of the words of |list|, which are separated by '|'. Asked of every node by every rule, and nearly always
 * answered by the first letter: calls of strlen and strncmp would be most of it. */
static bool in_words(const char *name, const char *list) {
  for (const char *p = list;; p++) {
    const char *n = name;
    while (*n && *n == *p) n++, p++;
    if (!*n && (!*p || *p == '|')) return true;
    while (*p && *p != '|') p++;
    if (!*p) return false;
  }
}

bool ox_node_is(const ox_node *n, const char *ops, const char *domain) {
  return !n->dead && in_words(n->op, ops) && strcmp(n->domain, domain ? domain : "") == 0;
}

static bool other_outputs_unused(const ox_graph *g, const ox_node *n) {
  for (uint32_t i = 1; i < n->n_out; i++)
    if (n->out[i] != OX_NONE && ox_graph_use_count(g, n->out[i])) return false;
  return true;
}

static bool match_node(walk *w, uint32_t i, ox_id id);

static bool match_input(walk *w, const ox_pat_in *p, ox_id v) {
  switch (p->kind) {
    case OX_PAT_ANY:
      return true;
    case OX_PAT_ABSENT:
      return v == OX_NONE;
    case OX_PAT_FROM:
      if (v == OX_NONE || w->g->values[v].producer == OX_NONE || w->g->values[v].producer_slot != p->slot) return false;
      return match_node(w, p->index, w->g->values[v].producer);
    default:
      if (v == OX_NONE || (p->kind == OX_PAT_CONST && !ox_graph_const_type(w->g, v))) return false;
      if (w->m->arg[p->index] != OX_NONE) return w->m->arg[p->index] == v;
      w->m->arg[p->index] = v;
      return true;
  }
}

static const ox_schema *schema_of(const walk *w, ox_id id) {
  return id == w->root ? w->root_schema : ox_node_schema(w->g->model, &w->g->nodes[id], NULL);
}

/* The node's operator is one of the entry's, as far as names tell. */
static bool is_meant(const walk *w, const ox_pat *p, ox_id id) {
  const ox_node *n = &w->g->nodes[id];
  if (n->refused) return false;
  if (!p->activation) return ox_node_is(n, p->op, p->domain);
  const ox_schema *s = n->dead ? NULL : schema_of(w, id);
  return s && s->activation;
}

static bool match_node(walk *w, uint32_t i, ox_id id) {
  const ox_pat *p = &w->rule->pat[i];
  const ox_node *n = &w->g->nodes[id];
  if (w->m->node[i] != OX_NONE) return w->m->node[i] == id;
  if (!is_meant(w, p, id) || !n->n_out || n->out[0] == OX_NONE) return false;
  if (!ox_assigned_same(&n->assigned, w->assigned)) return false;
  uint32_t uses = p->single_use ? 1 : p->uses;
  const ox_graph_value *out = &w->g->values[n->out[0]];
  if (uses && (ox_graph_use_count(w->g, n->out[0]) != uses || out->is_output || !other_outputs_unused(w->g, n)))
    return false;
  if (p->types && (out->type.kind != OX_TENSOR || !(p->types & OX_BIT(out->type.dtype)) || !out->type.dtype))
    return false;
  w->m->node[i] = id;
  bool swap = p->commutative && (w->swaps >> i & 1);
  if (p->commutative) w->asked |= 1u << i;
  for (uint32_t k = 0; k < OX_PAT_INS; k++) {
    uint32_t slot = k < 2 && swap ? 1 - k : k;
    if (!match_input(w, &p->in[k], slot < n->n_in ? n->in[slot] : OX_NONE)) return false;
  }
  return true;
}

/* |v| is not read outside these nodes. */
static bool used_only_by(const ox_graph *g, ox_id v, const ox_id *nodes, uint32_t n) {
  const ox_graph_value *value = &g->values[v];
  if (value->is_output || value->n_inner_uses) return false;
  for (uint32_t i = 0; i < value->n_uses; i++) {
    uint32_t k = 0;
    while (k < n && nodes[k] != value->uses[i].node) k++;
    if (k == n) return false;
  }
  return true;
}

/* Every use of a node that promised |uses| must come from the pattern. */
static bool uses_inside(const ox_graph *g, const ox_rule *r, const ox_match *m) {
  for (uint32_t i = 0; i + 1 < r->n_pat; i++)
    if (r->pat[i].uses > 1 && !used_only_by(g, g->nodes[m->node[i]].out[0], m->node, r->n_pat)) return false;
  return true;
}

/* Inference has checked the inputs of operators that have a schema. Asked last: a look-up costs more than the rest. */
static bool all_known(const walk *w) {
  for (uint32_t i = 0; i < w->rule->n_pat; i++)
    if (!w->rule->pat[i].unknown && !schema_of(w, w->m->node[i])) return false;
  return true;
}

bool ox_rule_match(const ox_graph *g, const ox_rule *rule, ox_id root, const ox_schema *root_schema, ox_match *m) {
  walk w = {.g = g, .rule = rule, .m = m, .root = root, .root_schema = root_schema};
  w.assigned = &g->nodes[root].assigned;
  uint32_t all = 0;
  for (uint32_t i = 0; i < rule->n_pat; i++) all |= (uint32_t)(rule->pat[i].commutative != 0) << i;
  do {
    memset(m, 0xff, offsetof(ox_match, captured)); /* OX_NONE */
    w.asked = 0;
    if (match_node(&w, rule->n_pat - 1, root) && uses_inside(g, rule, m) && all_known(&w)) return true;
    w.swaps = (w.swaps - all) & all; /* the next subset of |all|; 0 after the last */
  } while (w.swaps && w.asked);
  return false;
}

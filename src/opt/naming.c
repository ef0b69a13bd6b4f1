/* SPDX-License-Identifier: Apache-2.0
 * opt/naming.c - see naming.h. What an edited node computes is unknown, but the rule must be right for all nodes that
 * were not edited: such a reader gets what it got before. So a value with such a reader, or that is an output of the
 * graph, still is what its name says, or, if the reader came from another value, what that one's name says. (What a
 * rule changes far above the place where it mends it, behind nodes that it leaves alone, is not seen.) */
#include "opt/naming.h"

#include <stdlib.h>

#include "graph/grow32.h"

void ox_naming_init(ox_naming *n, ox_alloc alloc) { *n = (ox_naming){.alloc = alloc}; }

void ox_naming_deinit(ox_naming *n) {
  ox_delete(n->alloc, n->touched, n->cap_touched * sizeof *n->touched);
  ox_delete(n->alloc, n->handed, n->cap_handed * sizeof *n->handed);
  ox_naming_init(n, n->alloc);
}

void ox_naming_start(ox_naming *n, const ox_graph *g) { n->n_touched = n->n_handed = 0, n->first_new = g->n_values; }

ox_status *ox_naming_touched(ox_naming *n, ox_id node) {
  if (n->n_touched && n->touched[n->n_touched - 1] == node) return NULL; /* edits of a node come together */
  if (!ox_grow32(n->alloc, (void **)&n->touched, &n->cap_touched, n->n_touched, sizeof *n->touched)) return ox_oom();
  n->touched[n->n_touched++] = node;
  return NULL;
}

ox_status *ox_naming_handed(ox_naming *n, ox_id from, ox_id to) {
  if (from == to) return NULL;
  if (!ox_grow32(n->alloc, (void **)&n->handed, &n->cap_handed, n->n_handed, sizeof *n->handed)) return ox_oom();
  n->handed[n->n_handed++] = (ox_handover){from, to};
  return NULL;
}

static int compare(const void *a, const void *b) {
  ox_id x = *(const ox_id *)a, y = *(const ox_id *)b;
  return (x > y) - (x < y);
}

/* Whether a node that was not edited reads |v|. */
static bool read_outside(const ox_naming *n, const ox_graph *g, ox_id v) {
  const ox_graph_value *value = &g->values[v];
  for (uint32_t i = 0; i < value->n_uses; i++)
    if (!bsearch(&value->uses[i].node, n->touched, n->n_touched, sizeof *n->touched, compare)) return true;
  return value->n_inner_uses != 0;
}

/* What is neither an input or output of the graph, nor a constant, nor another graph's: others' names are not ours. */
static bool is_inner(const ox_graph_value *v) {
  return !v->dead && !v->is_input && !v->is_output && !v->init && v->outer == OX_NONE;
}

/* |to| takes over the name of |from|, whose readers it has. */
static ox_status *hand_over(const ox_naming *n, ox_graph *g, ox_id from, ox_id to) {
  const ox_graph_value *f = &g->values[from], *t = &g->values[to];
  if (!is_inner(t) || !read_outside(n, g, to)) return NULL;
  return is_inner(f) && !ox_graph_use_count(g, from) ? ox_graph_take_name(g, to, from) : ox_graph_new_name(g, to);
}

static ox_status *settle_node(const ox_naming *n, ox_graph *g, const ox_node *node) {
  for (uint32_t k = 0; !node->dead && k < node->n_out; k++) {
    ox_id v = node->out[k];
    if (v < n->first_new && is_inner(&g->values[v]) && !read_outside(n, g, v)) OX_TRY(ox_graph_new_name(g, v));
  }
  return NULL;
}

ox_status *ox_naming_settle(ox_naming *n, ox_graph *g) {
  if (!n->n_touched) return NULL; /* what took another's place was equal to it all along */
  qsort(n->touched, n->n_touched, sizeof *n->touched, compare);
  for (uint32_t i = 0; i < n->n_handed; i++) OX_TRY(hand_over(n, g, n->handed[i].from, n->handed[i].to));
  for (uint32_t i = 0; i < n->n_touched; i++)
    if (!i || n->touched[i] != n->touched[i - 1]) OX_TRY(settle_node(n, g, &g->nodes[n->touched[i]]));
  return NULL;
}

/* SPDX-License-Identifier: Apache-2.0
 * session/random_outputs.c - see random_outputs.h. Whatever a random node's numbers reach counts, whether it matters
 * or not: the shape of a random tensor, too. */
#include "session/random_outputs.h"

#include "graph/registry.h"

/* A node of |b| or of a body in it draws numbers. */
static bool draws(const ox_graph *b);

static bool node_draws(const ox_graph *g, const ox_node *n) {
  const ox_schema *s = ox_node_schema(g->model, n, NULL);
  const ox_graph *b;
  if (s && (s->traits & OX_NONDETERMINISTIC)) return true;
  for (uint32_t k = 0; (b = ox_node_body(n, k)); k++)
    if (draws(b)) return true;
  return false;
}

static bool draws(const ox_graph *b) {
  for (ox_id i = 0; i < b->n_nodes; i++)
    if (!b->nodes[i].dead && node_draws(b, &b->nodes[i])) return true;
  return false;
}

/* A body of |n| reads something random. What a body in a body reads has a stand-in in both. */
static bool body_reads(const ox_node *n, const bool *random) {
  const ox_graph *b;
  for (uint32_t k = 0; (b = ox_node_body(n, k)); k++)
    for (ox_id v = 0; v < b->n_values; v++)
      if (!b->values[v].dead && b->values[v].outer != OX_NONE && random[b->values[v].outer]) return true;
  return false;
}

static bool reads(const ox_node *n, const bool *random) {
  for (uint32_t i = 0; i < n->n_in; i++)
    if (n->in[i] != OX_NONE && random[n->in[i]]) return true;
  return body_reads(n, random);
}

ox_status *ox_random_outputs(ox_arena *a, const ox_graph *g, bool **out_random) {
  bool *random = OX_ARENA_ARRAY(a, bool, g->n_values);
  *out_random = OX_ARENA_ARRAY(a, bool, g->n_outputs);
  if (!random || !*out_random) return ox_oom();
  for (ox_id i = 0; i < g->n_nodes; i++) {
    const ox_node *n = &g->nodes[i];
    if (n->dead || !(reads(n, random) || node_draws(g, n))) continue;
    for (uint32_t k = 0; k < n->n_out; k++)
      if (n->out[k] != OX_NONE) random[n->out[k]] = true;
  }
  for (uint32_t i = 0; i < g->n_outputs; i++) (*out_random)[i] = random[g->outputs[i]];
  return NULL;
}

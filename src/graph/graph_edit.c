/* SPDX-License-Identifier: Apache-2.0
 * graph/graph_edit.c - edits that move uses, names and contents between values. */
#include <assert.h>
#include <string.h>

#include "base/macros.h"
#include "graph/graph.h"

void ox_graph_drop_value(ox_graph *g, ox_id v) {
  ox_graph_value *value = &g->values[v];
  if (value->dead) return;
  assert(!ox_graph_use_count(g, v) && value->producer == OX_NONE && !value->is_input);
  ox_map_remove(&g->by_name, value->name);
  if (value->outer != OX_NONE) g->parent->values[value->outer].n_inner_uses--;
  value->outer = OX_NONE, value->init = NULL, value->deferred = NULL, value->dead = true;
}

/* Gives |v| the name |name| (arena memory), which no value of |g| may have. */
static ox_status *put_name(ox_graph *g, ox_id v, const char *name) {
  if (!ox_map_put(&g->by_name, name, v)) return ox_oom();
  g->values[v].name = name;
  return NULL;
}

ox_status *ox_graph_new_name(ox_graph *g, ox_id v) {
  ox_id fresh;
  OX_TRY(ox_graph_add_value(g, NULL, &fresh)); /* which makes the name unique */
  const char *name = g->values[fresh].name;
  ox_graph_drop_value(g, fresh);
  ox_map_remove(&g->by_name, g->values[v].name);
  return put_name(g, v, name);
}

ox_status *ox_graph_take_name(ox_graph *g, ox_id v, ox_id from) {
  const char *name = g->values[from].name;
  OX_TRY(ox_graph_new_name(g, from));
  ox_map_remove(&g->by_name, g->values[v].name);
  return put_name(g, v, name);
}

/* Moves node uses from one value to another. */
static ox_status *move_uses(ox_graph *g, ox_id from, ox_id to) {
  while (g->values[from].n_uses) {
    ox_use u = g->values[from].uses[g->values[from].n_uses - 1];
    OX_TRY(ox_node_set_input(g, u.node, u.slot, to));
  }
  return NULL;
}

/* Bodies that read |from| now read |to|: their stand-in is redirected, or merged with one that exists. */
static ox_status *move_inner_uses(ox_graph *g, ox_id from, ox_id to) {
  for (ox_graph *b = g->model->graphs; b && g->values[from].n_inner_uses; b = b->next) {
    ox_id s = b->parent == g && !b->dead ? ox_graph_find_stand_in(b, from) : OX_NONE;
    if (s == OX_NONE) continue;
    ox_id other = ox_graph_find_stand_in(b, to);
    if (other != OX_NONE) {
      OX_TRY(ox_graph_replace_uses(b, s, other));
      ox_graph_drop_value(b, s);
      continue;
    }
    b->values[s].outer = to;
    g->values[from].n_inner_uses--, g->values[to].n_inner_uses++;
  }
  return NULL;
}

/* The name of an output, and with it what was declared: a caller that reads it as an optional goes on to do so. */
static bool can_take_name(const ox_graph_value *v, const ox_graph_value *output) {
  return !v->is_input && !v->init && !v->is_output && v->outer == OX_NONE && v->type.optional == output->type.optional;
}

bool ox_graph_can_replace(const ox_graph *g, ox_id from, ox_id to) {
  return !g->values[from].is_output || can_take_name(&g->values[to], &g->values[from]);
}

/* The graph's outputs that were |from| are now |to|, under the name they had. */
static ox_status *move_output(ox_graph *g, ox_id from, ox_id to) {
  const char *name = g->values[from].name;
  if (can_take_name(&g->values[to], &g->values[from])) {
    OX_TRY(ox_graph_take_name(g, to, from));
    if (!g->values[to].type.dtype) g->values[to].type = g->values[from].type;
  } else {
    ox_id out, node;
    OX_TRY(ox_graph_new_name(g, from));
    OX_TRY(ox_graph_add_value(g, name, &out));
    OX_TRY(ox_graph_add_node(g, "Identity", "", "", &to, 1, &out, 1, &node));
    g->values[out].type = g->values[from].type;
    to = out;
  }
  ox_graph_value *was = &g->values[from], *is = &g->values[to];
  is->is_output = true, is->output_at = was->output_at, is->n_output = was->n_output;
  for (uint32_t i = was->output_at; was->n_output; i++)
    if (g->outputs[i] == from) g->outputs[i] = to, was->n_output--;
  was->is_output = false;
  return NULL;
}

ox_status *ox_graph_replace_uses(ox_graph *g, ox_id from, ox_id to) {
  if (from == to) return NULL;
  OX_TRY(move_uses(g, from, to));
  OX_TRY(move_inner_uses(g, from, to));
  return g->values[from].is_output ? move_output(g, from, to) : NULL;
}

ox_status *ox_graph_bypass(ox_graph *g, ox_id node) {
  ox_id from = g->nodes[node].out[0], to = g->nodes[node].in[0];
  OX_TRY(ox_graph_replace_uses(g, from, to));
  ox_graph_remove_node(g, node);
  return NULL;
}

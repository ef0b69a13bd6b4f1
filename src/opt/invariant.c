/* SPDX-License-Identifier: Apache-2.0
 * opt/invariant.c - what a Loop or Scan carries from step to step but never changes is read from outside instead:
 * nothing is copied, and weights that frameworks pass in this way (TensorFlow's while loops) are constants in the
 * body. */
#include "graph/control.h"
#include "graph/registry.h"
#include "opt/opt.h"

/* Whether the body passes its input on unchanged. */
static bool unchanged(const ox_graph *g, const ox_node *n, const ox_graph *b, const ox_carried_values *c, uint32_t i) {
  ox_id in = n->in[c->node_in + i], arg = b->inputs[c->body_in + i];
  if (in == OX_NONE || b->values[arg].init || b->values[arg].type.optional || g->values[in].type.optional) return false;
  return ox_graph_source(b, b->outputs[c->body_out + i]) == arg;
}

static ox_status *read_outside(ox_graph *g, ox_id node, ox_graph *b, const ox_carried_values *c, uint32_t i) {
  ox_node *n = &g->nodes[node];
  ox_id in = n->in[c->node_in + i], arg = b->inputs[c->body_in + i], stand_in;
  OX_TRY(ox_graph_stand_in(b, in, &stand_in));
  ox_graph_drop_output(b, c->body_out + i);
  ox_graph_drop_input(b, c->body_in + i);
  OX_TRY(ox_graph_replace_uses(b, arg, stand_in));
  ox_graph_drop_value(b, arg);
  ox_id out = c->node_out + i < n->n_out ? n->out[c->node_out + i] : OX_NONE;
  if (c->node_out + i < n->n_out) ox_node_drop_output(g, node, c->node_out + i);
  ox_node_drop_input(g, node, c->node_in + i);
  if (out == OX_NONE) return NULL;
  OX_TRY(ox_graph_replace_uses(g, out, in));
  ox_graph_drop_value(g, out);
  return NULL;
}

ox_status *ox_invariant_graph(ox_graph *g, uint32_t *n_done) {
  for (ox_id id = 0, n_nodes = g->n_nodes; id < n_nodes; id++) {
    uint32_t version;
    const ox_schema *s = g->nodes[id].dead ? NULL : ox_node_schema(g->model, &g->nodes[id], &version);
    ox_graph *b = s && s->control && s->control->carried ? ox_node_body(&g->nodes[id], 0) : NULL;
    ox_carried_values c;
    if (!b || !s->control->carried(&g->nodes[id], &c)) continue;
    if (c.n > g->nodes[id].n_in - c.node_in || c.body_in + c.n > b->n_inputs || c.body_out + c.n > b->n_outputs)
      continue;
    for (uint32_t i = c.n; i-- > 0;) {
      if (!unchanged(g, &g->nodes[id], b, &c, i)) continue;
      OX_TRY(read_outside(g, id, b, &c, i));
      ++*n_done;
    }
  }
  return NULL;
}

/* SPDX-License-Identifier: Apache-2.0
 * exec/placed.c - see placed.h. */
#include "exec/placed.h"

#include "base/macros.h"
#include "plan/transfers.h"

/* ---- what the graph says ---- */

bool ox_output_is_last(const ox_graph *g, uint32_t index) {
  const ox_graph_value *v = &g->values[g->outputs[index]];
  for (uint32_t i = 0; i < g->n_outputs; i++)
    if (i != index && g->outputs[i] == g->outputs[index]) return false;
  return !v->n_uses && !v->n_inner_uses;
}

bool ox_input_is_only_in(const ox_graph *g, ox_id v, uint32_t memory) {
  const ox_graph_value *value = &g->values[v];
  if (value->is_output) return false;
  for (uint32_t i = 0; i < value->n_uses; i++) {
    const ox_node *n = ox_graph_node(g, value->uses[i].node);
    if (!ox_node_is_copy(n) || g->values[n->out[0]].memory != memory) return false;
  }
  for (const ox_graph *b = value->n_inner_uses ? g->model->graphs : NULL; b; b = b->next)
    for (ox_id s = 0; b->parent == g && !b->dead && s < b->n_values; s++)
      if (b->values[s].outer == v && !b->values[s].dead && !ox_input_is_only_in(b, s, memory)) return false;
  return true;
}

/* The output of the graph that the copy |n| makes; OX_NONE: none. */
static uint32_t output_of_copy(const ox_graph *g, const ox_node *n) {
  const ox_graph_value *v = &g->values[n->out[0]];
  return ox_node_is_copy(n) && v->is_output && !v->memory ? v->output_at : OX_NONE;
}

/* The output of the graph that |v| becomes by a copy to the host, if the caller wants it where |v| lies. */
static uint32_t wanted_output(const ox_context *c, ox_id v) {
  const ox_graph *g = c->plan->graph;
  const ox_graph_value *value = &g->values[v];
  for (uint32_t i = 0; value->memory && i < value->n_uses; i++) {
    uint32_t output = output_of_copy(g, ox_graph_node(g, value->uses[i].node));
    if (output != OX_NONE && c->placed->out[output].memory == value->memory) return output;
  }
  return OX_NONE;
}

/* ---- runs ---- */

static ox_status *take(ox_context *c, uint32_t output, const ox_tensor *t) {
  ox_placed_value *p = &c->placed->out[output];
  return p->data || !t->bytes ? NULL : c->placed->take(c->placed, output, t->dtype, &t->shape, t->bytes, &p->data);
}

ox_status *ox_placed_begin(ox_context *c) {
  for (uint32_t i = 0; i < c->n_steps; i++) {
    const ox_step *s = &c->steps[i];
    for (uint32_t k = 0; s->mode == OX_MODE_STATIC && s->unit->kind != OX_UNIT_COPY && k < s->node->n_out; k++) {
      ox_id v = s->node->out[k];
      uint32_t output = v != OX_NONE && c->slots[v].home == OX_HOME_SLAB ? wanted_output(c, v) : OX_NONE;
      if (output == OX_NONE) continue;
      OX_TRY(take(c, output, &c->slots[v].t));
      if (c->placed->out[output].data) c->slots[v].t.data = c->placed->out[output].data;
    }
  }
  return NULL;
}

void ox_placed_end(ox_context *c) {
  for (ox_id v = 0; v < c->plan->graph->n_values; v++) {
    ox_slot *slot = &c->slots[v];
    const ox_device_memory *m = ox_device_memory_find(&c->devices, slot->memory);
    if (m && slot->home == OX_HOME_SLAB) slot->t.data = m->slab + slot->offset;
  }
  c->placed = NULL;
}

static uint32_t bound_at(const ox_context *c, ox_id v) {
  for (uint32_t i = 0; i < c->n_key; i++)
    if (c->bound[i] == v) return i;
  return OX_NONE;
}

bool ox_placed_for_body(const ox_context *c, const ox_graph *body, const ox_id *bound, uint32_t n,
                        ox_placed_value *in) {
  bool any = false;
  for (uint32_t i = 0; i < n; i++) {
    ox_id outer = body->values[bound[i]].outer;
    uint32_t at = outer != OX_NONE ? bound_at(c, outer) : OX_NONE;
    in[i] = at != OX_NONE ? c->placed->in[at] : (ox_placed_value){0};
    any |= in[i].memory != 0;
  }
  return any;
}

static ox_status *infer(ox_step *s) {
  bool content = false;
  ox_arena_reset(&s->infer);
  return s->mode == OX_MODE_DYNAMIC ? ox_step_infer(s, &content, &s->infer) : NULL;
}

ox_status *ox_placed_copy(ox_context *c, ox_step *s, bool *out_done) {
  const ox_graph *g = c->plan->graph;
  const ox_provider *p = s->unit->owner;
  ox_id from = s->node->in[0];
  uint32_t input = bound_at(c, from), output = output_of_copy(g, s->node), memory = c->slots[from].memory;
  *out_done = false;
  if (input != OX_NONE && c->placed->in[input].memory &&
      c->placed->in[input].memory == c->slots[s->node->out[0]].memory) {
    OX_TRY(infer(s));
    s->c.out[0]->data = c->placed->in[input].data;
    *out_done = true;
  } else if (output != OX_NONE && memory && c->placed->out[output].memory == memory && s->c.in[0]->bytes) {
    const ox_tensor *t = s->c.in[0];
    ox_placed_value *to = &c->placed->out[output];
    OX_TRY(infer(s));
    OX_TRY(take(c, output, t));
    if (to->data != t->data)
      OX_TRY(p->api.copy(p->ep, to->data, ox_memory_index(memory), t->data, ox_memory_index(memory), t->bytes,
                         s->c.stream));
    to->done = true, *out_done = ox_output_is_last(g, output);
  }
  return NULL;
}

void *ox_placed_output(ox_context *c, ox_id v, const ox_tensor *t) {
  uint32_t output = wanted_output(c, v);
  if (output == OX_NONE || !t->bytes || t->dtype == OX_STRING) return NULL;
  ox_placed_value *p = &c->placed->out[output];
  if (!p->data && !c->sink_status) c->sink_status = take(c, output, t);
  return p->data;
}

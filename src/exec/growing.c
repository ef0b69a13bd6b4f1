/* SPDX-License-Identifier: Apache-2.0
 * exec/growing.c - see growing.h. */
#include "exec/growing.h"

static const ox_unit *unit_of(const ox_plan *p, ox_id node) {
  for (uint32_t i = 0; i < p->n_units; i++)
    if (p->units[i].node == node) return &p->units[i];
  return NULL;
}

uint32_t ox_growing_find(const ox_plan *p, ox_id past, uint32_t output, uint32_t *out_which) {
  const ox_graph *g = p->graph;
  const ox_graph_value *in = &g->values[past], *out = &g->values[g->outputs[output]];
  if (in->n_uses != 1 || in->n_inner_uses || in->is_output || in->memory) return OX_NONE;
  if (out->n_uses || out->n_inner_uses || out->n_output != 1 || out->memory) return OX_NONE;
  const ox_node *n = ox_graph_node(g, in->uses[0].node);
  const ox_unit *u = unit_of(p, in->uses[0].node);
  uint32_t slot = in->uses[0].slot;
  if (!u || u->kind != OX_UNIT_KERNEL || !u->traits.past_in || slot < u->traits.past_in) return OX_NONE;
  *out_which = slot - u->traits.past_in;
  bool same = *out_which < 2 && n->n_out > 1 + *out_which && n->out[1 + *out_which] == g->outputs[output];
  return same ? (uint32_t)(u - p->units) : OX_NONE;
}

/* Is output |i| of |n| written straight into memory that the run is given? */
static bool is_direct(const ox_context *c, const ox_step *s, uint32_t i) {
  ox_id v = s->node->out[i];
  const ox_slot *slot = &c->slots[v];
  return s->mode == OX_MODE_STATIC ? slot->home == OX_HOME_OUTPUT && slot->root == v : slot->direct;
}

int64_t ox_growing_rows(const ox_context *c, uint32_t unit, int64_t past) {
  const ox_step *s = &c->steps[unit];
  int64_t rows;
  if (s->mode != OX_MODE_STATIC && !(s->mode == OX_MODE_DYNAMIC && s->shaped)) return -1;
  if (!is_direct(c, s, 1) || !is_direct(c, s, 2)) return -1;
  const ox_shape *k = &c->slots[s->node->out[1]].t.shape, *v = &c->slots[s->node->out[2]].t.shape;
  const ox_shape *fresh = &c->slots[s->node->in[0]].t.shape;
  if (s->mode == OX_MODE_STATIC)
    return k->rank == 4 && v->rank == 4 && k->dim[OX_CACHE_ROWS] == v->dim[OX_CACHE_ROWS] ? k->dim[OX_CACHE_ROWS] : -1;
  if (fresh->rank < 3 || __builtin_add_overflow(past, fresh->dim[fresh->rank == 4 ? 2 : 1], &rows)) return -1;
  return rows;
}

void ox_growing_set(ox_context *c, uint32_t unit, int64_t rows) { c->steps[unit].c.cache_rows = rows; }

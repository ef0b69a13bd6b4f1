/* SPDX-License-Identifier: Apache-2.0
 * plan/constants.c - see constants.h. */
#include "plan/constants.h"

#include "base/macros.h"
#include "plan/transfers.h"

bool ox_tensor_aligned(const ox_tensor *t) {
  unsigned bits = ox_dtype_bits(t->dtype);
  size_t align = t->dtype == OX_STRING ? sizeof(void *) : bits >= 64 ? 8 : bits > 8 ? bits / 8 : 1;
  return (uintptr_t)t->data % align == 0;
}

void ox_constant_drop(const ox_graph *g, const ox_tensor *t) { ox_model_drop_pages(g->model, t); }

bool ox_unit_consumes(const ox_unit *u, uint32_t i) { return u->kernel && i < 64 && (u->kernel->consumed >> i & 1); }

/* ---- what stands for a constant ---- */

/* A constant in a memory of a device; all units of the plan that read it there share it. */
struct ox_const_copy {
  struct ox_const_copy *next;
  ox_id value;
  uint32_t memory; /* plan/transfers.h */
  ox_tensor t;
};

static ox_status *set_fixed(ox_plan *p, ox_unit *u, uint32_t i, const ox_tensor *t) {
  if (!u->fixed) u->fixed = OX_ARENA_ARRAY(&p->arena, const ox_tensor *, ox_graph_node(p->graph, u->node)->n_in);
  if (!u->fixed) return ox_oom();
  u->fixed[i] = t;
  return NULL;
}

/* Of a packed constant the kernel sees only type and shape. */
static ox_status *set_hollow(ox_plan *p, ox_unit *u, uint32_t i, const ox_tensor *t) {
  ox_tensor *copy = OX_ARENA_NEW(&p->arena, ox_tensor);
  if (!copy) return ox_oom();
  *copy = *t, copy->data = NULL;
  return set_fixed(p, u, i, copy);
}

static ox_status *make_copy(ox_plan *p, ox_id v, uint32_t memory, struct ox_const_copy **out) {
  const ox_provider *d = &p->providers[ox_memory_owner(memory) - 1];
  const ox_tensor *t = ox_graph_const(p->graph, v);
  void *data = NULL;
  if (t->kind != OX_TENSOR || t->dtype == OX_STRING)
    return ox_fail(OX_NOT_IMPLEMENTED, "constant '%s' is not a tensor of numbers, so it cannot go to a device",
                   p->graph->values[v].name);
  struct ox_const_copy *c = *out = OX_ARENA_NEW(&p->arena, struct ox_const_copy);
  if (!c) return ox_oom();
  c->value = v, c->memory = memory, c->t = *t, c->t.data = NULL;
  if (!t->bytes) return NULL;
  OX_TRY(ox_status_note(ox_provider_take(d, ox_memory_index(memory), t->bytes, &data), "constant '%s'",
                        p->graph->values[v].name));
  c->t.data = data, c->next = p->copies, p->copies = c;
  return d->api.copy(d->ep, data, ox_memory_index(memory), t->data, 0, t->bytes, NULL);
}

static ox_status *set_copy(ox_plan *p, ox_unit *u, uint32_t i, ox_id v, uint32_t memory) {
  struct ox_const_copy *c = p->copies;
  while (c && (c->value != v || c->memory != memory)) c = c->next;
  if (!c) OX_TRY(make_copy(p, v, memory, &c));
  return set_fixed(p, u, i, &c->t);
}

static ox_status *fix_inputs(ox_plan *p, ox_unit *u) {
  const ox_node *n = ox_graph_node(p->graph, u->node);
  for (uint32_t i = 0; i < n->n_in; i++) {
    const ox_tensor *t = n->in[i] == OX_NONE ? NULL : p->consts[n->in[i]];
    uint32_t memory = 0;
    if (!t) continue;
    if (ox_unit_consumes(u, i)) {
      OX_TRY(set_hollow(p, u, i, t));
      continue;
    }
    if (u->owner && u->owner->api.n_memories && u->kind != OX_UNIT_COPY)
      OX_TRY(ox_transfer_memory(p->graph, u->node, 0, i, p->providers, p->n_providers, &memory));
    if (memory) OX_TRY(set_copy(p, u, i, n->in[i], memory));
  }
  return NULL;
}

void ox_constants_release(ox_plan *p) {
  for (struct ox_const_copy *c = p->copies; c; c = c->next) {
    const ox_provider *d = &p->providers[ox_memory_owner(c->memory) - 1];
    ox_provider_give(d, ox_memory_index(c->memory), c->t.data, c->t.bytes);
  }
  p->copies = NULL;
}

/* ---- alignment ---- */

/* Makes constants that kernels read at run time available, in aligned memory unless all readers can take them
 * unaligned. */
static ox_status *align_const(ox_plan *p, ox_id v, bool bytewise) {
  const ox_tensor *t = p->consts[v] ? (p->consts[v] = ox_graph_const(p->graph, v)) : NULL;
  if (!t || t->kind != OX_TENSOR || !t->bytes || bytewise || ox_tensor_aligned(t)) return NULL;
  ox_tensor *copy = OX_ARENA_NEW(&p->arena, ox_tensor);
  if (!copy) return ox_oom();
  *copy = *t;
  copy->data = ox_arena_copy(&p->arena, t->data, t->bytes);
  if (!copy->data) return ox_oom();
  p->consts[v] = copy;
  ox_constant_drop(p->graph, t); /* a later read of the raw bytes gets them from the file again */
  return NULL;
}

enum { BYTEWISE = 1, TYPED = 2 };

ox_status *ox_constants_settle(ox_plan *p) {
  uint8_t *reads = ox_arena_alloc(&p->arena, p->graph->n_values + 1);
  if (!reads) return ox_oom();
  for (uint32_t k = 0; k < p->n_units; k++) {
    ox_unit *u = &p->units[k];
    const ox_node *n = ox_graph_node(p->graph, u->node);
    OX_TRY(ox_unit_note(fix_inputs(p, u), p, u));
    for (uint32_t i = 0; i < n->n_in; i++) {
      if (n->in[i] == OX_NONE || (u->fixed && u->fixed[i])) continue;
      reads[n->in[i]] |= i < 32 && (u->traits.unaligned_in >> i & 1) ? BYTEWISE : TYPED;
    }
    for (uint32_t i = 0; i < u->n_captured; i++) reads[u->captured[i]] |= TYPED;
  }
  for (uint32_t i = 0; i < p->graph->n_outputs; i++) reads[p->graph->outputs[i]] |= BYTEWISE;
  for (ox_id v = 0; v < p->graph->n_values; v++)
    if (reads[v]) OX_TRY(align_const(p, v, reads[v] == BYTEWISE));
  return NULL;
}

/* SPDX-License-Identifier: Apache-2.0
 * plan/twins.c - see twins.h. */
#include "plan/twins.h"

#include "base/macros.h"
#include "base/map.h"
#include "graph/node_same.h"

/* Indices of units by hash of what twins have in common; at most half full. */
typedef struct {
  uint32_t *unit; /* OX_NONE: empty */
  size_t capacity;
} table;

static bool has_constant(const ox_plan *p, const ox_node *n) {
  for (uint32_t i = 0; i < n->n_in; i++)
    if (n->in[i] != OX_NONE && p->consts[n->in[i]]) return true;
  return false;
}

static uint64_t hash_of(const ox_plan *p, const ox_node *n) {
  uint64_t h = ox_hash(&n->op, sizeof n->op, n->n_out); /* names are interned: the pointer will do */
  for (uint32_t i = 0; i < n->n_in; i++) {
    ox_id v = n->in[i] != OX_NONE && p->consts[n->in[i]] ? n->in[i] : OX_NONE;
    h = ox_hash(&v, sizeof v, h);
  }
  return h;
}

static bool same_input(const ox_plan *p, ox_id a, ox_id b) {
  if (a == b) return true;
  if (a == OX_NONE || b == OX_NONE || p->consts[a] || p->consts[b]) return false;
  const ox_type *s = &p->graph->values[a].type, *t = &p->graph->values[b].type;
  return s->kind == OX_TENSOR && t->kind == OX_TENSOR && s->dtype == t->dtype && ox_shape_equal(&s->shape, &t->shape);
}

static bool same_owner(const ox_assignment *a, const ox_assignment *b) {
  return a->owner == b->owner && a->claim == b->claim && a->part == b->part;
}

static bool are_twins(const ox_plan *p, const ox_node *a, const ox_node *b) {
  if (a->op != b->op || a->domain != b->domain || a->version != b->version || a->n_in != b->n_in ||
      a->n_out != b->n_out || !same_owner(&a->assigned, &b->assigned) || !ox_node_attrs_same(a, b))
    return false;
  for (uint32_t i = 0; i < a->n_in; i++)
    if (!same_input(p, a->in[i], b->in[i])) return false;
  for (uint32_t i = 0; i < a->n_out; i++)
    if ((a->out[i] == OX_NONE) != (b->out[i] == OX_NONE)) return false;
  return true;
}

/* The unit that came before |u| and is like it, or |u| itself. */
static ox_unit *first_of(const ox_plan *p, table *t, uint32_t u) {
  const ox_node *n = ox_graph_node(p->graph, p->units[u].node);
  if (!has_constant(p, n)) return &p->units[u];
  size_t i = hash_of(p, n) & (t->capacity - 1);
  while (t->unit[i] != OX_NONE && !are_twins(p, n, ox_graph_node(p->graph, p->units[t->unit[i]].node)))
    i = (i + 1) & (t->capacity - 1);
  if (t->unit[i] == OX_NONE) t->unit[i] = u;
  return &p->units[t->unit[i]];
}

ox_status *ox_twins_join(ox_plan *p) {
  ox_arena scratch;
  table t = {.capacity = 16};
  ox_status *st = NULL;
  ox_arena_init(&scratch, p->alloc);
  while (t.capacity < (size_t)p->n_units * 2) t.capacity *= 2;
  t.unit = OX_ARENA_ARRAY(&scratch, uint32_t, t.capacity);
  if (!t.unit) st = ox_oom();
  for (size_t i = 0; !st && i < t.capacity; i++) t.unit[i] = OX_NONE;
  for (uint32_t k = 0; !st && k < p->n_units; k++) {
    ox_unit *u = &p->units[k], *first;
    if (u->kind != OX_UNIT_KERNEL) continue;
    first = first_of(p, &t, k);
    if (first != u) {
      u->packs = first->packs, u->is_twin = true;
    } else if ((u->packs = OX_ARENA_NEW(&p->arena, ox_packs))) {
      ox_packs_init(u->packs, &p->room);
    } else {
      st = ox_oom();
    }
  }
  ox_arena_deinit(&scratch);
  return st;
}

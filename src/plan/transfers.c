/* SPDX-License-Identifier: Apache-2.0
 * plan/transfers.c - see transfers.h. A value read in n memories gets n - 1 copies; between two devices it goes by way
 * of the host. */
#include "plan/transfers.h"

#include <string.h>

#include "base/macros.h"
#include "ep/view.h"
#include "graph/control.h"
#include "graph/extract.h"
#include "graph/registry.h"

bool ox_node_is_copy(const ox_node *n) { return strcmp(n->op, OX_COPY_OP) == 0 && strcmp(n->domain, "ai.onyx") == 0; }

const char *ox_transfer_name(const ox_graph *g, ox_id v) {
  while (g->values[v].producer != OX_NONE && ox_node_is_copy(ox_graph_node(g, g->values[v].producer)))
    v = ox_graph_node(g, g->values[v].producer)->in[0];
  for (uint32_t i = 0; i < g->values[v].n_uses; i++) { /* an output of the graph gave its name to the host's copy */
    const ox_node *n = ox_graph_node(g, g->values[v].uses[i].node);
    if (ox_node_is_copy(n) && g->values[n->out[0]].is_output) return g->values[n->out[0]].name;
  }
  return g->values[v].name;
}

typedef struct {
  ox_graph *g;
  const ox_provider *providers;
  size_t n;
  bool branch; /* outputs may stay where they are made: settle_branches */
} work;

static const ox_provider *device_of(const work *w, uint16_t owner) {
  const ox_provider *p = owner != OX_NO_OWNER && owner <= w->n ? &w->providers[owner - 1] : NULL;
  return p && p->api.n_memories ? p : NULL;
}

static bool has_trait(const ox_graph *g, const ox_node *n, uint32_t trait) {
  const ox_schema *s = ox_node_schema(g->model, n, NULL);
  return s && (s->traits & trait) != 0;
}

static bool is_view(const ox_graph *g, const ox_node *n) {
  return has_trait(g, n, OX_VIEW) && n->n_out && n->out[0] != OX_NONE && n->n_in && n->in[0] != OX_NONE;
}

static ox_status *part_memory(const ox_provider *p, const ox_node *node, int output, uint32_t slot,
                              uint32_t *out_memory) {
  uint32_t (*ask)(ox_ep * ep, const ox_graph_view *part, size_t i) =
      output ? p->api.part_out_memory : p->api.part_memory;
  ox_graph *part = ox_node_part(node);
  ox_graph_view *view;
  if (!ask) return NULL;
  ox_arena arena;
  ox_arena_init(&arena, part->model->alloc);
  ox_status *st = ox_view_create(part, &arena, NULL, &view);
  if (!st) *out_memory = ask(p->ep, view, slot);
  ox_arena_deinit(&arena);
  if (!st && *out_memory > p->api.n_memories)
    st = ox_fail(OX_INVALID_ARGUMENT, "provider '%s': %s %u of '%s' in memory %u of %zu", p->api.name,
                 output ? "output" : "input", slot, part->name, *out_memory, p->api.n_memories);
  return st;
}

ox_status *ox_transfer_memory(const ox_graph *g, ox_id id, int output, uint32_t slot, const ox_provider *providers,
                              size_t n, uint32_t *out_memory) {
  const work w = {(ox_graph *)g, providers, n, false};
  const ox_node *node = ox_graph_node(g, id);
  const ox_provider *p = device_of(&w, node->assigned.owner);
  uint32_t memory = p ? 1 : 0;
  if (ox_node_is_copy(node)) {
    *out_memory = g->values[output ? node->out[0] : node->in[0]].memory;
    return NULL;
  }
  if (is_view(g, node)) { /* bytes stay where they are; the host reads the other inputs: shapes, axes */
    *out_memory = output || !slot ? g->values[node->out[0]].memory : 0;
    return NULL;
  }
  if (!output && !p && has_trait(g, node, OX_SHAPE_ONLY)) { /* its bytes are not read */
    *out_memory = g->values[node->in[slot]].memory;
    return NULL;
  }
  if (p && p->api.value_memory && !ox_node_part(node)) {
    const ox_graph_view view = {.graph = g, .nodes = &id, .n_nodes = 1};
    memory = p->api.value_memory(p->ep, &view, 0, output, slot);
    if (memory > p->api.n_memories)
      return ox_fail(OX_INVALID_ARGUMENT, "provider '%s': %s %u of node '%s' (%s) in memory %u of %zu", p->api.name,
                     output ? "output" : "input", slot, node->name, node->op, memory, p->api.n_memories);
  }
  if (p && ox_node_part(node)) OX_TRY(part_memory(p, node, output, slot, &memory));
  *out_memory = ox_memory_of(node->assigned.owner, memory);
  return NULL;
}

bool ox_host_reads(const ox_provider *providers, uint32_t memory) {
  return !memory || providers[ox_memory_owner(memory) - 1].api.memories[ox_memory_index(memory) - 1].host_accessible;
}

static bool fits(const work *w, uint32_t has, uint32_t wants) {
  return has == wants || (!wants && ox_host_reads(w->providers, has));
}

/* ---- values that bodies read ---- */

/* The node's bodies read values where they lie and leave their outputs there (ox_control_def.passes_on). */
static bool passes_on(const ox_graph *g, const ox_node *n) {
  const ox_schema *s = n->assigned.owner == OX_HOST_OWNER ? ox_node_schema(g->model, n, NULL) : NULL;
  return s && s->control && s->control->passes_on;
}

/* The next body of |g|'s nodes from |*at| on in which |v| has a stand-in: *out; NULL: there is none. */
static ox_graph *next_reader(const ox_graph *g, ox_id v, ox_graph *at, ox_id *out) {
  for (; at; at = at->next)
    for (*out = 0; at->parent == g && !at->dead && *out < at->n_values; (*out)++)
      if (at->values[*out].outer == v && !at->values[*out].dead) return at;
  return NULL;
}

/* Whether some body wants |v| in host memory. */
static bool bodies_read_on_host(const ox_graph *g, ox_id v) {
  ox_id s;
  if (!g->values[v].n_inner_uses) return false;
  for (ox_graph *b = next_reader(g, v, g->model->graphs, &s); b; b = next_reader(g, v, b->next, &s))
    if (!b->values[s].memory) return true;
  return false;
}

/* Gives |v| back to bodies that read it where it lies, which got |copy| with all the others. */
static void keep_for_bodies(ox_graph *g, ox_id v, ox_id copy) {
  ox_id s;
  for (ox_graph *b = next_reader(g, copy, g->model->graphs, &s); b; b = next_reader(g, copy, b->next, &s)) {
    if (!b->values[s].memory) continue;
    b->values[s].outer = v;
    g->values[copy].n_inner_uses--, g->values[v].n_inner_uses++;
  }
}

/* ---- copies ---- */

/* A node that copies |v| to |memory|; its output is |to|. */
static ox_status *add_copy(work *w, ox_id v, uint32_t memory, ox_id to) {
  ox_id node;
  uint32_t device = memory ? memory : w->g->values[v].memory;
  OX_TRY(ox_graph_add_node(w->g, OX_COPY_OP, "ai.onyx", "", &v, 1, &to, 1, &node));
  w->g->nodes[node].assigned = (ox_assignment){ox_memory_owner(device), OX_CLAIM_KERNEL, 0};
  w->g->values[to].type = w->g->values[v].type;
  w->g->values[to].memory = memory;
  return NULL;
}

/* Makes every reader of |v| that does not use its memory read a copy in host memory instead: |*out_copy|. */
static ox_status *copy_to_host(work *w, ox_id v, ox_id *out_copy) {
  ox_graph *g = w->g;
  OX_TRY(ox_graph_add_value(g, g->values[v].name, out_copy));
  g->values[*out_copy].type = g->values[v].type;
  OX_TRY(ox_graph_replace_uses(g, v, *out_copy)); /* the graph's output, too, and it keeps its name */
  keep_for_bodies(g, v, *out_copy);
  OX_TRY(add_copy(w, v, 0, *out_copy));
  for (uint32_t i = 0; i < g->values[*out_copy].n_uses;) {
    ox_use u = g->values[*out_copy].uses[i];
    uint32_t wants;
    OX_TRY(ox_transfer_memory(g, u.node, 0, u.slot, w->providers, w->n, &wants));
    if (wants == g->values[v].memory)
      OX_TRY(ox_node_set_input(g, u.node, u.slot, v)); /* the last use takes its place */
    else
      i++;
  }
  return NULL;
}

/* Makes readers of the host value |v| that want it in device |memory| read a copy there. */
static ox_status *copy_to_device(work *w, ox_id v, uint32_t memory) {
  ox_graph *g = w->g;
  ox_id copy;
  OX_TRY(ox_graph_add_value(g, g->values[v].name, &copy));
  for (uint32_t i = 0; i < g->values[v].n_uses;) {
    ox_use u = g->values[v].uses[i];
    uint32_t wants;
    OX_TRY(ox_transfer_memory(g, u.node, 0, u.slot, w->providers, w->n, &wants));
    if (wants == memory)
      OX_TRY(ox_node_set_input(g, u.node, u.slot, copy));
    else
      i++;
  }
  return add_copy(w, v, memory, copy);
}

/* Copies of host value |v| for each device that reads it. */
static ox_status *spread(work *w, ox_id v) {
  for (uint32_t i = 0; i < w->g->values[v].n_uses;) {
    ox_use u = w->g->values[v].uses[i];
    uint32_t wants;
    OX_TRY(ox_transfer_memory(w->g, u.node, 0, u.slot, w->providers, w->n, &wants));
    bool copied = wants && wants != w->g->values[v].memory;
    if (copied) OX_TRY(copy_to_device(w, v, wants));
    i = copied ? 0 : i + 1;
  }
  return NULL;
}

static ox_status *bring_home(work *w, ox_id v) {
  ox_id copy;
  OX_TRY(copy_to_host(w, v, &copy));
  return spread(w, copy);
}

static ox_status *settle_value(work *w, ox_id v) {
  ox_graph *g = w->g;
  uint32_t has = g->values[v].memory;
  bool host = !has, elsewhere = (g->values[v].is_output && !w->branch) || (has && bodies_read_on_host(g, v));
  if (host) return ox_graph_const_type(g, v) ? NULL : spread(w, v);
  for (uint32_t i = 0; i < g->values[v].n_uses && !elsewhere; i++) {
    uint32_t wants;
    ox_use u = g->values[v].uses[i];
    OX_TRY(ox_transfer_memory(g, u.node, 0, u.slot, w->providers, w->n, &wants));
    elsewhere = !fits(w, has, wants);
  }
  return elsewhere ? bring_home(w, v) : NULL;
}

/* ---- bodies that pass on ---- */

static ox_status *settle_graph(work *w);

/* Copies |v|, which lies on a device, to the host, whatever bodies need. */
static ox_status *goes_home(const work *w, ox_id v, bool *out) {
  const ox_graph_value *value = &w->g->values[v];
  *out = value->is_output && !w->branch;
  for (uint32_t i = 0; i < value->n_uses && !*out; i++) {
    uint32_t wants;
    OX_TRY(ox_transfer_memory(w->g, value->uses[i].node, 0, value->uses[i].slot, w->providers, w->n, &wants));
    *out = !fits(w, value->memory, wants);
  }
  return NULL;
}

/* Whether some reader of stand-in |s| may want it in |memory|: a node there, a view, a nested body. */
static ox_status *wanted_in(const work *w, ox_id s, uint32_t memory, bool *out) {
  const ox_graph_value *v = &w->g->values[s];
  *out = v->n_inner_uses > 0;
  for (uint32_t i = 0; i < v->n_uses && !*out; i++) {
    uint32_t wants;
    *out = is_view(w->g, ox_graph_node(w->g, v->uses[i].node));
    if (*out) break;
    OX_TRY(ox_transfer_memory(w->g, v->uses[i].node, 0, v->uses[i].slot, w->providers, w->n, &wants));
    *out = wants == memory;
  }
  return NULL;
}

static ox_status *settle_branch(const work *w, ox_graph *b) {
  work inner = {b, w->providers, w->n, true};
  for (ox_id s = 0; s < b->n_values; s++) {
    if (b->values[s].dead || b->values[s].outer == OX_NONE) continue;
    uint32_t memory = w->g->values[b->values[s].outer].memory;
    bool wanted = false, at_home = false;
    if (memory) OX_TRY(wanted_in(&inner, s, memory, &wanted));
    if (memory && !wanted) OX_TRY(goes_home(w, b->values[s].outer, &at_home));
    b->values[s].memory = at_home ? 0 : memory;
  }
  return settle_graph(&inner);
}

/* Where output |k| of all bodies of |n| lies; 0 if they do not agree. */
static uint32_t common_memory(const ox_node *n, uint32_t k) {
  const ox_graph *first = ox_node_body(n, 0), *b;
  uint32_t memory = k < first->n_outputs ? first->values[first->outputs[k]].memory : 0;
  for (uint32_t i = 1; (b = ox_node_body(n, i)); i++)
    if (k >= b->n_outputs || b->values[b->outputs[k]].memory != memory) return 0;
  return memory;
}

/* Settles the bodies of node |id|, and its outputs, which lie where all bodies leave them. */
static ox_status *settle_branches(work *w, ox_id id) {
  ox_graph *b, *g = w->g;
  for (uint32_t i = 0; (b = ox_node_body(&g->nodes[id], i)); i++) OX_TRY(settle_branch(w, b));
  const ox_node *n = &g->nodes[id];
  for (bool changed = true; changed;) { /* a value may be several outputs */
    changed = false;
    for (uint32_t i = 0; (b = ox_node_body(n, i)); i++)
      for (uint32_t k = 0; k < b->n_outputs; k++) {
        work inner = {b, w->providers, w->n, true};
        if (!b->values[b->outputs[k]].memory || common_memory(n, k)) continue;
        OX_TRY(bring_home(&inner, b->outputs[k]));
        changed = true;
      }
  }
  for (uint32_t k = 0; k < n->n_out; k++)
    if (n->out[k] != OX_NONE) g->values[n->out[k]].memory = common_memory(n, k);
  return NULL;
}

/* Where each node leaves its outputs, in topological order: a view's lies where its input does, whatever its owner. */
static ox_status *place_outputs(work *w) {
  ox_graph *g = w->g;
  ox_id *order = NULL;
  uint32_t n_order, n_alloc = g->n_nodes;
  OX_TRY(ox_graph_order(g, g->model->alloc, &order, &n_order));
  ox_status *st = NULL;
  for (uint32_t i = 0; i < n_order && !st; i++) {
    const ox_node *n = &g->nodes[order[i]];
    if (passes_on(g, n)) {
      st = settle_branches(w, order[i]);
      continue;
    }
    if (is_view(g, n)) g->values[n->out[0]].memory = g->values[n->in[0]].memory;
    for (uint32_t k = 0; k < n->n_out && !st; k++)
      if (n->out[k] != OX_NONE)
        st = ox_transfer_memory(g, order[i], 1, k, w->providers, w->n, &g->values[n->out[k]].memory);
  }
  ox_delete(g->model->alloc, order, n_alloc * sizeof *order);
  return st;
}

static ox_status *settle_graph(work *w) {
  uint32_t n_nodes = w->g->n_nodes, n_values = w->g->n_values;
  OX_TRY(place_outputs(w));
  for (ox_id v = 0; v < n_values; v++)
    if (!w->g->values[v].dead) OX_TRY(settle_value(w, v));
  for (ox_id i = 0; i < n_nodes; i++) {
    ox_graph *b;
    if (w->g->nodes[i].dead || ox_node_part(&w->g->nodes[i]) || passes_on(w->g, &w->g->nodes[i])) continue;
    for (uint32_t k = 0; (b = ox_node_body(&w->g->nodes[i], k)); k++) {
      work inner = {b, w->providers, w->n, false};
      OX_TRY(settle_graph(&inner));
    }
  }
  return NULL;
}

ox_status *ox_transfers_add(ox_model *m, const ox_provider *providers, size_t n) {
  work w = {m->graph, providers, n, false};
  bool any = false;
  for (size_t i = 0; i < n; i++) any |= providers[i].api.n_memories > 0;
  return any ? settle_graph(&w) : NULL;
}

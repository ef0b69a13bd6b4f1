/* SPDX-License-Identifier: Apache-2.0
 * exec/lifetimes.c - see the header. A storage (root) lives from its first write to the last read of any value in it. */
#include "exec/lifetimes.h"

#include "base/macros.h"
#include "exec/joined.h"
#include "plan/memplan.h"
#include "plan/transfers.h"

static void read_at(ox_context *c, ox_id v, uint32_t step) {
  if (v != OX_NONE) c->slots[v].last = OX_MAX(c->slots[v].last, step);
}

/* Where the life of what step |i| writes begins. Steps of a stretch may run in any order, so there it is with the first:
 * then none of these values is where another of them lies, nor one that the stretch reads. */
static uint32_t begin_of(const ox_context *c, uint32_t i) {
  const ox_stretch *t = c->steps[i].stretch;
  return t ? t->first : i;
}

/* Memory that |s| uses in the order of its stream, with all others that do: a device's own. */
static bool in_stream_order(const ox_context *c, const ox_step *s, ox_id v) {
  uint32_t memory = c->slots[v].memory;
  return memory && &c->plan->providers[ox_memory_owner(memory) - 1] == s->unit->owner;
}

/* A step with a stream may still read and write other memory when the next steps run: the host's, or a device's that
 * the host can reach. What no step waits for is left alone until the run waits for the stream. */
static void keep_for_stream(ox_context *c, const ox_step *s) {
  const ox_node *n = s->node;
  if (!s->c.stream || s->unit->kind == OX_UNIT_VIEW) return;
  for (uint32_t k = 0; k < n->n_in; k++)
    if (n->in[k] != OX_NONE && !in_stream_order(c, s, n->in[k])) read_at(c, n->in[k], c->n_steps);
  for (uint32_t k = 0; k < n->n_out; k++)
    if (n->out[k] != OX_NONE && !in_stream_order(c, s, n->out[k]) && !c->slots[n->out[k]].awaited)
      read_at(c, n->out[k], c->n_steps);
}

static void find_last_reads(ox_context *c) {
  const ox_graph *g = c->plan->graph;
  for (uint32_t i = 0; i < c->n_steps; i++) {
    const ox_unit *u = c->steps[i].unit;
    const ox_node *n = ox_graph_node(g, u->node);
    for (uint32_t k = 0; k < n->n_out; k++) read_at(c, n->out[k], i); /* one that is never read lives for its step */
    for (uint32_t k = 0; k < n->n_in; k++) read_at(c, n->in[k], i);
    for (uint32_t k = 0; k < u->n_captured; k++) read_at(c, u->captured[k], i);
    keep_for_stream(c, &c->steps[i]);
  }
  for (uint32_t i = 0; i < g->n_outputs; i++) read_at(c, g->outputs[i], c->n_steps);
}

/* Outputs that the caller's memory can take directly: computed into storage of their own. */
static void mark_direct(ox_context *c) {
  const ox_graph *g = c->plan->graph;
  for (uint32_t i = 0; i < g->n_outputs; i++) {
    ox_slot *s = &c->slots[g->outputs[i]];
    if (s->root != g->outputs[i] || s->t.dtype == OX_STRING || s->memory) continue;
    if (s->home == OX_HOME_SLAB) s->home = OX_HOME_OUTPUT;
    s->direct = s->home == OX_HOME_DYNAMIC;
  }
  for (uint32_t i = 0; i < c->n_steps; i++) { /* views of such an output follow it */
    const ox_node *n = ox_graph_node(g, c->steps[i].unit->node);
    if (c->steps[i].mode == OX_MODE_VIEW) c->slots[n->out[0]].home = c->slots[c->slots[n->out[0]].root].home;
  }
}

/* An input of |n| in the storage |root|. */
static ox_id input_in(const ox_context *c, const ox_node *n, ox_id root) {
  for (uint32_t k = 0; k < n->n_in; k++)
    if (n->in[k] != OX_NONE && c->slots[n->in[k]].root == root) return n->in[k];
  return OX_NONE;
}

/* |v| has one reader, and so has every other value in its storage: each is read by the step that makes the next. In a
 * stretch to be the last in the list is not enough. */
static bool has_one_reader(const ox_context *c, ox_id v) {
  const ox_graph *g = c->plan->graph;
  ox_id root = c->slots[v].root;
  while (v != OX_NONE && v != root && ox_graph_use_count(g, v) == 1)
    v = input_in(c, ox_graph_node(g, g->values[v].producer), root);
  return v == root && ox_graph_use_count(g, v) == 1;
}

/* Step |i| is the last to read its input |k|, a slab storage of the same size that no other input shares, unless the
 * kernel may overwrite that one, too. */
static bool may_overwrite(const ox_context *c, uint32_t i, uint32_t k, const uint32_t *root_last) {
  const ox_node *n = ox_graph_node(c->plan->graph, c->steps[i].unit->node);
  const ox_slot *in = &c->slots[n->in[k]], *out = &c->slots[n->out[0]];
  const ox_slot *root = &c->slots[in->root];
  if (root->home != OX_HOME_SLAB || root_last[in->root] != i || in->t.bytes != out->t.bytes ||
      root->memory != out->memory)
    return false;
  if (c->steps[i].stretch && !has_one_reader(c, n->in[k])) return false;
  for (uint32_t j = 0; j < n->n_in; j++) { /* the same value in both places does where the kernel allows it in either */
    bool either = n->in[j] == n->in[k] && j < 32 && (c->steps[i].unit->traits.inplace >> j & 1);
    if (j != k && n->in[j] != OX_NONE && !either && c->slots[n->in[j]].root == in->root) return false;
  }
  for (uint32_t j = 0; j < c->steps[i].unit->n_captured; j++)
    if (c->slots[c->steps[i].unit->captured[j]].root == in->root) return false;
  return true;
}

static void share_in_place(ox_context *c, uint32_t i, uint32_t *root_last) {
  const ox_step *s = &c->steps[i];
  const ox_node *n = ox_graph_node(c->plan->graph, s->unit->node);
  if (s->mode != OX_MODE_STATIC || !s->unit->traits.inplace || !n->n_out || n->out[0] == OX_NONE) return;
  ox_slot *out = &c->slots[n->out[0]];
  if (out->home != OX_HOME_SLAB || out->root != n->out[0]) return;
  for (uint32_t k = 0; k < n->n_in && k < 32; k++) {
    if (!(s->unit->traits.inplace >> k & 1) || n->in[k] == OX_NONE) continue;
    if (s->unit->fixed && s->unit->fixed[k]) continue;
    if (!may_overwrite(c, i, k, root_last)) continue;
    out->root = c->slots[n->in[k]].root, out->shift = c->slots[n->in[k]].shift;
    return;
  }
}

/* Assigns roots in step order: a view's root was set when it was settled, but its input may have moved since. */
static void merge_storages(ox_context *c, uint32_t *root_first, uint32_t *root_last) {
  const ox_graph *g = c->plan->graph;
  for (ox_id v = 0; v < g->n_values; v++) root_first[v] = OX_NONE, root_last[v] = c->slots[v].last;
  for (uint32_t i = 0; i < c->n_steps; i++) {
    const ox_step *s = &c->steps[i];
    const ox_node *n = ox_graph_node(g, s->unit->node);
    bool view = s->mode == OX_MODE_VIEW || (s->mode == OX_MODE_DYNAMIC && s->unit->kind == OX_UNIT_VIEW);
    if (view) c->slots[n->out[0]].root = c->slots[n->in[0]].root, c->slots[n->out[0]].shift = c->slots[n->in[0]].shift;
    share_in_place(c, i, root_last);
    ox_joined_outputs(c, i);
    for (uint32_t k = 0; k < n->n_out; k++) {
      if (n->out[k] == OX_NONE) continue;
      ox_id root = c->slots[n->out[k]].root;
      root_first[root] = OX_MIN(root_first[root], begin_of(c, i));
      root_last[root] = OX_MAX(root_last[root], c->slots[n->out[k]].last);
    }
    ox_joined_inputs(c, i, root_first, root_last);
  }
}

/* |bytes| such that what ox_memplan puts behind them begins on a multiple of |align|. */
static size_t padded(size_t bytes, size_t align) {
  if (align <= OX_ALIGN_BYTES || bytes > SIZE_MAX / 4) return bytes;
  return OX_ROUND_UP(bytes + OX_PAD_BYTES, align) - OX_PAD_BYTES;
}

/* The values of one memory (0: the host's) in one slab of *out_bytes. */
static ox_status *plan_slab(ox_context *c, uint32_t memory, size_t align, const uint32_t *first, const uint32_t *last,
                            size_t *out_bytes) {
  const ox_graph *g = c->plan->graph;
  size_t n = 0, bytes = (g->n_values + 1) * (sizeof(ox_lifetime) + sizeof(ox_id));
  ox_lifetime *items = ox_new(c->env->alloc, bytes);
  if (!items) return ox_oom();
  ox_id *owner = (ox_id *)(items + g->n_values + 1);
  for (uint32_t i = 0; i < c->n_steps; i++) {
    const ox_node *node = ox_graph_node(g, c->steps[i].unit->node);
    for (uint32_t k = 0; k < node->n_out; k++) {
      ox_id v = node->out[k];
      if (v == OX_NONE || c->slots[v].home != OX_HOME_SLAB || c->slots[v].root != v || c->slots[v].memory != memory)
        continue;
      size_t at = n++; /* sorted by first write: a few are parts of what comes later */
      for (; at && items[at - 1].first > first[v]; at--) items[at] = items[at - 1], owner[at] = owner[at - 1];
      owner[at] = v;
      items[at] = (ox_lifetime){padded(c->slots[v].t.bytes, align), first[v], last[v], 0};
    }
  }
  ox_status *st = ox_memplan(c->env->alloc, items, n, out_bytes);
  for (size_t i = 0; i < n; i++) c->slots[owner[i]].offset = items[i].offset;
  for (ox_id v = 0; v < g->n_values; v++) {
    ox_slot *s = &c->slots[v];
    if (s->root != v && s->memory == memory) s->offset = c->slots[s->root].offset + s->shift;
  }
  ox_delete(c->env->alloc, items, bytes);
  return st;
}

/* Dynamic buffers go back to the pool after the last step that reads any value in them. */
static ox_status *plan_frees(ox_context *c, const uint32_t *last) {
  const ox_graph *g = c->plan->graph;
  for (int pass = 0; pass < 2; pass++) {
    for (ox_id v = 0; v < g->n_values; v++) {
      if (c->slots[v].home != OX_HOME_DYNAMIC || c->slots[v].root != v || last[v] >= c->n_steps) continue;
      ox_step *s = &c->steps[last[v]];
      if (pass) s->frees[s->n_frees] = v;
      s->n_frees++;
    }
    for (uint32_t i = 0; i < c->n_steps && !pass; i++) {
      ox_step *s = &c->steps[i];
      if (!s->n_frees) continue;
      s->frees = OX_ARENA_ARRAY(&c->arena, ox_id, s->n_frees);
      if (!s->frees) return ox_oom();
      s->n_frees = 0;
    }
  }
  return NULL;
}

ox_status *ox_lifetimes_name_largest(const ox_context *c, uint32_t memory, ox_status *st) {
  const ox_slot *largest = NULL;
  for (ox_id v = 0; v < c->plan->graph->n_values; v++) {
    const ox_slot *slot = &c->slots[v];
    if (slot->home == OX_HOME_SLAB && slot->memory == memory && (!largest || slot->t.bytes > largest->t.bytes))
      largest = slot;
  }
  if (!st || !largest) return st;
  const ox_graph_value *value = &c->plan->graph->values[largest - c->slots];
  st = ox_status_note(st, "the largest value is '%s' with %zu bytes",
                      ox_transfer_name(c->plan->graph, (ox_id)(largest - c->slots)), largest->t.bytes);
  for (uint32_t i = 0; i < c->n_steps; i++)
    if (c->steps[i].unit->node == value->producer) return ox_unit_note(st, c->plan, c->steps[i].unit);
  return st;
}

ox_status *ox_lifetimes_plan(ox_context *c, bool direct) {
  uint32_t n = c->plan->graph->n_values + 1;
  uint32_t *first = ox_new(c->env->alloc, 2 * (size_t)n * sizeof *first);
  if (!first) return ox_oom();
  uint32_t *last = first + n;
  find_last_reads(c);
  if (direct) mark_direct(c);
  merge_storages(c, first, last);
  ox_status *st = plan_slab(c, 0, OX_ALIGN_BYTES, first, last, &c->values_bytes);
  for (uint32_t i = 0; !st && i < c->devices.n_memories; i++) {
    ox_device_memory *m = &c->devices.memories[i];
    size_t bytes, align = m->provider->api.memories[ox_memory_index(m->id) - 1].align;
    st = plan_slab(c, m->id, align, first, last, &bytes);
    if (!st) st = ox_lifetimes_name_largest(c, m->id, ox_device_slab(m, bytes));
  }
  if (!st) st = plan_frees(c, last);
  ox_delete(c->env->alloc, first, 2 * (size_t)n * sizeof *first);
  return st;
}

ox_status *ox_lifetimes_plan_apart(ox_context *c, size_t *out_bytes) {
  uint32_t n = c->plan->graph->n_values + 1;
  uint32_t *first = ox_new(c->env->alloc, 2 * (size_t)n * sizeof *first);
  if (!first) return ox_oom();
  for (ox_id v = 0; v + 1 < n; v++) c->slots[v].root = v, c->slots[v].shift = 0, c->slots[v].last = 0;
  find_last_reads(c);
  merge_storages(c, first, first + n);
  ox_status *st = plan_slab(c, 0, OX_ALIGN_BYTES, first, first + n, out_bytes);
  ox_delete(c->env->alloc, first, 2 * (size_t)n * sizeof *first);
  return st;
}

/* SPDX-License-Identifier: Apache-2.0
 * opt/cse.c - equal nodes are computed once. In topological order, so that equal chains collapse in one walk. */
#include <string.h>

#include "base/macros.h"
#include "graph/node_same.h"
#include "opt/match.h"
#include "opt/opt.h"
#include "opt/origin.h"

enum { SMALL_CONST = 16 << 10, SAMPLED_CONST = 256, MANY_UNLIKE = 4 };

/* Open addressing over ids; at most half full. */
typedef struct table {
  uint64_t *hash;
  ox_id *id;
  size_t capacity, bytes;
  ox_alloc alloc;
} table;

static bool table_init(table *t, ox_alloc alloc, size_t n) {
  t->alloc = alloc, t->capacity = 16;
  while (t->capacity < n * 2) t->capacity *= 2;
  t->bytes = t->capacity * (sizeof *t->hash + sizeof *t->id);
  t->hash = ox_new(alloc, t->bytes);
  if (!t->hash) return false;
  t->id = (ox_id *)(t->hash + t->capacity);
  memset(t->id, 0xff, t->capacity * sizeof *t->id);
  return true;
}

/* ---- constants ---- */

static bool const_small(const ox_graph *g, ox_id v) {
  const ox_graph_value *value = &g->values[v];
  return !value->dead && value->init && !value->is_input && !value->is_output && value->init->kind == OX_TENSOR &&
         value->init->dtype != OX_STRING && value->init->bytes <= SMALL_CONST;
}

/* Many bytes, eight at a time; folded, since a product carries nothing to lower bits. */
static uint64_t bytes_hash(const void *p, size_t n, uint64_t h) {
  const unsigned char *b = p;
  uint64_t word;
  for (; n >= sizeof word; n -= sizeof word, b += sizeof word) {
    memcpy(&word, b, sizeof word);
    h = (h ^ word) * 0x9fb21c651e98df25u;
    h ^= h >> 32;
  }
  return ox_hash(b, n, h);
}

/* Of a longer one, only some bytes: weights usually differ early, and equal hashes are followed by a comparison. */
static uint64_t const_hash(const ox_tensor *t) {
  const char *p = t->data;
  size_t n = p ? t->bytes : 0, step = n / (SAMPLED_CONST / 8);
  uint64_t h = (uint64_t)t->dtype + n;
  if (n <= SAMPLED_CONST) h = bytes_hash(p, n, h);
  else
    for (size_t at = 0; at + 8 <= n; at += step) h = bytes_hash(p + at, 8, h);
  return ox_hash(t->shape.dim, OX_MAX(t->shape.rank, 0) * sizeof t->shape.dim[0], h);
}

static bool const_equal(const ox_tensor *a, const ox_tensor *b) {
  return a->dtype == b->dtype && a->bytes == b->bytes && ox_shape_equal(&a->shape, &b->shape) &&
         (!a->bytes || memcmp(a->data, b->data, a->bytes) == 0);
}

/* Whether only |owner|'s nodes read |v|. */
static bool read_by_owner(const ox_graph *g, ox_id v, uint16_t owner) {
  const ox_graph_value *value = &g->values[v];
  for (uint32_t i = 0; i < value->n_uses; i++)
    if (g->nodes[value->uses[i].node].assigned.owner != owner) return false;
  return !value->n_inner_uses;
}

/* Gives up on a file made of constants whose hashes collide, instead of comparing each with each. */
static ox_status *merge_consts(ox_graph *g, uint16_t owner, table *t) {
  uint64_t unlike = 0;
  for (ox_id v = 0, n = g->n_values; v < n && unlike <= (uint64_t)n * MANY_UNLIKE; v++) {
    if (!const_small(g, v) || (owner && !read_by_owner(g, v, owner))) continue;
    uint64_t h = const_hash(g->values[v].init);
    size_t i = h & (t->capacity - 1);
    for (; t->id[i] != OX_NONE; i = (i + 1) & (t->capacity - 1)) {
      if (t->hash[i] != h) continue;
      if (const_equal(g->values[t->id[i]].init, g->values[v].init)) break;
      unlike++;
    }
    if (t->id[i] == OX_NONE) {
      t->id[i] = v, t->hash[i] = h;
      continue;
    }
    OX_TRY(ox_graph_replace_uses(g, v, t->id[i]));
    ox_graph_drop_value(g, v);
  }
  return NULL;
}

/* ---- nodes ---- */

static bool node_mergeable(uint16_t owner, const ox_node *n) {
  return !n->dead && n->n_in && !ox_node_body(n, 0) && (!owner || n->assigned.owner == owner);
}

/* Asked of the few that have an equal: looking up a schema costs more than all other questions. */
static bool repeatable(const ox_graph *g, const ox_node *n) {
  const ox_schema *def = ox_node_schema(g->model, n, NULL);
  return def && !(def->traits & (OX_NONDETERMINISTIC | OX_CONTROL));
}

static uint64_t node_hash(const ox_node *n) {
  uint64_t h = ox_hash(&n->op, sizeof n->op, n->n_out); /* names are interned: the pointer will do */
  return ox_hash(n->in, n->n_in * sizeof *n->in, h + n->n_attrs);
}

/* Whether both have the same results, as far as either is known. */
static bool node_equal(const ox_node *a, const ox_node *b) {
  if (a->op != b->op || a->domain != b->domain || a->n_in != b->n_in || a->n_out != b->n_out ||
      !ox_assigned_same(&a->assigned, &b->assigned) || memcmp(a->in, b->in, a->n_in * sizeof *a->in) != 0 ||
      !ox_node_attrs_same(a, b))
    return false;
  for (uint32_t i = 0; i < a->n_out; i++) /* |b| gives way: everything it produces must be there */
    if (b->out[i] != OX_NONE && a->out[i] == OX_NONE) return false;
  return true;
}

/* Two outputs of the graph with the same content stay two. */
static bool can_give_way(const ox_graph *g, const ox_node *b, const ox_node *a) {
  for (uint32_t i = 0; i < b->n_out; i++)
    if (b->out[i] != OX_NONE && !ox_graph_can_replace(g, b->out[i], a->out[i])) return false;
  return true;
}

/* An Identity of a constant: readers that share the constant share what they pack of it, too. */
static bool repeats_constant(const ox_graph *g, const ox_node *n) {
  if (!ox_node_is(n, "Identity", NULL) || n->in[0] == OX_NONE || !n->n_out || n->out[0] == OX_NONE) return false;
  return ox_graph_const_type(g, n->in[0]) && ox_graph_can_replace(g, n->out[0], n->in[0]);
}

/* |id| gives way to the equal |kept|. */
static ox_status *merge(ox_graph *g, ox_id id, ox_id kept) {
  ox_origin origin;
  for (uint32_t o = 0; o < g->nodes[kept].n_out; o++)
    if (g->nodes[id].out[o] != OX_NONE) OX_TRY(ox_graph_replace_uses(g, g->nodes[id].out[o], g->nodes[kept].out[o]));
  ox_origin_start(&origin);
  ox_origin_edited(&origin, g, kept);
  ox_origin_remove(&origin, g, id);
  ox_graph_remove_node(g, id);
  return ox_origin_settle(&origin, g);
}

static ox_status *merge_nodes(ox_graph *g, uint16_t owner, table *t, const ox_id *order, uint32_t n,
                              uint32_t *n_merged) {
  for (uint32_t k = 0; k < n; k++) {
    ox_id id = order[k];
    OX_TRY(ox_watch_check(g->model->watch));
    if (!node_mergeable(owner, &g->nodes[id])) continue;
    if (repeats_constant(g, &g->nodes[id])) {
      OX_TRY(ox_graph_bypass(g, id));
      ++*n_merged;
      continue;
    }
    uint64_t h = node_hash(&g->nodes[id]);
    size_t i = h & (t->capacity - 1);
    while (t->id[i] != OX_NONE && (t->hash[i] != h || !node_equal(&g->nodes[t->id[i]], &g->nodes[id])))
      i = (i + 1) & (t->capacity - 1);
    if (t->id[i] == OX_NONE) {
      t->id[i] = id, t->hash[i] = h;
      continue;
    }
    if (!can_give_way(g, &g->nodes[id], &g->nodes[t->id[i]]) || !repeatable(g, &g->nodes[id])) continue;
    OX_TRY(merge(g, id, t->id[i]));
    ++*n_merged;
  }
  return NULL;
}

ox_status *ox_cse_graph(ox_graph *g, uint16_t owner, uint32_t *n_merged) {
  ox_alloc a = g->model->alloc;
  table consts = {0}, nodes = {0};
  ox_id *order = NULL;
  uint32_t n = 0, n_alloc = g->n_nodes;
  OX_TRY(ox_graph_order(g, a, &order, &n));
  ox_status *st = table_init(&consts, a, g->n_values) && table_init(&nodes, a, n) ? NULL : ox_oom();
  if (!st) st = merge_consts(g, owner, &consts);
  if (!st) st = merge_nodes(g, owner, &nodes, order, n, n_merged);
  ox_delete(a, consts.hash, consts.bytes);
  ox_delete(a, nodes.hash, nodes.bytes);
  ox_delete(a, order, n_alloc * sizeof *order);
  return st;
}

/* SPDX-License-Identifier: Apache-2.0
 * plan/plan.c - turns a graph into units: operator rows, kernels, bodies, aligned constants. */
#include "plan/plan.h"

#include <stdatomic.h>
#include <string.h>

#include "plan/missing.h"

typedef struct {
  ox_plan *plan;
  const ox_plan_opts *opts;
  uint32_t *provider_of;
  atomic_uint *waiting; /* per value: units that may still read the raw constant; 0: its pages can go */
} builder;

ox_status *ox_unit_note(ox_status *st, const ox_plan *p, const ox_unit *u) {
  const ox_node *n = ox_graph_node(p->graph, u->node);
  if (!st) return NULL;
  if (n->name[0]) return ox_status_note(st, "node '%s' (%s)", n->name, n->op);
  const char *out = n->n_out && n->out[0] != OX_NONE ? p->graph->values[n->out[0]].name : "";
  return ox_status_note(st, "node (%s) computing '%s'", n->op, out);
}

/* ---- constants ---- */

bool ox_tensor_aligned(const ox_tensor *t) {
  unsigned bits = ox_dtype_bits(t->dtype);
  size_t align = t->dtype == OX_STRING ? sizeof(void *) : bits >= 64 ? 8 : bits > 8 ? bits / 8 : 1;
  return (uintptr_t)t->data % align == 0;
}

/* The raw constant behind |v| is no longer needed: let its file pages go. */
static void drop_pages(const ox_graph *g, const ox_tensor *t) {
  const ox_model *m = g->model;
  for (uint32_t i = 0; i < m->n_files; i++) ox_file_map_drop(m->files[i], t->data, t->bytes);
}

/* Constants that some kernel reads at run time move to aligned memory, unless all readers take them bytewise. */
static ox_status *align_const(builder *b, ox_id v, bool bytewise) {
  ox_plan *p = b->plan;
  const ox_tensor *t = p->consts[v];
  if (!t || t->kind != OX_TENSOR || !t->bytes || bytewise || ox_tensor_aligned(t)) return NULL;
  ox_tensor *copy = OX_ARENA_NEW(&p->arena, ox_tensor);
  if (!copy) return ox_oom();
  *copy = *t;
  copy->data = ox_arena_copy(&p->arena, t->data, t->bytes);
  if (!copy->data) return ox_oom();
  p->consts[v] = copy;
  drop_pages(p->graph, t); /* whoever still reads the raw bytes gets them from the file again */
  return NULL;
}

static bool is_consumed(const ox_unit *u, uint32_t i) { return u->kernel && i < 64 && (u->kernel->consumed >> i & 1); }

static ox_status *settle_constants(builder *b) {
  ox_plan *p = b->plan;
  uint8_t *reads = ox_arena_alloc(&p->arena, p->graph->n_values + 1); /* 1: bytewise, 2: typed */
  if (!reads) return ox_oom();
  for (uint32_t k = 0; k < p->n_units; k++) {
    const ox_unit *u = &p->units[k];
    const ox_node *n = ox_graph_node(p->graph, u->node);
    for (uint32_t i = 0; i < n->n_in; i++) {
      ox_id v = n->in[i];
      if (v == OX_NONE || is_consumed(u, i)) continue;
      bool bytewise = u->cpu && i < 32 && (u->cpu->unaligned_in >> i & 1);
      reads[v] |= bytewise ? 1 : 2;
    }
    for (uint32_t i = 0; i < u->n_captured; i++) reads[u->captured[i]] |= 2;
  }
  for (uint32_t i = 0; i < p->graph->n_outputs; i++) reads[p->graph->outputs[i]] |= 1;
  for (ox_id v = 0; v < p->graph->n_values; v++)
    if (reads[v]) OX_TRY(align_const(b, v, reads[v] == 1));
  return NULL;
}

/* ---- units ---- */

static ox_status *mark_consumed(builder *b, ox_unit *u) {
  ox_plan *p = b->plan;
  const ox_node *n = ox_graph_node(p->graph, u->node);
  if (!u->kernel || !u->kernel->consumed) return NULL;
  u->consumed = OX_ARENA_ARRAY(&p->arena, const ox_tensor *, n->n_in);
  if (!u->consumed) return ox_oom();
  for (uint32_t i = 0; i < n->n_in; i++) {
    if (!is_consumed(u, i) || n->in[i] == OX_NONE) continue;
    const ox_tensor *t = p->consts[n->in[i]];
    ox_tensor *hollow = OX_ARENA_NEW(&p->arena, ox_tensor);
    if (!hollow) return ox_oom();
    *hollow = *t, hollow->data = NULL;
    u->consumed[i] = hollow;
  }
  return NULL;
}

static ox_status *check_inputs(const ox_plan *p, const ox_unit *u, ox_arena *scratch) {
  const ox_node *n = ox_graph_node(p->graph, u->node);
  const ox_type **types = OX_ARENA_ARRAY(scratch, const ox_type *, n->n_in);
  if (!types) return ox_oom();
  for (uint32_t i = 0; i < n->n_in; i++)
    if (n->in[i] != OX_NONE) types[i] = &p->graph->values[n->in[i]].type;
  return ox_unit_note(ox_op_check(u->def, n, types), p, u);
}

/* Runs on the pool: creates the kernels of units [begin, end). */
static ox_status *load_kernels(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  (void)worker;
  builder *b = ctx;
  ox_plan *p = b->plan;
  for (int64_t k = begin; k < end; k++) {
    ox_unit *u = &p->units[k];
    if (u->n_bodies || (u->def && (u->def->traits & (OX_VIEW | OX_CONTROL)))) continue;
    const ox_provider *ep = &b->opts->providers[b->provider_of[u->node]];
    ox_graph_view view = {.graph = p->graph, .nodes = &u->node, .n_nodes = 1};
    OX_TRY(ox_unit_note(ep->api.kernel_create(ep->ep, &view, 0, &u->kernel), p, u));
    const ox_node *n = ox_graph_node(p->graph, u->node);
    for (uint32_t i = 0; i < n->n_in; i++) {
      ox_id v = n->in[i];
      if (v == OX_NONE || !p->consts[v] || !is_consumed(u, i)) continue;
      if (atomic_fetch_sub(&b->waiting[v], 1) == 1) drop_pages(p->graph, p->consts[v]);
    }
  }
  return NULL;
}

static ox_status *make_bodies(builder *b, ox_unit *u) {
  ox_plan *p = b->plan;
  const ox_node *n = ox_graph_node(p->graph, u->node);
  uint32_t count = 0, n_captured = 0;
  for (uint32_t i = 0; i < n->n_attrs; i++) count += n->attrs[i].graph != NULL;
  if (!count) return NULL;
  u->bodies = OX_ARENA_ARRAY(&p->arena, ox_plan *, count);
  if (!u->bodies) return ox_oom();
  for (uint32_t i = 0; i < n->n_attrs; i++) {
    const ox_graph *g = n->attrs[i].graph;
    if (!g) continue;
    OX_TRY(ox_unit_note(ox_plan_build(g, b->opts, &u->bodies[u->n_bodies]), p, u));
    p->has_random |= u->bodies[u->n_bodies]->has_random;
    u->n_bodies++;
    for (ox_id v = 0; v < g->n_values; v++) n_captured += g->values[v].outer != OX_NONE;
  }
  u->captured = OX_ARENA_ARRAY(&p->arena, ox_id, n_captured);
  if (!u->captured) return ox_oom();
  for (uint32_t i = 0; i < n->n_attrs; i++) {
    const ox_graph *g = n->attrs[i].graph;
    for (ox_id v = 0; g && v < g->n_values; v++)
      if (g->values[v].outer != OX_NONE) u->captured[u->n_captured++] = g->values[v].outer;
  }
  return NULL;
}

static ox_status *make_units(builder *b) {
  ox_plan *p = b->plan;
  const ox_graph *g = p->graph;
  ox_status *st = NULL;
  ox_id *order = NULL;
  uint32_t n = 0;
  ox_arena scratch;
  ox_arena_init(&scratch, p->alloc);
  OX_TRY_TO(done, st, ox_graph_order(g, p->alloc, &order, &n));
  p->units = OX_ARENA_ARRAY(&p->arena, ox_unit, n);
  if (!p->units) st = ox_oom();
  for (uint32_t i = 0; !st && i < n; i++) {
    ox_unit *u = &p->units[p->n_units++];
    const ox_node *node = ox_graph_node(g, order[i]);
    u->node = order[i];
    const ox_op *op = ox_node_op(g->model, node, &u->op_version);
    if (op) u->def = op->schema, u->cpu = op->kernel;
    u->provider = b->provider_of[u->node] == OX_NONE ? "host" : b->opts->providers[b->provider_of[u->node]].api.name;
    if (u->def) {
      OX_TRY_TO(done, st, check_inputs(p, u, &scratch));
      OX_TRY_TO(done, st, ox_unit_note(ox_attrs_decode(u->def, node, &p->arena, &u->attrs), p, u));
      p->has_random |= (u->def->traits & OX_NONDETERMINISTIC) != 0;
    }
    for (uint32_t k = 0; k < node->n_in; k++)
      if (node->in[k] != OX_NONE) atomic_fetch_add_explicit(&b->waiting[node->in[k]], 1, memory_order_relaxed);
    st = make_bodies(b, u);
  }
done:
  if (order) ox_delete(p->alloc, order, n * sizeof *order);
  ox_arena_deinit(&scratch);
  return st;
}

static ox_status *build(builder *b) {
  ox_plan *p = b->plan;
  const ox_graph *g = p->graph;
  b->provider_of = OX_ARENA_ARRAY(&p->arena, uint32_t, g->n_nodes + 1);
  uint8_t *kind = ox_arena_alloc(&p->arena, g->n_nodes + 1);
  b->waiting = OX_ARENA_ARRAY(&p->arena, atomic_uint, g->n_values + 1);
  p->consts = OX_ARENA_ARRAY(&p->arena, const ox_tensor *, g->n_values + 1);
  if (!b->provider_of || !kind || !b->waiting || !p->consts) return ox_oom();
  for (ox_id v = 0; v < g->n_values; v++) p->consts[v] = ox_graph_const(g, v);
  OX_TRY(ox_partition(g, b->opts, b->provider_of, kind));
  if (!g->parent) OX_TRY(ox_missing_check(g, b->opts, b->provider_of));
  OX_TRY(make_units(b));
  for (ox_id v = 0; v < g->n_values; v++) /* bodies and outputs read the raw data, too */
    if (g->values[v].n_inner_uses || g->values[v].is_output || g->values[v].outer != OX_NONE)
      atomic_fetch_add_explicit(&b->waiting[v], 1, memory_order_relaxed);
  OX_TRY(ox_task_for_max(b->opts->pool, b->opts->max_threads, p->n_units, load_kernels, b));
  for (uint32_t k = 0; k < p->n_units; k++) OX_TRY(mark_consumed(b, &p->units[k]));
  return settle_constants(b);
}

ox_status *ox_plan_build(const ox_graph *g, const ox_plan_opts *opts, ox_plan **out_plan) {
  *out_plan = NULL;
  ox_plan *p = ox_new_zeroed(opts->alloc, sizeof *p);
  if (!p) return ox_oom();
  p->graph = g, p->alloc = opts->alloc;
  ox_arena_init(&p->arena, opts->alloc);
  builder b = {.plan = p, .opts = opts};
  ox_status *st = build(&b);
  if (st) ox_plan_destroy(p);
  else *out_plan = p;
  return st;
}

void ox_plan_destroy(ox_plan *p) {
  if (!p) return;
  for (uint32_t i = 0; i < p->n_units; i++) {
    ox_unit *u = &p->units[i];
    if (u->kernel) u->kernel->api->release(u->kernel);
    for (uint32_t k = 0; k < u->n_bodies; k++) ox_plan_destroy(u->bodies[k]);
  }
  ox_arena_deinit(&p->arena);
  ox_delete(p->alloc, p, sizeof *p);
}

/* SPDX-License-Identifier: Apache-2.0
 * plan/plan.c - turns a graph into units: schemas, kernels, programs, bodies. */
#include "plan/plan.h"

#include <stdatomic.h>
#include <string.h>

#include "base/macros.h"
#include "ep/view.h"
#include "graph/extract.h"
#include "plan/constants.h"
#include "plan/compile.h"
#include "plan/transfers.h"
#include "plan/twins.h"

typedef struct {
  ox_plan *plan;
  const ox_plan_opts *opts;
  atomic_uint *waiting; /* per value: units that may still read the raw constant; 0: its pages can go */
} builder;

/* ---- kernels, in parallel ---- */

static void read_traits(ox_unit *u) {
  const ox_kernel_api *api = u->kernel->api;
  u->traits.struct_size = sizeof u->traits;
  if (api->struct_size >= offsetof(ox_kernel_api, traits) + sizeof api->traits && api->traits)
    api->traits(u->kernel, &u->traits);
}

static bool is_whole(const ox_kernel *k) {
  return k && k->api && k->api->struct_size >= offsetof(ox_kernel_api, traits) && k->api->prepare && k->api->run &&
         k->api->release;
}

static ox_status *create_kernel(builder *b, ox_unit *u) {
  ox_plan *p = b->plan;
  ox_graph_view view = {.graph = p->graph, .nodes = &u->node, .n_nodes = 1};
  ox_kernel *kernel = NULL; /* whatever a failed call left here is ignored */
  OX_TRY(u->owner->api.kernel_create(u->owner->ep, &view, 0, &kernel));
  bool whole = is_whole(kernel);
  if (whole) u->kernel = kernel;
  OX_TRY(ox_watch_status(p->graph->model->watch)); /* a call that saw it stops with what it has */
  if (!whole) return ox_fail(OX_INCOMPATIBLE, "kernel_create returned no kernel, or one that lacks a required call");
  read_traits(u);
  const ox_node *n = ox_graph_node(p->graph, u->node);
  for (uint32_t i = 0; i < n->n_in; i++) {
    ox_id v = n->in[i];
    if (v == OX_NONE || !p->consts[v] || !ox_unit_consumes(u, i)) continue;
    if (atomic_fetch_sub(&b->waiting[v], 1) != 1) continue;
    ox_constant_drop(p->graph, p->consts[v]);
  }
  return NULL;
}

static ox_status *create_kernels(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  (void)worker;
  builder *b = ctx;
  for (int64_t k = begin; k < end; k++) {
    ox_unit *u = &b->plan->units[k];
    OX_TRY(ox_watch_check(b->plan->graph->model->watch));
    if (u->kind == OX_UNIT_KERNEL) OX_TRY(ox_unit_note(create_kernel(b, u), b->plan, u));
  }
  return NULL;
}

/* ---- programs, one after the other ---- */

static ox_status *make_program(builder *b, ox_unit *u) {
  ox_plan *p = b->plan;
  const ox_graph *part = ox_node_part(ox_graph_node(p->graph, u->node));
  ox_program_opts o = {u->owner, b->opts->cache_dir, b->opts->log, p->alloc};
  ox_graph_view *view;
  OX_TRY(ox_view_create(part, &p->arena, NULL, &view));
  u->part = view;
  view->done = ox_arena_alloc(&p->arena, part->n_values + 1);
  if (!view->done) return ox_oom();
  OX_TRY(ox_program_make(&o, view, &u->program));
  for (ox_id v = 0; v < part->n_values; v++)
    if (view->done[v] && ox_graph_const(part, v)) ox_constant_drop(part, ox_graph_const(part, v));
  view->done = NULL;
  return NULL;
}

/* ---- units ---- */

static ox_status *check_inputs(const ox_plan *p, const ox_unit *u, ox_arena *scratch) {
  const ox_node *n = ox_graph_node(p->graph, u->node);
  const ox_type **types = OX_ARENA_ARRAY(scratch, const ox_type *, n->n_in);
  if (!types) return ox_oom();
  for (uint32_t i = 0; i < n->n_in; i++)
    if (n->in[i] != OX_NONE) types[i] = &p->graph->values[n->in[i]].type;
  return ox_op_check(u->def, n, types);
}

static ox_status *make_bodies(builder *b, ox_unit *u) {
  ox_plan *p = b->plan;
  const ox_node *n = ox_graph_node(p->graph, u->node);
  uint32_t count = 0, n_captured = 0;
  const ox_graph *g;
  while (ox_node_body(n, count)) count++;
  u->bodies = OX_ARENA_ARRAY(&p->arena, ox_plan *, count);
  if (!u->bodies) return ox_oom();
  for (uint32_t i = 0; (g = ox_node_body(n, i)); i++) {
    OX_TRY(ox_plan_build(g, b->opts, &u->bodies[u->n_bodies]));
    p->has_random |= u->bodies[u->n_bodies]->has_random;
    u->n_bodies++;
    for (ox_id v = 0; v < g->n_values; v++) n_captured += g->values[v].outer != OX_NONE;
  }
  u->captured = OX_ARENA_ARRAY(&p->arena, ox_id, n_captured);
  if (!u->captured) return ox_oom();
  for (uint32_t i = 0; (g = ox_node_body(n, i)); i++)
    for (ox_id v = 0; v < g->n_values; v++)
      if (g->values[v].outer != OX_NONE) u->captured[u->n_captured++] = g->values[v].outer;
  return NULL;
}

static ox_unit_kind kind_of(const ox_unit *u, const ox_node *n) {
  if (n->refused) return OX_UNIT_REFUSED;
  if (ox_node_part(n)) return OX_UNIT_PROGRAM;
  if (ox_node_is_copy(n)) return OX_UNIT_COPY;
  if (ox_node_body(n, 0)) return OX_UNIT_CONTROL;
  return u->def && (u->def->traits & OX_VIEW) ? OX_UNIT_VIEW : OX_UNIT_KERNEL;
}

static ox_status *make_unit(builder *b, ox_unit *u, ox_arena *scratch) {
  ox_plan *p = b->plan;
  const ox_node *n = ox_graph_node(p->graph, u->node);
  u->def = ox_node_schema(p->graph->model, n, &u->op_version);
  u->kind = kind_of(u, n);
  if (n->assigned.owner != OX_HOST_OWNER) u->owner = &p->providers[n->assigned.owner - 1];
  if (u->kind == OX_UNIT_PROGRAM || u->kind == OX_UNIT_COPY || u->kind == OX_UNIT_REFUSED) u->def = NULL;
  if (u->def) {
    OX_TRY(check_inputs(p, u, scratch));
    OX_TRY(ox_attrs_decode(u->def, n, &p->arena, &u->attrs));
    p->has_random |= (u->def->traits & OX_NONDETERMINISTIC) != 0;
  }
  for (uint32_t k = 0; k < n->n_in; k++)
    if (n->in[k] != OX_NONE) atomic_fetch_add_explicit(&b->waiting[n->in[k]], 1, memory_order_relaxed);
  if (u->kind == OX_UNIT_CONTROL) return make_bodies(b, u);
  return u->kind == OX_UNIT_PROGRAM ? make_program(b, u) : NULL;
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
    u->node = order[i], u->plan = p;
    st = ox_watch_check(g->model->watch);
    if (st) break;
    st = ox_unit_note(make_unit(b, u, &scratch), p, u);
  }
done:
  if (order) ox_delete(p->alloc, order, n * sizeof *order);
  ox_arena_deinit(&scratch);
  return st;
}

static ox_status *build(builder *b) {
  ox_plan *p = b->plan;
  const ox_graph *g = p->graph;
  b->waiting = OX_ARENA_ARRAY(&p->arena, atomic_uint, g->n_values + 1);
  p->consts = OX_ARENA_ARRAY(&p->arena, const ox_tensor *, g->n_values + 1);
  if (!b->waiting || !p->consts) return ox_oom();
  for (ox_id v = 0; v < g->n_values; v++)
    if ((p->consts[v] = ox_graph_const_type(g, v)))
      p->constant_bytes += OX_MIN(p->consts[v]->bytes, SIZE_MAX - p->constant_bytes);
  OX_TRY(make_units(b));
  OX_TRY(ox_twins_join(p));
  for (ox_id v = 0; v < g->n_values; v++) /* bodies and outputs read the raw data, too */
    if (g->values[v].n_inner_uses || g->values[v].is_output || g->values[v].outer != OX_NONE)
      atomic_fetch_add_explicit(&b->waiting[v], 1, memory_order_relaxed);
  OX_TRY(ox_task_for_max(b->opts->pool, b->opts->max_threads, p->n_units, create_kernels, b));
  return ox_constants_settle(p);
}

ox_status *ox_plan_build(const ox_graph *g, const ox_plan_opts *opts, ox_plan **out_plan) {
  *out_plan = NULL;
  ox_plan *p = ox_new_zeroed(opts->alloc, sizeof *p);
  if (!p) return ox_oom();
  p->graph = g, p->alloc = opts->alloc, p->providers = opts->providers, p->n_providers = opts->n_providers;
  ox_arena_init(&p->arena, opts->alloc);
  ox_pack_room_init(&p->room, opts->alloc);
  builder b = {.plan = p, .opts = opts};
  ox_status *st = build(&b);
  if (st)
    ox_plan_destroy(p);
  else
    *out_plan = p;
  return st;
}

void ox_plan_destroy(ox_plan *p) {
  if (!p) return;
  ox_constants_release(p);
  for (uint32_t i = 0; i < p->n_units; i++) {
    ox_unit *u = &p->units[i];
    if (u->packs && !u->is_twin) ox_packs_deinit(u->packs);
    if (u->kernel) u->kernel->api->release(u->kernel);
    if (u->program) u->owner->api.program_release(u->program);
    for (uint32_t k = 0; k < u->n_bodies; k++) ox_plan_destroy(u->bodies[k]);
  }
  ox_pack_room_deinit(&p->room);
  ox_arena_deinit(&p->arena);
  ox_delete(p->alloc, p, sizeof *p);
}

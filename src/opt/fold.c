/* SPDX-License-Identifier: Apache-2.0
 * opt/fold.c - nodes whose inputs are all constant are computed once, by the caller's evaluator. */
#include <string.h>

#include "base/cksize.h"
#include "graph/grow32.h"
#include "graph/registry.h"
#include "opt/match.h"
#include "opt/opt.h"

enum { SMALL = 64 << 10, LARGE = 1 << 20 };

/* Memory of a result that |n_values| constants share; of none: for a later result. */
typedef struct room {
  void *data;
  size_t bytes;
  uint32_t n_values;
} room;

typedef struct fold {
  const ox_opt_options *o;
  uint16_t owner;
  bool early;
  size_t *budget;
  uint32_t *n_folded, *n_held;
  room *rooms; /* of results that take SMALL bytes or more */
  uint32_t n_rooms, rooms_cap;
} fold;

/* The bytes that the outputs would take; false if they are unknown and the inputs are not small either. */
static bool result_bytes(const ox_graph *g, const ox_node *n, size_t in_bytes, size_t *out_bytes) {
  *out_bytes = 0;
  for (uint32_t i = 0; i < n->n_out; i++) {
    if (n->out[i] == OX_NONE) continue;
    const ox_type *t = &g->values[n->out[i]].type;
    size_t bytes;
    if (t->kind != OX_TENSOR || t->optional) return false;
    if (t->dtype && ox_shape_known(&t->shape)) {
      if (!ox_dtype_bytes(t->dtype, ox_shape_count(&t->shape), &bytes)) return false;
    } else {
      if (in_bytes > SMALL) return false;
      bytes = in_bytes; /* a guess: NonZero, Unique and their like */
    }
    if (!ox_add_ok(*out_bytes, bytes, out_bytes)) return false;
  }
  return true;
}

static bool foldable(const fold *f, const ox_graph *g, const ox_node *n, size_t *out_cost) {
  size_t in_bytes = 0, out_bytes;
  if (ox_node_is(n, "Identity", NULL)) return false; /* cse.c */
  if (n->dead || !n->n_in || ox_node_body(n, 0) || (f->owner && n->assigned.owner != f->owner)) return false;
  for (uint32_t i = 0; i < n->n_in; i++) {
    if (n->in[i] == OX_NONE) continue;
    const ox_tensor *t = ox_graph_const_type(g, n->in[i]);
    if (!t || t->kind != OX_TENSOR) return false;
    in_bytes += t->bytes;
  }
  bool wanted = false;
  for (uint32_t i = 0; i < n->n_out; i++) {
    if (n->out[i] == OX_NONE) continue;
    if (g->values[n->out[i]].is_output) return false;
    wanted = true;
  }
  if (!wanted) return false;
  const ox_schema *def = ox_node_schema(g->model, n, NULL);
  if (!def || (def->traits & (OX_NONDETERMINISTIC | OX_CONTROL)) || !n->out) return false;
  if (!result_bytes(g, n, in_bytes, &out_bytes)) return false;
  *out_cost = out_bytes > in_bytes ? out_bytes - in_bytes : 0;
  if (out_bytes > SMALL && *out_cost > *f->budget) return false;
  bool held = f->early && ((def->traits & OX_FOLD_LATE) || ((def->traits & OX_FOLD_LARGE_LATE) && in_bytes >= LARGE));
  *f->n_held += held;
  return !held;
}

static bool usable(const ox_node *n, const ox_tensor *outs) {
  for (uint32_t i = 0; i < n->n_out; i++)
    if (n->out[i] != OX_NONE && (outs[i].kind != OX_TENSOR || !outs[i].dtype || !ox_shape_known(&outs[i].shape)))
      return false;
  return true;
}

/* What large constants of a file take in memory: hardly any has another reader, which would find it in the page cache.
 */
static void give_back_pages(const ox_graph *g, const ox_node *n) {
  for (uint32_t i = 0; i < n->n_in; i++) {
    const ox_tensor *t = n->in[i] == OX_NONE ? NULL : ox_graph_const_type(g, n->in[i]);
    if (t && t->kind == OX_TENSOR && t->bytes >= LARGE) ox_model_drop_pages(g->model, t);
  }
}

/* ---- memory of results that only folded nodes read: chains of large ones take as much as a few of them ---- */

static room *room_at(fold *f, const void *data) {
  for (uint32_t i = f->n_rooms; data && i-- > 0;)
    if (f->rooms[i].data == data) return &f->rooms[i];
  return NULL;
}

/* Lets the evaluator use the smallest free room for a single output. */
static void offer_room(const fold *f, const ox_graph *g, const ox_node *n, ox_tensor *out) {
  const ox_type *t = n->n_out == 1 ? &g->values[n->out[0]].type : NULL;
  const room *best = NULL;
  size_t bytes;
  if (!t || !t->dtype || t->dtype == OX_STRING || !ox_shape_known(&t->shape)) return;
  if (!ox_dtype_bytes(t->dtype, ox_shape_count(&t->shape), &bytes) || bytes < SMALL) return;
  for (const room *r = f->rooms; r < f->rooms + f->n_rooms; r++)
    if (!r->n_values && r->bytes >= bytes && r->bytes / 2 <= bytes && (!best || r->bytes < best->bytes)) best = r;
  if (best) out->data = best->data, out->bytes = best->bytes;
}

/* |place|: what the model's arena held before the result was made. Other memory is not ours to write to. */
static ox_status *note_result(fold *f, ox_graph *g, ox_arena_place place, const ox_tensor *t) {
  room *r = room_at(f, t->data);
  if (r) r->n_values++;
  if (r || t->bytes < SMALL || t->dtype == OX_STRING || !ox_arena_holds(&g->model->arena, place, t->data)) return NULL;
  if (!ox_grow32(g->model->alloc, (void **)&f->rooms, &f->rooms_cap, f->n_rooms, sizeof *f->rooms)) return ox_oom();
  f->rooms[f->n_rooms++] = (room){t->data, t->bytes, 1};
  return NULL;
}

static void give_up(fold *f, ox_graph *g, ox_id v) {
  const ox_graph_value *value = v == OX_NONE ? NULL : &g->values[v];
  if (!value || value->dead || !value->init || value->is_output || ox_graph_use_count(g, v)) return;
  room *r = room_at(f, value->init->data);
  if (!r) return;
  ox_graph_drop_value(g, v);
  r->n_values--;
}

/* |outs| has room for every output of the node, |in| for every input. */
static ox_status *fold_node(fold *f, ox_graph *g, ox_id id, size_t cost, ox_tensor *outs, ox_id *in) {
  const ox_node *n = &g->nodes[id];
  const uint32_t n_in = n->n_in;
  const ox_arena_place place = ox_arena_here(&g->model->arena);
  memcpy(in, n->in, n_in * sizeof *in);
  offer_room(f, g, n, outs);
  ox_status *st = f->o->eval(f->o->eval_ctx, g, id, outs);
  if (g->model->watch && ox_status_code(st) == OX_CANCELLED) return st;
  if (ox_status_code(st) == OX_OUT_OF_MEMORY) return ox_status_note(st, "folding node '%s' (%s)", n->name, n->op);
  if (st || !usable(n, outs)) {
    if (f->o->log && st)
      ox_log_write(f->o->log, OX_LOG_DEBUG, "'%s' (%s) is not folded: %s", n->name, n->op, ox_status_message(st));
    ox_status_free(st);
    return NULL;
  }
  give_back_pages(g, n);
  for (uint32_t i = 0; i < n->n_out; i++) {
    ox_id v = g->nodes[id].out[i];
    if (v == OX_NONE) continue;
    OX_TRY(note_result(f, g, place, &outs[i]));
    OX_TRY(ox_graph_make_const(g, v, &outs[i]));
  }
  ox_graph_remove_node(g, id);
  for (uint32_t i = 0; i < n_in; i++) give_up(f, g, in[i]);
  *f->budget -= OX_MIN(cost, *f->budget);
  ++*f->n_folded;
  return NULL;
}

static ox_status *fold_all(fold *f, ox_graph *g, const ox_id *order, uint32_t n) {
  ox_arena arena;
  ox_status *st = NULL;
  ox_arena_init(&arena, g->model->alloc);
  for (uint32_t i = 0; !st && i < n; i++) {
    size_t cost;
    if ((st = ox_watch_check(g->model->watch))) break;
    if (!foldable(f, g, &g->nodes[order[i]], &cost)) continue;
    ox_arena_reset(&arena);
    ox_tensor *outs = OX_ARENA_ARRAY(&arena, ox_tensor, g->nodes[order[i]].n_out);
    ox_id *in = OX_ARENA_ARRAY(&arena, ox_id, g->nodes[order[i]].n_in);
    st = outs && in ? fold_node(f, g, order[i], cost, outs, in) : ox_oom();
  }
  ox_arena_deinit(&arena);
  return st;
}

ox_status *ox_fold_graph(ox_graph *g, const ox_opt_options *o, uint16_t owner, bool early, size_t *budget,
                         uint32_t *n_folded, uint32_t *n_held) {
  fold f = {o, owner, early, budget, n_folded, n_held, NULL, 0, 0};
  ox_id *order = NULL;
  uint32_t n;
  if (!o->eval) return NULL;
  OX_TRY(ox_graph_order(g, g->model->alloc, &order, &n));
  uint32_t n_alloc = g->n_nodes;
  ox_status *st = fold_all(&f, g, order, n);
  ox_delete(g->model->alloc, order, n_alloc * sizeof *order);
  ox_delete(g->model->alloc, f.rooms, f.rooms_cap * sizeof *f.rooms);
  return st;
}

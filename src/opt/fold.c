/* SPDX-License-Identifier: Apache-2.0
 * opt/fold.c - nodes whose inputs are all constant are computed once, by the caller's evaluator. */
#include <string.h>

#include "base/cksize.h"
#include "graph/registry.h"
#include "opt/opt.h"

enum { SMALL = 64 << 10, LARGE = 1 << 20 };

typedef struct fold {
  const ox_opt_options *o;
  uint16_t owner;
  bool early;
  size_t *budget;
  uint32_t *n_folded, *n_held;
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

/* |outs| has room for every output of the node. */
static ox_status *fold_node(fold *f, ox_graph *g, ox_id id, size_t cost, ox_tensor *outs) {
  const ox_node *n = &g->nodes[id];
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
    if (v != OX_NONE) OX_TRY(ox_graph_make_const(g, v, &outs[i]));
  }
  ox_graph_remove_node(g, id);
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
    st = outs ? fold_node(f, g, order[i], cost, outs) : ox_oom();
  }
  ox_arena_deinit(&arena);
  return st;
}

ox_status *ox_fold_graph(ox_graph *g, const ox_opt_options *o, uint16_t owner, bool early, size_t *budget,
                         uint32_t *n_folded, uint32_t *n_held) {
  fold f = {o, owner, early, budget, n_folded, n_held};
  ox_id *order = NULL;
  uint32_t n;
  if (!o->eval) return NULL;
  OX_TRY(ox_graph_order(g, g->model->alloc, &order, &n));
  uint32_t n_alloc = g->n_nodes;
  ox_status *st = fold_all(&f, g, order, n);
  ox_delete(g->model->alloc, order, n_alloc * sizeof *order);
  return st;
}

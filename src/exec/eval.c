/* SPDX-License-Identifier: Apache-2.0
 * exec/eval.c - a kernel without a plan: everything in one arena, in the calling thread. */
#include "exec/eval.h"

#include <string.h>

#include "base/macros.h"

/* ox_ctx_host hands kernels' wishes here; the frame is this struct. */
typedef struct {
  ox_arena *keep;    /* results */
  ox_arena *scratch; /* the rest */
} eval_frame;

static eval_frame *frame_of(const ox_kernel_ctx *c) { return (eval_frame *)(void *)c->frame; }

static bool set_size(ox_tensor *t) {
  int64_t n = ox_shape_count(&t->shape);
  return n >= 0 && ox_dtype_bytes(t->dtype, n, &t->bytes);
}

static void *alloc_prep(ox_kernel_ctx *c, size_t bytes) { return ox_arena_alloc(frame_of(c)->scratch, bytes); }
static void *alloc_run(const ox_kernel_ctx *c, size_t bytes) { return ox_arena_alloc(frame_of(c)->keep, bytes); }

static void *alloc_output(const ox_kernel_ctx *c, uint32_t index, const ox_shape *shape) {
  ox_tensor *t = c->out[index];
  t->kind = OX_TENSOR, t->shape = *shape;
  return set_size(t) ? (t->data = ox_arena_alloc(frame_of(c)->keep, t->bytes)) : NULL;
}

static const ox_ctx_host host = {sizeof host, alloc_prep, alloc_output, alloc_run};

typedef struct {
  const ox_tensor **in;
  const ox_type **types;
  ox_tensor **out;
} operands;

static ox_status *gather(ox_graph *g, const ox_node *n, ox_arena *a, operands *o) {
  o->in = OX_ARENA_ARRAY(a, const ox_tensor *, n->n_in);
  o->types = OX_ARENA_ARRAY(a, const ox_type *, n->n_in);
  if (!o->in || !o->types) return ox_oom();
  for (uint32_t i = 0; i < n->n_in; i++) {
    if (n->in[i] == OX_NONE) continue;
    const ox_tensor *c = ox_graph_const(g, n->in[i]);
    if (!c) return ox_fail(OX_FAIL, "input %u is not constant", i);
    ox_tensor *t = ox_arena_copy(a, c, sizeof *t);
    ox_type *type = OX_ARENA_NEW(a, ox_type);
    if (!t || !type) return ox_oom();
    if (t->kind == OX_TENSOR && (uintptr_t)t->data % 8 && !(t->data = ox_arena_copy(a, c->data, c->bytes))) return ox_oom();
    *type = g->values[n->in[i]].type;
    type->kind = t->kind, type->dtype = t->dtype, type->shape = t->shape;
    o->in[i] = t, o->types[i] = type;
  }
  return NULL;
}

static ox_status *infer(const ox_schema *def, uint32_t version, ox_graph *g, const ox_node *n, ox_arena *a, operands *o,
                        ox_tensor *outs) {
  void *attrs;
  ox_type *out = OX_ARENA_ARRAY(a, ox_type, n->n_out);
  o->out = OX_ARENA_ARRAY(a, ox_tensor *, n->n_out);
  if (!out || !o->out) return ox_oom();
  OX_TRY(ox_op_check(def, n, o->types));
  OX_TRY(ox_attrs_decode(def, n, a, &attrs));
  ox_node_call call = {.schema = def, .node = n, .version = version, .attrs = attrs, .in = o->types, .in_data = o->in,
                       .out = out, .arena = &g->model->arena};
  OX_TRY(ox_node_infer(&call));
  for (uint32_t i = 0; i < n->n_out; i++) {
    outs[i] = (ox_tensor){.kind = out[i].kind, .dtype = out[i].dtype, .shape = out[i].shape};
    if (n->out[i] != OX_NONE) o->out[i] = &outs[i];
    if (outs[i].kind != OX_TENSOR || !ox_shape_known(&outs[i].shape)) continue;
    if (!set_size(&outs[i])) return ox_fail(OX_LIMIT, "output %u is too large", i);
    if (o->out[i] && !(outs[i].data = ox_arena_alloc(&g->model->arena, outs[i].bytes))) return ox_oom();
  }
  return NULL;
}

static ox_status *run(ox_kernel *k, const ox_node *n, operands *o, eval_frame *f) {
  for (uint32_t i = 0; i < n->n_in && i < 64; i++)
    if (o->in[i] && (k->consumed >> i & 1)) ((ox_tensor *)o->in[i])->data = NULL;
  ox_kernel_ctx c = {.struct_size = sizeof c, .n_in = n->n_in, .n_out = n->n_out, .in = o->in, .out = o->out,
                     .n_stages = 1, .n_tiles = {1}, .frame = (ox_frame *)(void *)f, .host = &host};
  OX_TRY(k->api->prepare(k, &c));
  char *scratch = ox_arena_alloc(f->scratch, c.scratch_per_worker);
  c.shared = ox_arena_alloc(f->scratch, c.shared_bytes);
  if (!scratch || !c.shared) return ox_oom();
  for (uint32_t s = 0; s < c.n_stages; s++)
    if (c.n_tiles[s] > 0) OX_TRY(k->api->run(k, &c, s, 0, c.n_tiles[s], scratch));
  return NULL;
}

ox_status *ox_eval_node(ox_provider *provider, ox_graph *g, ox_id node, ox_tensor *outs) {
  const ox_node *n = ox_graph_node(g, node);
  uint32_t version;
  const ox_op *op = ox_node_op(g->model, n, &version);
  const ox_schema *def = op ? op->schema : NULL;
  if (!def || (def->traits & OX_CONTROL) || (!op->kernel && !(def->traits & OX_VIEW)))
    return ox_fail(OX_NOT_IMPLEMENTED, "operator not implemented: %s", n->op);
  ox_arena scratch;
  ox_arena_init(&scratch, g->model->alloc);
  eval_frame f = {&g->model->arena, &scratch};
  operands o;
  ox_kernel *k = NULL;
  ox_status *st = NULL;
  ox_graph_view view = {.graph = g, .nodes = &node, .n_nodes = 1};
  OX_TRY_TO(done, st, gather(g, n, &scratch, &o));
  OX_TRY_TO(done, st, infer(def, version, g, n, &scratch, &o, outs));
  if (def->traits & OX_VIEW) {
    if (!o.out[0]) goto done; /* nobody reads it */
    if (outs[0].bytes == o.in[0]->bytes && o.in[0]->bytes) memcpy(outs[0].data, o.in[0]->data, o.in[0]->bytes);
    else if (outs[0].bytes != o.in[0]->bytes) st = ox_fail(OX_SHAPE_MISMATCH, "%s changes the number of bytes", n->op);
    goto done;
  }
  OX_TRY_TO(done, st, provider->api.kernel_create(provider->ep, &view, 0, &k));
  st = run(k, n, &o, &f);
done:
  if (k) k->api->release(k);
  ox_arena_deinit(&scratch);
  return st;
}

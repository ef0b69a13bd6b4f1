/* SPDX-License-Identifier: Apache-2.0
 * support/one_node.c - see one_node.h. Buffers get exactly their bytes plus the padding kernels may read. */
#include "support/one_node.h"

#include <stdlib.h>
#include <string.h>

#include "ep/host.h"
#include "ep/rows/rows_ep.h"
#include "exec/step.h"

void one_node_init(one_node *n, const char *domain, const char *op, int version, uint32_t n_out) {
  memset(n, 0, sizeof *n);
  n->node = (ox_node){.op = op, .domain = domain, .name = "", .attrs = n->attrs};
  n->version = version, n->n_out = n_out, n->isa = ox_isa_host();
  ox_arena_init(&n->arena, ox_alloc_heap());
}

static ox_attr *add_attr(one_node *n, const char *name, uint32_t kind) {
  if (n->node.n_attrs == 2 * ONE_NODE_MOST) abort();
  ox_attr *a = &n->attrs[n->node.n_attrs++];
  a->name = name, a->v.kind = kind;
  return a;
}
void one_node_int(one_node *n, const char *name, int64_t v) { add_attr(n, name, OX_ATTR_INT_KIND)->v.i = v; }
void one_node_float(one_node *n, const char *name, float v) { add_attr(n, name, OX_ATTR_FLOAT_KIND)->v.f = v; }
void one_node_str(one_node *n, const char *name, const char *v) {
  add_attr(n, name, OX_ATTR_STRING_KIND)->v.s = (ox_str){v, strlen(v)};
}
void one_node_ints(one_node *n, const char *name, size_t count, const int64_t *v) {
  ox_attr *a = add_attr(n, name, OX_ATTR_INTS_KIND);
  a->v.n = count, a->v.ints = v;
}
void one_node_floats(one_node *n, const char *name, size_t count, const float *v) {
  ox_attr *a = add_attr(n, name, OX_ATTR_FLOATS_KIND);
  a->v.n = count, a->v.floats = v;
}
void one_node_strs(one_node *n, const char *name, size_t count, const ox_str *v) {
  ox_attr *a = add_attr(n, name, OX_ATTR_STRINGS_KIND);
  a->v.n = count, a->v.strings = v;
}
void one_node_tensor(one_node *n, const char *name, const ox_tensor *v) {
  ox_attr *a = add_attr(n, name, OX_ATTR_TENSOR_KIND);
  a->v.n = 1, a->v.tensor = v;
}

void one_node_value(one_node *n, const ox_tensor *v) {
  if (n->n_in == ONE_NODE_MOST) abort();
  n->present[n->n_in] = true, n->in[n->n_in++] = *v;
}

void one_node_input(one_node *n, uint32_t dtype, int rank, const int64_t *dims, const void *data) {
  if (n->n_in == ONE_NODE_MOST) abort();
  if (rank < 0) {
    n->n_in++;
    return;
  }
  ox_shape s = ox_shape_of(rank, dims);
  size_t bytes = 0;
  if (!ox_dtype_bytes(dtype, ox_shape_count(&s), &bytes)) abort();
  void *copy = ox_arena_alloc(&n->arena, OX_MAX(bytes, 1));
  if (bytes) memcpy(copy, data, bytes);
  ox_tensor t = ox_tensor_view(dtype, &s, copy);
  one_node_value(n, &t);
}

void one_node_const(one_node *n, uint32_t dtype, int rank, const int64_t *dims, const void *data) {
  one_node_input(n, dtype, rank, dims, data);
  n->constant[n->n_in - 1] = true;
}

/* ---- a model of one node ---- */

static ox_type type_of(const one_node *n, uint32_t i) {
  const ox_tensor *t = &n->in[i];
  ox_type type = {.kind = t->kind, .dtype = t->dtype, .shape = t->shape};
  if (t->kind == OX_MAP) {
    const ox_tensor *pair = t->data;
    type.key_dtype = pair[0].dtype, type.elem = &n->value_type[i];
  }
  return type;
}

static ox_status *add_inputs(one_node *n, ox_graph *g, ox_id *ids) {
  for (uint32_t i = 0; i < n->n_in; i++) {
    ids[i] = OX_NONE;
    if (!n->present[i]) continue;
    if (n->constant[i]) {
      OX_TRY(ox_graph_add_const(g, NULL, &n->in[i], &ids[i]));
    } else {
      OX_TRY(ox_graph_add_value(g, NULL, &ids[i]));
      OX_TRY(ox_graph_add_input(g, ids[i]));
    }
    if (n->in[i].kind == OX_MAP) n->value_type[i] = ox_type_tensor(((const ox_tensor *)n->in[i].data)[1].dtype, NULL);
    ox_graph_value_at(g, ids[i])->type = type_of(n, i);
  }
  return NULL;
}

static ox_status *build(one_node *n, ox_model **out_model, ox_id *out_node) {
  ox_id in[ONE_NODE_MOST], out[ONE_NODE_MOST];
  OX_TRY(ox_model_create(ox_alloc_heap(), ox_ops_cpu(), out_model));
  ox_graph *g = (*out_model)->graph;
  OX_TRY(add_inputs(n, g, in));
  for (uint32_t i = 0; i < n->n_out; i++) {
    OX_TRY(ox_graph_add_value(g, NULL, &out[i]));
    OX_TRY(ox_graph_add_output(g, out[i]));
  }
  OX_TRY(ox_graph_add_node(g, n->node.op, n->node.domain, "", in, n->n_in, out, n->n_out, out_node));
  ox_graph_node(g, *out_node)->version = (uint32_t)n->version;
  for (uint32_t i = 0; i < n->node.n_attrs; i++) OX_TRY(ox_node_set_attr(g, *out_node, &n->attrs[i]));
  return NULL;
}

/* ---- memory ---- */

static void *poisoned(one_node *n, size_t bytes, int with) {
  void *p = ox_arena_alloc(&n->arena, OX_MAX(bytes, 1));
  if (p) memset(p, with, bytes);
  return p;
}

static void *give_output(ox_step *s, uint32_t i, const ox_tensor *t) {
  return (void)i, poisoned(s->owner, t->bytes, 0xee);
}
static void *give_run(ox_step *s, size_t bytes) { return ox_arena_alloc(&((one_node *)s->owner)->arena, bytes); }
static const ox_step_memory memory = {give_output, give_run, NULL};

/* ---- the step ---- */

typedef struct {
  ox_tensor t[ONE_NODE_MOST]; /* as the step sees it */
  const ox_tensor *in[ONE_NODE_MOST];
  ox_tensor *out[ONE_NODE_MOST];
  bool content[ONE_NODE_MOST];
} operands;

/* |vague|: 2: of what is not constant not even the rank is known, 1: no dimension is, 0: all is. */
static void set_operands(one_node *n, int vague, operands *o) {
  for (uint32_t i = 0; i < n->n_in; i++) {
    ox_shape *shape = &o->t[i].shape;
    o->t[i] = n->in[i];
    o->in[i] = n->present[i] ? &o->t[i] : NULL;
    o->content[i] = n->present[i] && (!vague || n->constant[i]);
    if (n->constant[i]) continue;
    if (vague == 2) shape->rank = -1;
    for (int d = 0; vague == 1 && d < shape->rank; d++) shape->dim[d] = -1;
  }
  for (uint32_t i = 0; i < n->n_out; i++) n->out[i] = (ox_tensor){0}, o->out[i] = &n->out[i];
}

/* Inference must also do with unknown dimensions and ranks. */
static ox_status *infer_all(one_node *n, ox_step *s, operands *o) {
  for (int vague = 2; vague >= 0; vague--) {
    set_operands(n, vague, o);
    s->mode = vague ? OX_MODE_DONE : OX_MODE_DYNAMIC;
    OX_TRY(ox_step_infer(s, o->content, &n->arena));
  }
  for (uint32_t i = 0; i < n->n_out; i++) n->out_type[i] = s->type_values[n->n_in + i];
  return NULL;
}

enum { WORKERS = 2 };

static ox_status *run_stage(const one_node *n, ox_step *s, uint32_t stage, void *const *scratch) {
  ox_kernel *k = s->unit->kernel;
  int64_t tiles = s->c.n_tiles[stage], step = n->run_tiles ? n->run_tiles : OX_MAX(tiles, 1), call = 0;
  for (int64_t t = 0; t < tiles; t += step, call++)
    OX_TRY(k->api->run(k, &s->c, stage, t, OX_MIN(t + step, tiles), scratch[call / 2 % WORKERS]));
  return NULL;
}

/* Workers take turns, two calls each; in a stage their scratch stays as they leave it. */
static ox_status *run_stages(const one_node *n, ox_step *s) {
  size_t bytes = OX_ROUND_UP(s->c.scratch_per_worker + OX_PAD_BYTES, OX_ALIGN_BYTES);
  void *scratch[WORKERS] = {NULL}, *all = NULL;
  ox_status *st = NULL;
  if (posix_memalign(&all, OX_ALIGN_BYTES, WORKERS * bytes)) return ox_oom();
  for (int i = 0; i < WORKERS; i++) scratch[i] = (char *)all + (size_t)i * bytes;
  for (uint32_t stage = 0; stage < s->c.n_stages && !st; stage++) {
    memset(all, 0xcd, WORKERS * bytes);
    st = run_stage(n, s, stage, scratch);
  }
  free(all);
  return st;
}

/* What the kernel has packed it does not get again. */
static void hide_consumed(const one_node *n, const ox_unit *u, operands *o) {
  for (uint32_t i = 0; i < n->n_in; i++)
    if (n->constant[i] && (u->kernel->consumed >> i & 1)) o->t[i].data = NULL;
}

static ox_status *run_kernel(one_node *n, ox_step *s, ox_unit *u, ox_ep *ep, operands *o) {
  static const ox_step_crew alone = {.max_threads = 1};
  const ox_graph_view view = {.graph = s->graph, .nodes = &u->node, .n_nodes = 1};
  s->crew = &alone;
  OX_TRY(ox_step_find_memory(s));
  OX_TRY(ox_rows_ep_kernel_create(ep, &view, 0, &u->kernel));
  hide_consumed(n, u, o);
  OX_TRY(ox_step_prepare(s));
  s->c.shared = poisoned(n, s->c.shared_bytes, 0xcd);
  OX_TRY(run_stages(n, s));
  return ox_step_check_outputs(s);
}

static ox_status *run_view(one_node *n) {
  if (n->out[0].bytes != n->in[0].bytes)
    return ox_fail(OX_SHAPE_MISMATCH, "input has %zu bytes, output %zu", n->in[0].bytes, n->out[0].bytes);
  n->out[0].data = n->in[0].data;
  return NULL;
}

static ox_status *run(one_node *n, const ox_graph *g, ox_id node, ox_ep *ep) {
  ox_packs packs;
  ox_unit u = {.node = node, .packs = &packs};
  ox_step s;
  operands o;
  u.def = ox_node_schema(g->model, ox_graph_node(g, node), &u.op_version);
  if (!u.def) return ox_fail(OX_NOT_IMPLEMENTED, "no operator %s", n->node.op);
  u.kind = u.def->traits & OX_VIEW ? OX_UNIT_VIEW : OX_UNIT_KERNEL;
  OX_TRY(ox_attrs_decode(u.def, ox_graph_node(g, node), &n->arena, &u.attrs));
  OX_TRY(ox_step_init(&s, g, &u, o.in, o.out, &n->arena));
  s.mode = OX_MODE_DYNAMIC, s.memory = &memory, s.owner = n;
  ox_packs_init(&packs, NULL);
  ox_status *st = infer_all(n, &s, &o);
  if (!st) st = u.kind == OX_UNIT_VIEW ? run_view(n) : run_kernel(n, &s, &u, ep, &o);
  ox_packs_deinit(&packs);
  if (u.kernel) u.kernel->api->release(u.kernel);
  ox_step_deinit(&s);
  return st;
}

ox_status *one_node_run(one_node *n) {
  static const ox_ep_api api = {.struct_size = sizeof api};
  const ox_ep_services services = {.alloc = ox_alloc_heap(), .max_threads = 1, .provider = "cpu"};
  const ox_ep_host host = ox_ep_host_make(&services, &api);
  ox_model *m = NULL;
  ox_ep *ep = NULL;
  ox_id node;
  ox_status *st = build(n, &m, &node);
  if (!st) st = ox_rows_ep_create(&host, ox_ops_cpu(), NULL, n->isa, &ep);
  if (!st) st = run(n, m->graph, node, ep);
  ox_rows_ep_destroy(ep);
  ox_model_destroy(m);
  return st;
}

void one_node_deinit(one_node *n) { ox_arena_deinit(&n->arena); }

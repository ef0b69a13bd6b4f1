/* SPDX-License-Identifier: Apache-2.0
 * support/one_node.c - see one_node.h. Buffers get exactly their bytes plus the padding kernels may read. */
#include "support/one_node.h"

#include <stdlib.h>
#include <string.h>

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

/* ---- services of the host ---- */
struct ox_frame {
  one_node *n;
};

static void *alloc_prep(ox_kernel_ctx *c, size_t bytes) { return ox_arena_alloc(&c->frame->n->arena, bytes); }
static void *alloc_run(const ox_kernel_ctx *c, size_t bytes) { return ox_arena_alloc(&c->frame->n->arena, bytes); }
static void *alloc_output(const ox_kernel_ctx *c, uint32_t i, const ox_shape *shape) {
  ox_tensor *t = c->out[i];
  size_t bytes = 0;
  if (!ox_dtype_bytes(t->dtype, ox_shape_count(shape), &bytes)) return NULL;
  *t = ox_tensor_view(t->dtype, shape, ox_arena_alloc(&c->frame->n->arena, OX_MAX(bytes, 1)));
  return t->data;
}
static const ox_ctx_host host = {
    .struct_size = sizeof host, .alloc_prep = alloc_prep, .alloc_output = alloc_output, .alloc_run = alloc_run};

static ox_status *run_stages(one_node *n, const ox_kernel_def *def, ox_kernel_ctx *c) {
  for (uint32_t s = 0; s < c->n_stages; s++) {
    int64_t step = n->run_tiles ? n->run_tiles : OX_MAX(c->n_tiles[s], 1);
    for (int64_t t = 0; t < c->n_tiles[s]; t += step) {
      void *scratch = NULL;
      if (posix_memalign(&scratch, OX_ALIGN_BYTES, c->scratch_per_worker + OX_PAD_BYTES)) return ox_oom();
      memset(scratch, 0xcd, c->scratch_per_worker + OX_PAD_BYTES);
      ox_status *st = def->run(c, s, (ox_range){t, OX_MIN(t + step, c->n_tiles[s])}, scratch);
      free(scratch);
      OX_TRY(st);
    }
  }
  return NULL;
}

static ox_status *infer(one_node *n, const ox_schema *def, void *attrs, const ox_type **types, bool known) {
  const ox_tensor *data[ONE_NODE_MOST];
  for (uint32_t i = 0; i < n->n_in; i++) data[i] = n->present[i] && (known || n->constant[i]) ? &n->in[i] : NULL;
  ox_node_call call = {.schema = def,
                       .node = &n->node,
                       .version = (uint32_t)n->version,
                       .attrs = attrs,
                       .in = types,
                       .in_data = data,
                       .out = n->out_type,
                       .arena = &n->arena};
  return ox_node_infer(&call);
}

/* Inference must also do with unknown dimensions and ranks. */
static ox_status *infer_all(one_node *n, const ox_schema *def, void *attrs, const ox_type **types) {
  ox_type vague[ONE_NODE_MOST];
  const ox_type *p[ONE_NODE_MOST];
  for (int pass = 0; pass < 2; pass++) {
    for (uint32_t i = 0; i < n->n_in; i++) {
      p[i] = types[i] ? &vague[i] : NULL;
      if (types[i]) vague[i] = *types[i];
      if (types[i] && pass == 0) vague[i].shape.rank = -1;
      for (int d = 0; types[i] && pass == 1 && d < vague[i].shape.rank; d++) vague[i].shape.dim[d] = -1;
    }
    OX_TRY(infer(n, def, attrs, p, false));
  }
  return infer(n, def, attrs, types, true);
}

static ox_status *make_outputs(one_node *n) {
  for (uint32_t i = 0; i < n->n_out; i++) {
    const ox_type *t = &n->out_type[i];
    n->out[i] = (ox_tensor){.kind = t->kind, .dtype = t->dtype, .shape = t->shape};
    if (t->kind != OX_TENSOR || !ox_shape_known(&t->shape)) continue;
    size_t bytes = 0;
    if (!ox_dtype_bytes(t->dtype, ox_shape_count(&t->shape), &bytes))
      return ox_fail(OX_INVALID_MODEL, "output %u has no size", (unsigned)i);
    void *p = ox_arena_alloc(&n->arena, OX_MAX(bytes, 1));
    memset(p, 0xee, bytes);
    n->out[i] = ox_tensor_view(t->dtype, &t->shape, p);
  }
  return NULL;
}

static void *op_alloc(void *host_data, size_t bytes) { return ox_arena_alloc(&((one_node *)host_data)->arena, bytes); }
static ox_status *op_status(ox_code code, const char *text) { return ox_fail(code, "%s", text); }
static int op_attr(void *host_data, const char *name, ox_attr_view *out) {
  const ox_attr *a = ox_node_attr(&((one_node *)host_data)->node, name);
  if (a) *out = a->v;
  return a != NULL;
}
static const ox_op_host op_host = {sizeof op_host, op_alloc, op_status, op_attr};

static ox_status *load_and_run(one_node *n, const ox_kernel_def *def, void *attrs, const ox_type *const *types) {
  const ox_tensor *in[ONE_NODE_MOST], *in_const[ONE_NODE_MOST];
  ox_tensor *out[ONE_NODE_MOST];
  for (uint32_t i = 0; i < n->n_in; i++) {
    in[i] = n->present[i] ? &n->in[i] : NULL;
    in_const[i] = n->constant[i] ? &n->in[i] : NULL;
  }
  for (uint32_t i = 0; i < n->n_out; i++) out[i] = &n->out[i];
  ox_load_ctx l = {.struct_size = sizeof l,
                   .op = n->node.op,
                   .attrs = attrs,
                   .op_version = (uint32_t)n->version,
                   .n_in = n->n_in,
                   .n_out = n->n_out,
                   .in_type = types,
                   .in_const = in_const,
                   .alloc = ox_alloc_heap(),
                   .isa = n->isa,
                   .host = &op_host,
                   .host_data = n};
  ox_status *st = def->load ? def->load(&l) : NULL;
  struct ox_frame frame = {n};
  ox_kernel_ctx c = {.struct_size = sizeof c,
                     .n_in = n->n_in,
                     .n_out = n->n_out,
                     .in = in,
                     .out = out,
                     .attrs = attrs,
                     .state = l.state,
                     .op_version = l.op_version,
                     .isa = n->isa,
                     .n_stages = 1,
                     .n_tiles = {1},
                     .frame = &frame,
                     .host = &host};
  if (!st && def->prepare) st = def->prepare(&c);
  if (!st) c.shared = ox_arena_alloc(&n->arena, OX_MAX(c.shared_bytes, 1));
  if (!st) st = run_stages(n, def, &c);
  if (def->unload && l.state) def->unload(l.state, l.alloc);
  return st;
}

ox_status *one_node_run(one_node *n) {
  ox_type types[ONE_NODE_MOST], elems[ONE_NODE_MOST];
  const ox_type *p[ONE_NODE_MOST];
  ox_id ids[ONE_NODE_MOST];
  void *attrs = NULL;
  const ox_op *op = ox_registry_find(ox_ops_cpu(), n->node.domain, n->node.op, n->version);
  if (!op || !op->kernel) return ox_fail(OX_NOT_IMPLEMENTED, "no operator %s", n->node.op);
  for (uint32_t i = 0; i < n->n_in; i++) {
    types[i] = (ox_type){.kind = n->in[i].kind, .dtype = n->in[i].dtype, .shape = n->in[i].shape};
    if (n->in[i].kind == OX_MAP) {
      const ox_tensor *pair = n->in[i].data;
      elems[i] = ox_type_tensor(pair[1].dtype, NULL);
      types[i].key_dtype = pair[0].dtype, types[i].elem = &elems[i];
    }
    p[i] = n->present[i] ? &types[i] : NULL;
    ids[i] = n->present[i] ? i : OX_NONE;
  }
  n->node.in = ids, n->node.n_in = n->n_in, n->node.n_out = n->n_out;
  OX_TRY(ox_op_check(op->schema, &n->node, p));
  OX_TRY(ox_attrs_decode(op->schema, &n->node, &n->arena, &attrs));
  OX_TRY(infer_all(n, op->schema, attrs, p));
  OX_TRY(make_outputs(n));
  return load_and_run(n, op->kernel, attrs, p);
}

void one_node_deinit(one_node *n) { ox_arena_deinit(&n->arena); }

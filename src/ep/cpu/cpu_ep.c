/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu/cpu_ep.c - the CPU provider: a kernel per node from the operator registry. Goes through ep.h like anyone. */
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/cpu.h"
#include "base/macros.h"
#include "ep/host.h"
#include "ops/builtin.h"

struct ox_ep {
  ox_ep_host host;
  const ox_registry *ops;
  ox_isa isa;
};

typedef struct {
  ox_kernel base;
  ox_alloc alloc;
  ox_arena arena;
  const ox_op *op;
  void *attrs;
  void *state;
  uint32_t op_version;
  uint32_t isa;
} cpu_kernel;

static ox_status *create(const ox_ep_host *host, const ox_options *opts, ox_ep **out_ep) {
  *out_ep = NULL;
  ox_isa isa = ox_isa_allowed();
  for (uint32_t i = 0; opts && i < opts->n; i++) {
    if (strcmp(opts->keys[i], "isa") != 0)
      return ox_fail(OX_INVALID_ARGUMENT, "the CPU provider has no option '%s' (it has: isa)", opts->keys[i]);
    isa = ox_isa_cap(isa, opts->values[i]);
  }
  const ox_registry *ops = ox_ops_builtin();
  ox_ep *ep = ops ? ox_new_zeroed(host->alloc, sizeof *ep) : NULL;
  if (!ep) return ox_oom();
  ep->host = *host, ep->ops = ops, ep->isa = isa;
  *out_ep = ep;
  return NULL;
}

static void destroy(ox_ep *ep) {
  if (ep) ox_delete(ep->host.alloc, ep, sizeof *ep);
}

static const ox_op *find(const ox_ep *ep, const ox_graph_view *g, size_t node) {
  const ox_ep_host *h = &ep->host;
  return ox_registry_find(ep->ops, h->node_domain(g, node), h->node_op(g, node), h->node_version(g, node));
}

static ox_status *claim(ox_ep *ep, const ox_graph_view *g, ox_claims *claims) {
  for (size_t i = 0; i < ep->host.node_count(g); i++) {
    const ox_op *op = find(ep, g, i);
    if (op && op->kernel && op->kernel->run) ep->host.claim_node(claims, i);
    else ep->host.decline(claims, i, "no such operator at this version");
  }
  return NULL;
}

static void release(ox_kernel *kernel) {
  cpu_kernel *k = (cpu_kernel *)kernel;
  if (!k) return;
  if (k->op->kernel->unload && k->state) k->op->kernel->unload(k->state, k->alloc);
  ox_arena_deinit(&k->arena);
  ox_delete(k->alloc, k, sizeof *k);
}

static ox_status *prepare(ox_kernel *kernel, ox_kernel_ctx *c) {
  const cpu_kernel *k = (const cpu_kernel *)kernel;
  c->attrs = k->attrs, c->state = k->state, c->op_version = k->op_version, c->isa = k->isa;
  return k->op->kernel->prepare ? k->op->kernel->prepare(c) : NULL;
}

static ox_status *run(ox_kernel *kernel, const ox_kernel_ctx *c, uint32_t stage, int64_t begin, int64_t end,
                      void *scratch) {
  return ((const cpu_kernel *)kernel)->op->kernel->run(c, stage, (ox_range){begin, end}, scratch);
}

static const ox_kernel_api kernel_api = {sizeof(ox_kernel_api), prepare, run, release};

/* The node as the view tells it, with the attributes that the operator knows. */
static ox_status *read_node(const ox_ep_host *h, const ox_graph_view *g, size_t node, cpu_kernel *k, ox_node *out) {
  *out = (ox_node){.op = h->node_op(g, node),
                   .domain = h->node_domain(g, node),
                   .name = h->node_name(g, node),
                   .n_in = (uint32_t)h->node_in_count(g, node),
                   .n_out = (uint32_t)h->node_out_count(g, node)};
  out->in = OX_ARENA_ARRAY(&k->arena, ox_id, out->n_in);
  out->out = OX_ARENA_ARRAY(&k->arena, ox_id, out->n_out);
  out->attrs = OX_ARENA_ARRAY(&k->arena, ox_attr, k->op->schema->n_attrs);
  if (!out->in || !out->out || !out->attrs) return ox_oom();
  for (uint32_t i = 0; i < out->n_in; i++) out->in[i] = h->node_in(g, node, i);
  for (uint32_t i = 0; i < out->n_out; i++) out->out[i] = h->node_out(g, node, i);
  for (uint32_t i = 0; i < k->op->schema->n_attrs; i++) {
    ox_attr *a = &out->attrs[out->n_attrs];
    a->name = k->op->schema->attrs[i].name;
    out->n_attrs += h->node_attr(g, node, a->name, &a->v) != 0;
  }
  return NULL;
}

/* What ox_op_host's calls get back. */
typedef struct {
  const ox_ep_host *host;
  const ox_graph_view *g;
  size_t node;
  ox_arena *arena;
} load_data;

static void *op_alloc(void *host_data, size_t bytes) { return ox_arena_alloc(((load_data *)host_data)->arena, bytes); }

static ox_status *op_status(ox_code code, const char *text) { return ox_fail(code, "%s", text); }

static int op_attr(void *host_data, const char *name, ox_attr_view *out) {
  const load_data *d = host_data;
  return d->host->node_attr(d->g, d->node, name, out);
}

static const ox_op_host op_host = {sizeof op_host, op_alloc, op_status, op_attr};

static ox_status *load(const ox_ep_host *h, const ox_graph_view *g, size_t node, cpu_kernel *k, const ox_node *n) {
  const ox_type **types = OX_ARENA_ARRAY(&k->arena, const ox_type *, n->n_in);
  const ox_tensor **consts = OX_ARENA_ARRAY(&k->arena, const ox_tensor *, n->n_in);
  if (!types || !consts) return ox_oom();
  for (uint32_t i = 0; i < n->n_in; i++) {
    if (n->in[i] == OX_NONE) continue;
    ox_type *t = OX_ARENA_NEW(&k->arena, ox_type);
    if (!t) return ox_oom();
    h->value_type(g, n->in[i], &t->kind, &t->dtype, &t->shape);
    types[i] = t, consts[i] = h->value_const(g, n->in[i]);
  }
  load_data data = {h, g, node, &k->arena};
  ox_load_ctx c = {.struct_size = sizeof c,
                   .op = n->op,
                   .attrs = k->attrs,
                   .op_version = k->op_version,
                   .n_in = n->n_in,
                   .n_out = n->n_out,
                   .in_type = types,
                   .in_const = consts,
                   .alloc = k->alloc,
                   .isa = k->isa,
                   .host = &op_host,
                   .host_data = &data};
  ox_status *st = k->op->kernel->load(&c);
  k->state = c.state, k->base.consumed = c.consumed;
  return st;
}

static ox_status *kernel_create(ox_ep *ep, const ox_graph_view *g, size_t node, ox_kernel **out_kernel) {
  *out_kernel = NULL;
  ox_node n;
  ox_status *st = NULL;
  cpu_kernel *k = ox_new_zeroed(ep->host.alloc, sizeof *k);
  if (!k) return ox_oom();
  k->base.api = &kernel_api, k->alloc = ep->host.alloc, k->isa = ep->isa;
  ox_arena_init(&k->arena, k->alloc);
  k->op = find(ep, g, node), k->op_version = ep->host.node_version(g, node);
  OX_TRY_TO(done, st, read_node(&ep->host, g, node, k, &n));
  OX_TRY_TO(done, st, ox_attrs_decode(k->op->schema, &n, &k->arena, &k->attrs));
  if (k->op->kernel->load) OX_TRY_TO(done, st, load(&ep->host, g, node, k, &n));
  *out_kernel = &k->base, k = NULL;
done:
  release((ox_kernel *)k);
  return st;
}

static const ox_ep_api api = {.struct_size = sizeof(ox_ep_api),
                              .abi_major = OX_EP_ABI_MAJOR,
                              .name = "cpu",
                              .create = create,
                              .destroy = destroy,
                              .claim = claim,
                              .kernel_create = kernel_create};

const ox_ep_api *ox_ep_cpu(void) { return &api; }

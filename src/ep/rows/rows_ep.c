/* SPDX-License-Identifier: Apache-2.0
 * ep/rows/rows_ep.c - see rows_ep.h. */
#include "ep/rows/rows_ep.h"

#include <string.h>

#include "base/macros.h"
#include "base/tune.h"

struct ox_ep {
  ox_ep_host host;
  const ox_registry *ops, *but;
  ox_isa isa;
  bool exact;
  ox_tune *tune; /* NULL: none */
};

typedef struct {
  ox_kernel base;
  const ox_ep *ep;
  ox_arena arena;
  const ox_kernel_def *def;
  const char *op;
  void *attrs;
  void *state;
  uint32_t op_version, unaligned_in; /* unaligned_in: as the row's, what load said of this node */
  uint32_t past_in;                  /* what load said */
} rows_kernel;

ox_status *ox_ep_pass_status(const ox_ep_host *host, ox_status *st) {
  if (!st) return NULL;
  ox_status *theirs = host->status_make(ox_status_code(st), ox_status_message(st));
  ox_status_free(st);
  return theirs;
}

ox_status *ox_rows_ep_create(const ox_ep_host *host, const ox_registry *ops, const ox_registry *but, ox_isa isa,
                             ox_ep **out_ep) {
  ox_ep *ep = *out_ep = ox_new_zeroed(host->alloc, sizeof *ep);
  if (!ep) return ox_oom();
  ep->host = *host, ep->ops = ops, ep->but = but, ep->isa = isa;
  return NULL;
}

void ox_rows_ep_set_exact(ox_ep *ep, bool exact) { ep->exact = exact; }

static void log_text(void *ctx, int level, const char *text) {
  const ox_ep *ep = ctx;
  ep->host.log_text(&ep->host, level, text);
}

ox_status *ox_rows_ep_tune(ox_ep *ep, const char *path, bool measures) {
  return ox_tune_open(&(ox_tune_opts){ep->host.alloc, ep->isa, path, measures, log_text, ep}, &ep->tune);
}

void ox_rows_ep_destroy(ox_ep *ep) {
  if (!ep) return;
  ox_tune_close(ep->tune);
  ox_delete(ep->host.alloc, ep, sizeof *ep);
}

/* ---- claims ---- */

static const ox_op *find(const ox_ep *ep, const ox_graph_view *g, size_t node) {
  const ox_ep_host *h = &ep->host;
  const char *domain = h->node_domain(g, node), *name = h->node_op(g, node);
  uint32_t version = h->node_version(g, node);
  const ox_op *op = ox_registry_find(ep->ops, domain, name, version);
  return op && op != ox_registry_find(ep->but, domain, name, version) ? op : NULL;
}

ox_status *ox_rows_ep_claim(ox_ep *ep, const ox_graph_view *g, ox_claims *claims) {
  for (size_t i = 0; i < ep->host.node_count(g); i++) {
    const ox_op *op = find(ep, g, i);
    bool runs = op && ((op->kernel && op->kernel->run) || (op->schema->traits & OX_VIEW));
    if (runs)
      ep->host.claim_node(claims, i);
    else
      ep->host.decline(claims, i, op ? "no kernel of its own" : "no such operator at this version");
  }
  return NULL;
}

/* ---- kernels ---- */

static void release(ox_kernel *kernel) {
  rows_kernel *k = (rows_kernel *)kernel;
  if (k->def->unload && k->state) k->def->unload(k->state, k->ep->host.alloc);
  ox_arena_deinit(&k->arena);
  ox_delete(k->ep->host.alloc, k, sizeof *k);
}

static ox_status *prepare(ox_kernel *kernel, ox_kernel_ctx *c) {
  const rows_kernel *k = (const rows_kernel *)kernel;
  c->attrs = k->attrs, c->state = k->state, c->op_version = k->op_version, c->isa = k->ep->isa;
  c->tune = k->ep->tune;
  return k->def->prepare ? ox_ep_pass_status(&k->ep->host, k->def->prepare(c)) : NULL;
}

static ox_status *run(ox_kernel *kernel, const ox_kernel_ctx *c, uint32_t stage, int64_t begin, int64_t end,
                      void *scratch) {
  const rows_kernel *k = (const rows_kernel *)kernel;
  return ox_ep_pass_status(&k->ep->host, k->def->run(c, stage, (ox_range){begin, end}, scratch));
}

static void traits(const ox_kernel *kernel, ox_kernel_traits *out) {
  const rows_kernel *k = (const rows_kernel *)kernel;
  out->inplace = k->def->inplace, out->unaligned_in = k->def->unaligned_in | k->unaligned_in;
  if (out->struct_size >= sizeof *out) out->past_in = k->past_in;
}

static double flops(const ox_kernel *kernel, const ox_kernel_ctx *c) {
  const rows_kernel *k = (const rows_kernel *)kernel;
  return k->def->flops ? k->def->flops(c) : 0;
}

static const ox_kernel_api kernel_api = {sizeof kernel_api, prepare, run, release, traits, flops};

/* The attributes that the schema knows, as the view tells them. */
static ox_status *decode(const ox_ep_host *h, const ox_graph_view *g, size_t node, const ox_schema *schema,
                         rows_kernel *k) {
  ox_node n = {.op = h->node_op(g, node), .domain = h->node_domain(g, node), .name = h->node_name(g, node)};
  n.attrs = OX_ARENA_ARRAY(&k->arena, ox_attr, schema->n_attrs);
  if (!n.attrs) return ox_oom();
  for (uint32_t i = 0; i < schema->n_attrs; i++) {
    ox_attr *a = &n.attrs[n.n_attrs];
    a->name = schema->attrs[i].name;
    n.n_attrs += h->node_attr(g, node, a->name, &a->v) != 0;
  }
  return ox_attrs_decode(schema, &n, &k->arena, &k->attrs);
}

/* What ox_op_host's calls get back. */
typedef struct {
  const ox_ep_host *host;
  const ox_graph_view *g;
  size_t node;
  ox_arena *arena;
} load_data;

static void *op_alloc(void *host_data, size_t bytes) { return ox_arena_alloc(((load_data *)host_data)->arena, bytes); }

static int op_attr(void *host_data, const char *name, ox_attr_view *out) {
  const load_data *d = host_data;
  return d->host->node_attr(d->g, d->node, name, out);
}

static const char *op_attr_at(void *host_data, size_t i, ox_attr_view *out) {
  const load_data *d = host_data;
  return d->host->node_attr_at(d->g, d->node, i, out);
}

static const char *op_dim_name(void *host_data, int64_t dim) {
  const load_data *d = host_data;
  return d->host->dim_name(d->g, dim);
}

static int op_stopped(void *host_data) {
  const load_data *d = host_data;
  return d->host->stopped(d->g);
}

static const ox_op_host op_host = {sizeof op_host, op_alloc,    ox_status_of_text, op_attr,
                                   op_attr_at,     op_dim_name, op_stopped};

/* What is known of inputs or outputs of a node: an entry each, NULL and "" where it is omitted. */
typedef struct {
  const ox_type **types;
  const char **names;
} load_values;

static ox_status *describe(const load_data *d, uint32_t (*value)(const ox_graph_view *g, size_t node, size_t i),
                           uint32_t n, load_values *out) {
  const ox_ep_host *h = d->host;
  out->types = OX_ARENA_ARRAY(d->arena, const ox_type *, n);
  out->names = OX_ARENA_ARRAY(d->arena, const char *, n);
  if (!out->types || !out->names) return ox_oom();
  for (uint32_t i = 0; i < n; i++) {
    uint32_t v = value(d->g, d->node, i);
    out->names[i] = v == OX_NONE ? "" : h->value_name(d->g, v);
    if (v == OX_NONE) continue;
    ox_type *t = OX_ARENA_NEW(d->arena, ox_type);
    if (!t) return ox_oom();
    h->value_type(d->g, v, &t->kind, &t->dtype, &t->shape);
    out->types[i] = t;
  }
  return NULL;
}

/* What the kernel will pack as runs want it need not be there yet. */
static const ox_tensor *constant_of(const ox_ep_host *h, const ox_graph_view *g, uint32_t value, bool packs) {
  bool asks = h->struct_size >= offsetof(ox_ep_host, value_const_type) + sizeof h->value_const_type;
  return packs && asks ? h->value_const_type(g, value) : h->value_const(g, value);
}

static ox_status *load(const ox_ep_host *h, const ox_graph_view *g, size_t node, void *user, rows_kernel *k) {
  uint32_t n_in = (uint32_t)h->node_in_count(g, node), n_out = (uint32_t)h->node_out_count(g, node);
  const ox_tensor **consts = OX_ARENA_ARRAY(&k->arena, const ox_tensor *, n_in);
  load_data data = {h, g, node, &k->arena};
  load_values in, out;
  if (!consts) return ox_oom();
  OX_TRY(describe(&data, h->node_in, n_in, &in));
  OX_TRY(describe(&data, h->node_out, n_out, &out));
  for (uint32_t i = 0; i < n_in; i++)
    if (in.types[i]) consts[i] = constant_of(h, g, h->node_in(g, node, i), i < 64 && (k->def->packs_in >> i & 1));
  ox_load_ctx c = {.struct_size = sizeof c,
                   .op = k->op,
                   .attrs = k->attrs,
                   .op_version = k->op_version,
                   .n_in = n_in,
                   .n_out = n_out,
                   .in_type = in.types,
                   .in_const = consts,
                   .alloc = h->alloc,
                   .isa = k->ep->isa,
                   .host = &op_host,
                   .host_data = &data,
                   .user = user,
                   .node = h->node_name(g, node),
                   .in_name = in.names,
                   .out_name = out.names,
                   .out_type = out.types,
                   .exact = k->ep->exact,
                   .tune = k->ep->tune};
  ox_status *st = k->def->load(&c);
  k->state = c.state, k->base.consumed = c.consumed, k->unaligned_in = c.unaligned_in;
  k->past_in = c.past_in;
  return st;
}

static ox_status *create(ox_ep *ep, const ox_graph_view *g, size_t node, ox_kernel **out_kernel) {
  const ox_op *op = find(ep, g, node);
  if (!op || !op->kernel || !op->kernel->run)
    return ox_fail(OX_NOT_IMPLEMENTED, "operator not implemented: %s", ep->host.node_op(g, node));
  rows_kernel *k = ox_new_zeroed(ep->host.alloc, sizeof *k);
  if (!k) return ox_oom();
  k->base.api = &kernel_api, k->ep = ep, k->def = op->kernel;
  k->op = op->schema->name, k->op_version = ep->host.node_version(g, node);
  ox_arena_init(&k->arena, ep->host.alloc);
  ox_status *st = decode(&ep->host, g, node, op->schema, k);
  if (!st && k->def->load) st = load(&ep->host, g, node, op->schema->user, k);
  if (st)
    release(&k->base);
  else
    *out_kernel = &k->base;
  return st;
}

ox_status *ox_rows_ep_kernel_create(ox_ep *ep, const ox_graph_view *g, size_t node, ox_kernel **out_kernel) {
  *out_kernel = NULL;
  return ox_ep_pass_status(&ep->host, create(ep, g, node, out_kernel));
}

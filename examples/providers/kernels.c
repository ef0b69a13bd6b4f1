/* SPDX-License-Identifier: Apache-2.0
 * kernels.c - an execution provider in a shared library: Add and Relu of float32, a kernel for each node. Clone it for
 * your own.
 *
 *   cc -std=c11 -O2 -shared -fPIC kernels.c $(pkg-config --cflags onyx) -o libkernels.so
 *   onyx info model.onnx --plan --plugin ./libkernels.so --provider kernels      tells which nodes it runs */
#include <onyx/ep.h>
#include <string.h>

struct ox_ep {
  ox_ep_host host; /* the services of the host: they may be copied */
};

static ox_status *create(const ox_ep_host *host, const ox_options *options, ox_ep **out_ep) {
  (void)options;
  ox_ep *ep = host->alloc.alloc(host->alloc.ctx, sizeof *ep, sizeof(void *));
  if (!ep) return host->status_make(OX_OUT_OF_MEMORY, "no memory for the provider");
  ep->host = *host;
  *out_ep = ep;
  return NULL; /* NULL is success */
}

static void destroy(ox_ep *ep) { ep->host.alloc.free(ep->host.alloc.ctx, ep, sizeof *ep); }

/* ---- what it takes ---- */

static int same_shape(const ox_shape *a, const ox_shape *b) {
  for (int i = 0; a->rank == b->rank && i < a->rank; i++)
    if (a->dim[i] != b->dim[i] || a->dim[i] == -1) return 0; /* < -1: symbols, equal ones are equal dimensions */
  return a->rank == b->rank && a->rank >= 0;
}

/* For the main graph and for each body of If and its like. What nobody claims is the CPU's. */
static ox_status *claim(ox_ep *ep, const ox_graph_view *g, ox_claims *claims) {
  const ox_ep_host *h = &ep->host;
  for (size_t i = 0; i < h->node_count(g); i++) {
    int is_relu = strcmp(h->node_op(g, i), "Relu") == 0, is_add = strcmp(h->node_op(g, i), "Add") == 0;
    uint32_t kind[2], type[2];
    ox_shape shape[2];
    for (size_t k = 0; k < 2; k++) h->value_type(g, h->node_in(g, i, k), &kind[k], &type[k], &shape[k]);
    if (*h->node_domain(g, i) || !(is_relu || is_add)) h->decline(claims, i, "it is neither Add nor Relu");
    else if (type[0] != OX_F32) h->decline(claims, i, "it is not of float32");
    else if (is_add && !same_shape(&shape[0], &shape[1])) h->decline(claims, i, "its inputs have different shapes");
    else h->claim_node(claims, i);
  }
  return NULL;
}

/* ---- kernels ---- */

typedef struct {
  ox_kernel base; /* first: what the host sees */
  ox_ep *ep;
  int is_add;
} kernel;

enum { TILE = 4096 }; /* elements: the host spreads tiles over its threads */

/* Once for each shape. */
static ox_status *prepare(ox_kernel *k, ox_kernel_ctx *c) {
  (void)k;
  c->n_stages = 1, c->n_tiles[0] = (int64_t)((c->in[0]->bytes / sizeof(float) + TILE - 1) / TILE);
  return NULL;
}

/* Tiles [begin, end), on many threads at a time. The output has its memory already. */
static ox_status *run(ox_kernel *base, const ox_kernel_ctx *c, uint32_t stage, int64_t begin, int64_t end,
                      void *scratch) {
  const float *a = c->in[0]->data, *b = ((const kernel *)base)->is_add ? c->in[1]->data : NULL;
  float *y = c->out[0]->data;
  size_t n = c->in[0]->bytes / sizeof(float), last = (size_t)end * TILE < n ? (size_t)end * TILE : n;
  (void)stage, (void)scratch;
  for (size_t i = (size_t)begin * TILE; i < last; i++) y[i] = b ? a[i] + b[i] : a[i] < 0 ? 0 : a[i];
  return NULL;
}

static void release(ox_kernel *base) {
  const ox_ep_host *h = &((kernel *)base)->ep->host;
  h->alloc.free(h->alloc.ctx, base, sizeof(kernel));
}

static const ox_kernel_api kernel_api = {
    .struct_size = sizeof kernel_api, .prepare = prepare, .run = run, .release = release};

static ox_status *kernel_create(ox_ep *ep, const ox_graph_view *g, size_t node, ox_kernel **out_kernel) {
  kernel *k = ep->host.alloc.alloc(ep->host.alloc.ctx, sizeof *k, sizeof(void *));
  if (!k) return ep->host.status_make(OX_OUT_OF_MEMORY, "no memory for a kernel");
  *k = (kernel){{&kernel_api, 0}, ep, strcmp(ep->host.node_op(g, node), "Add") == 0};
  *out_kernel = &k->base;
  return NULL;
}

static const ox_ep_api api = {.struct_size = sizeof api, .abi_major = OX_EP_ABI_MAJOR, .name = "kernels",
                              .create = create, .destroy = destroy, .claim = claim, .kernel_create = kernel_create};

const ox_ep_api *ox_ep_query(uint32_t host_abi_major) { return host_abi_major == OX_EP_ABI_MAJOR ? &api : NULL; }

/* SPDX-License-Identifier: Apache-2.0
 * compile.c - an execution provider in a shared library: Conv, Relu and MaxPool in a row become one program, each Add
 * of equal shapes a kernel; the CPU has the rest. Clone it for your own, with your library in the place of device.h.
 *   cc -std=c11 -O2 -shared -fPIC compile.c $(pkg-config --cflags onyx) -o libcompile.so */
#include <onyx/ep.h>
#include <stdlib.h>

#include "add_kernel.h"
#include "device.h"

struct ox_ep { ox_ep_host host; }; /* the services of the host: they may be copied */

static ox_status *create(const ox_ep_host *host, const ox_options *options, ox_ep **out_ep) {
  if (!(*out_ep = malloc(sizeof **out_ep))) return host->status_make(OX_OUT_OF_MEMORY, "no memory for the provider");
  (*out_ep)->host = *host;
  return NULL; /* NULL is success */
}
static void destroy(ox_ep *ep) { free(ep); }

/* ---- what it takes ---- */

/* Of a Conv or MaxPool; 0: there is more to it than a window. Attributes live as long as the view. That there is one
 * number for each side was checked before. */
static int read_window(const ox_ep_host *h, const ox_graph_view *g, size_t node, window *w) {
  static const int64_t zeros[4], ones[2] = {1, 1};
  ox_attr_view a;
  w->size = h->node_attr(g, node, "kernel_shape", &a) ? a.ints : ones;
  w->step = h->node_attr(g, node, "strides", &a) && a.n == 2 ? a.ints : ones;
  w->pads = h->node_attr(g, node, "pads", &a) && a.n == 4 ? a.ints : zeros;
  const int64_t *dilations = h->node_attr(g, node, "dilations", &a) && a.n == 2 ? a.ints : ones;
  if (h->node_attr(g, node, "auto_pad", &a) || dilations[0] != 1 || dilations[1] != 1) return 0;
  return !(h->node_attr(g, node, "group", &a) && a.i != 1) && !(h->node_attr(g, node, "ceil_mode", &a) && a.i != 0);
}

/* Whether |row| ends with a MaxPool of a Relu of a Conv, each read by the next alone. They are put before it. */
static int find_row(const ox_ep_host *h, const ox_graph_view *g, size_t *row) {
  static const char *const ops[] = {"Conv", "Relu", "MaxPool"};
  uint32_t kind, type;
  ox_shape x;
  window w;
  for (int i = 2; i >= 0; i--) {
    if (strcmp(h->node_op(g, row[i]), ops[i]) != 0 || *h->node_domain(g, row[i])) return 0;
    if (h->node_out_count(g, row[i]) != 1 || !read_window(h, g, row[i], &w)) return 0;
    uint32_t value = h->node_in(g, row[i], 0);
    if (i > 0 && h->value_use_count(g, value) != 1) return 0;
    if (i > 0) row[i - 1] = h->value_producer(g, value); /* SIZE_MAX, which is no node, if none makes it */
  }
  for (size_t i = 1; i < h->node_in_count(g, row[0]); i++)
    if (!h->value_const(g, h->node_in(g, row[0], i))) return 0;
  h->value_type(g, h->node_in(g, row[0], 0), &kind, &type, &x);
  return type == OX_F32 && x.rank == 4;
}

static ox_status *claim(ox_ep *ep, const ox_graph_view *g, ox_claims *claims) {
  const ox_ep_host *h = &ep->host;
  ox_status *st = NULL;
  for (size_t i = 0; i < h->node_count(g) && !st; i++) {
    size_t row[] = {SIZE_MAX, SIZE_MAX, i};
    if (takes_add(h, g, i)) h->claim_node(claims, i);
    if (find_row(h, g, row)) st = h->claim_part(claims, row, 3);
  }
  return st;
}

/* ---- rows: programs ---- */

struct ox_program {
  ox_ep *ep;
  row_job job;
  float weights[]; /* and biases */
};

static ox_status *compile(ox_ep *ep, const ox_graph_view *part, ox_program **out_program) {
  const ox_ep_host *h = &ep->host;
  const ox_tensor *w = h->value_const(part, h->node_in(part, 0, 1)), *b = h->value_const(part, h->node_in(part, 0, 2));
  size_t n = w->bytes / sizeof(float), n_biases = (size_t)w->shape.dim[0];
  ox_program *p = *out_program = calloc(1, sizeof *p + (n + n_biases) * sizeof(float));
  if (!p) return h->status_make(OX_OUT_OF_MEMORY, "no memory for a program");
  memcpy(p->weights, w->data, w->bytes); /* in the model's file they lie at any address */
  if (b) memcpy(p->weights + n, b->data, b->bytes);
  p->ep = ep, p->job.weights = p->weights, p->job.bias = p->weights + n, p->job.weights_shape = w->shape.dim;
  read_window(h, part, 0, &p->job.conv), read_window(h, part, 2, &p->job.pool); /* a part's nodes are in order */
  return NULL;
}
static void program_release(ox_program *p) { free(p); }

/* The host knows the output's shape and gives its memory; else io->alloc_output would. */
static ox_status *run(ox_program *p, const ox_io *io) {
  row_job k = p->job;
  k.in = io->in[0]->data, k.in_shape = io->in[0]->shape.dim;
  k.out = io->out[0]->data, k.out_shape = io->out[0]->shape.dim;
  return p->ep->host.parallel_for(&p->ep->host, (int64_t)(io->out[0]->bytes / sizeof(float)), run_row, &k);
}

static const ox_ep_api api = {.struct_size = sizeof api, .abi_major = OX_EP_ABI_MAJOR, .name = "compile",
                              .create = create, .destroy = destroy, .claim = claim, .compile = compile, .run = run,
                              .program_release = program_release, .kernel_create = kernel_create};

const ox_ep_api *ox_ep_query(uint32_t host_abi_major) { return host_abi_major == OX_EP_ABI_MAJOR ? &api : NULL; }

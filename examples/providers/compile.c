/* SPDX-License-Identifier: Apache-2.0
 * compile.c - an execution provider in a shared library: each Conv, Relu and MaxPool in a row becomes one program.
 * Clone it for your own. kernels.c beside it runs single nodes; one provider may do both.
 *
 *   cc -std=c11 -O2 -shared -fPIC compile.c $(pkg-config --cflags onyx) -o libcompile.so */
#include <onyx/ep.h>
#include <string.h>

struct ox_ep {
  ox_ep_host host; /* the services of the host: they may be copied */
};

static ox_status *create(const ox_ep_host *host, const ox_options *options, ox_ep **out_ep) {
  (void)options;
  *out_ep = host->alloc.alloc(host->alloc.ctx, sizeof **out_ep, sizeof(void *));
  if (!*out_ep) return host->status_make(OX_OUT_OF_MEMORY, "no memory for the provider");
  (*out_ep)->host = *host;
  return NULL;
}

static void destroy(ox_ep *ep) { ep->host.alloc.free(ep->host.alloc.ctx, ep, sizeof *ep); }

/* ---- what it takes ---- */

/* An |op| with one output, constant weights, no attributes but the |allowed|. The CPU can do whatever else there is. */
static int is_plain(const ox_ep_host *h, const ox_graph_view *g, size_t node, const char *op, const char *allowed) {
  ox_attr_view a;
  if (strcmp(h->node_op(g, node), op) != 0 || h->node_out_count(g, node) != 1) return 0;
  for (size_t i = 0; i < h->node_attr_count(g, node); i++)
    if (!strstr(allowed, h->node_attr_at(g, node, i, &a))) return 0;
  for (size_t i = 1; i < h->node_in_count(g, node); i++)
    if (!h->value_const(g, h->node_in(g, node, i))) return 0;
  return 1;
}

/* The node that makes input 0 of |node|, if nobody else reads it; SIZE_MAX, which is no node, if there is none. */
static size_t before(const ox_ep_host *h, const ox_graph_view *g, size_t node) {
  uint32_t value = h->node_in(g, node, 0);
  return h->value_use_count(g, value) == 1 ? h->value_producer(g, value) : SIZE_MAX;
}

static ox_status *claim(ox_ep *ep, const ox_graph_view *g, ox_claims *claims) {
  const ox_ep_host *h = &ep->host;
  ox_status *st = NULL;
  for (size_t pool = 0; pool < h->node_count(g) && !st; pool++) {
    size_t relu = before(h, g, pool), conv = before(h, g, relu), nodes[] = {conv, relu, pool};
    uint32_t kind, type;
    ox_shape shape;
    h->value_type(g, h->node_in(g, conv, 0), &kind, &type, &shape);
    if (type != OX_F32 || shape.rank != 4) continue;
    if (!is_plain(h, g, pool, "MaxPool", "kernel_shape strides") || !is_plain(h, g, relu, "Relu", "")) continue;
    if (is_plain(h, g, conv, "Conv", "kernel_shape pads")) st = h->claim_part(claims, nodes, 3);
  }
  return st;
}

/* ---- programs ---- */

struct ox_program {
  ox_ep *ep;
  size_t bytes;
  int64_t w[4], pads[4], size[2], step[2]; /* of the Conv: the weights' shape and pads; of the MaxPool */
  float data[];                            /* weights and biases */
};

/* The nodes of a part are in order: Conv, Relu, MaxPool. */
static ox_status *compile(ox_ep *ep, const ox_graph_view *part, ox_program **out_program) {
  const ox_ep_host *h = &ep->host;
  const ox_tensor *w = h->value_const(part, h->node_in(part, 0, 1)), *b = h->value_const(part, h->node_in(part, 0, 2));
  size_t bytes = sizeof(ox_program) + w->bytes + (size_t)w->shape.dim[0] * sizeof(float);
  ox_attr_view a;
  ox_program *p = h->alloc.alloc(h->alloc.ctx, bytes, sizeof(void *));
  if (!p) return h->status_make(OX_OUT_OF_MEMORY, "no memory for a program");
  memset(p, 0, bytes);
  p->ep = ep, p->bytes = bytes, p->step[0] = p->step[1] = 1;
  memcpy(p->w, w->shape.dim, sizeof p->w);
  memcpy(p->data, w->data, w->bytes); /* in the model's file they lie at any address */
  if (b) memcpy(p->data + w->bytes / sizeof(float), b->data, b->bytes);
  if (h->node_attr(part, 0, "pads", &a)) memcpy(p->pads, a.ints, sizeof p->pads);
  if (h->node_attr(part, 2, "kernel_shape", &a)) memcpy(p->size, a.ints, sizeof p->size);
  if (h->node_attr(part, 2, "strides", &a)) memcpy(p->step, a.ints, sizeof p->step);
  *out_program = p;
  return NULL;
}

static void program_release(ox_program *p) { p->ep->host.alloc.free(p->ep->host.alloc.ctx, p, p->bytes); }

typedef struct {
  const ox_program *p;
  const ox_tensor *x, *y;
} work;

static float conv_at(const work *k, int64_t image, int64_t channel, int64_t row, int64_t column) {
  const int64_t *x = k->x->shape.dim, *w = k->p->w;
  float sum = k->p->data[w[0] * w[1] * w[2] * w[3] + channel];
  for (int64_t c = 0; c < w[1]; c++)
    for (int64_t i = 0; i < w[2]; i++)
      for (int64_t j = 0; j < w[3]; j++) {
        int64_t r = row + i - k->p->pads[0], s = column + j - k->p->pads[1];
        if (r < 0 || r >= x[2] || s < 0 || s >= x[3]) continue;
        sum += ((const float *)k->x->data)[((image * x[1] + c) * x[2] + r) * x[3] + s] *
               k->p->data[((channel * w[1] + c) * w[2] + i) * w[3] + j];
      }
  return sum;
}

/* Channels [begin, end) of all images; on many threads at a time. */
static void run_channels(void *ctx, int64_t begin, int64_t end) {
  const work *k = ctx;
  const int64_t *y = k->y->shape.dim, *size = k->p->size, *step = k->p->step;
  float *out = (float *)k->y->data + begin * y[2] * y[3];
  for (int64_t at = begin; at < end; at++)
    for (int64_t r = 0; r < y[2]; r++)
      for (int64_t s = 0; s < y[3]; s++) {
        float most = 0; /* the Relu of the largest is the largest of the Relus */
        for (int64_t i = 0; i < size[0] * size[1]; i++) {
          float v = conv_at(k, at / y[1], at % y[1], r * step[0] + i / size[1], s * step[1] + i % size[1]);
          most = v > most ? v : most;
        }
        *out++ = most;
      }
}

/* The host knows the output's shape and gives its memory; else io->alloc_output would. */
static ox_status *run(ox_program *p, const ox_io *io) {
  work k = {p, io->in[0], io->out[0]};
  return p->ep->host.parallel_for(&p->ep->host, k.y->shape.dim[0] * k.y->shape.dim[1], run_channels, &k);
}

static const ox_ep_api api = {.struct_size = sizeof api, .abi_major = OX_EP_ABI_MAJOR, .name = "compile",
                              .create = create, .destroy = destroy, .claim = claim, .compile = compile, .run = run,
                              .program_release = program_release};

const ox_ep_api *ox_ep_query(uint32_t host_abi_major) { return host_abi_major == OX_EP_ABI_MAJOR ? &api : NULL; }

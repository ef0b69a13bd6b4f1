/* SPDX-License-Identifier: Apache-2.0
 * add_kernel.h - the kernel of compile.c: an Add of equal shapes. It has no state, so that one serves all nodes. */
#include <onyx/ep.h>
#include <string.h>

static int takes_add(const ox_ep_host *h, const ox_graph_view *g, size_t node) {
  uint32_t kind, type;
  ox_shape a, b;
  if (strcmp(h->node_op(g, node), "Add") != 0 || *h->node_domain(g, node)) return 0;
  h->value_type(g, h->node_in(g, node, 1), &kind, &type, &b);
  h->value_type(g, h->node_in(g, node, 0), &kind, &type, &a); /* both have this type: the host has checked */
  for (int i = 0; a.rank == b.rank && i < a.rank; i++)
    if (a.dim[i] != b.dim[i] || a.dim[i] == -1) return 0; /* < -1: symbols, equal ones are equal dimensions */
  return type == OX_F32 && a.rank == b.rank && a.rank >= 0;
}

/* Once for each shape. A tile is one number: a thread gets many at a time. */
static ox_status *add_prepare(ox_kernel *k, ox_kernel_ctx *c) {
  c->n_tiles[0] = (int64_t)(c->in[0]->bytes / sizeof(float));
  return NULL;
}

static ox_status *add_run(ox_kernel *k, const ox_kernel_ctx *c, uint32_t stage, int64_t begin, int64_t end,
                          void *scratch) {
  const float *a = c->in[0]->data, *b = c->in[1]->data;
  for (int64_t i = begin; i < end; i++) ((float *)c->out[0]->data)[i] = a[i] + b[i];
  return NULL;
}

static void add_release(ox_kernel *k) {}

static const ox_kernel_api add_api = {sizeof add_api, .prepare = add_prepare, .run = add_run, .release = add_release};
static ox_kernel add = {&add_api, 0};

static ox_status *kernel_create(ox_ep *ep, const ox_graph_view *g, size_t node, ox_kernel **out_kernel) {
  *out_kernel = &add;
  return NULL;
}

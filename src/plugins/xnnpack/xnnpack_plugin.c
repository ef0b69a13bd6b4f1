/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/xnnpack_plugin.c - the provider "xnnpack": instances, options, claims. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xp_build.h"
#include "xp_library.h"

/* ---- instances ---- */

/* Shapes and runs an operator on one number, without a pool: does the library ask us how many threads there are, and
 * does its loop come to us? */
static enum xnn_status try_one(const ox_ep *ep, const xp_step *s, uint32_t type, bool *out_asks, bool *out_loops) {
  const xp_tensor tensor = {.type = (uint8_t)type}, *tensors = &tensor;
  const xp_dims shape = {1, {1}}, *dims = &shape;
  const float number = 0;
  const void *in = &number;
  float out;
  const xp_call c = {ep, &tensors, &dims, &shape, &in, &out, NULL};
  xnn_operator_t op;
  size_t room = 0;
  enum xnn_status st = xp_lib_unary.create(s, &c, &op);
  if (st != xnn_status_success) return st;
  unsigned before = xp_pool_calls_without();
  if (xp_lib_unary.reshape) st = xp_lib_unary.reshape(s, &c, op, &room);
  if (st == xnn_status_success) st = xp_lib_unary.setup(s, &c, op);
  *out_asks = xp_pool_calls_without() != before;
  before = xp_pool_calls_without();
  if (st == xnn_status_success) st = xnn_run_operator(op, NULL);
  *out_loops = xp_pool_calls_without() != before;
  xnn_delete_operator(op);
  return st;
}

/* Runs two operators without a pool and sees whether they call our pthreadpool_*. Which of them ask for the number of
 * threads depends on the library's version, so both a float operator and a table of bytes are tried. */
static enum xnn_status ask_whose_pool(const ox_ep *ep, bool *out_ours) {
  const xp_step floats = {.which = XP_ABS};
  const xp_step bytes = {.which = XP_TANH, .q_in = {{1, 0}}, .q_out = {0x1p-7f, 0}, .q_lo = INT8_MIN, .q_hi = INT8_MAX};
  bool asks[2], loops[2];
  enum xnn_status st = try_one(ep, &floats, OX_F32, &asks[0], &loops[0]);
  if (st == xnn_status_success) st = try_one(ep, &bytes, OX_I8, &asks[1], &loops[1]);
  if (st == xnn_status_success) *out_ours = (asks[0] || asks[1]) && loops[0] && loops[1];
  return st;
}

static bool converts_half(void) {
  const xp_step to = {.kind = &xp_kind_half, .which = 1}, from = {.kind = &xp_kind_half, .which = 0};
  return xp_is_possible(&to, OX_F32) && xp_is_possible(&from, OX_F16);
}

static ox_status *start(ox_ep *ep, const ox_options *options) {
  long cap = 0;
  bool ours = false;
  for (uint32_t i = 0; options && i < options->n; i++) /* the host has checked that they are declared and numbers */
    if (strcmp(options->keys[i], "intra_op_num_threads") == 0) cap = strtol(options->values[i], NULL, 10);
  if (cap < 0) return xp_fail(ep, OX_INVALID_ARGUMENT, "xnnpack: intra_op_num_threads is %ld", cap);
  uint32_t most = ep->host.max_threads(&ep->host);
  ep->pool = (struct pthreadpool){.host = &ep->host, .threads = cap && cap < (long)most ? (uint32_t)cap : most};
  XP_TRY(xp_check(ep, xnn_initialize(&xp_allocator), "xnn_initialize", ""));
  XP_TRY(xp_check(ep, ask_whose_pool(ep, &ours), "Abs and Tanh", "of one number"));
  ep->given = ours ? &ep->pool : NULL;
  ep->half = converts_half();
  if (ours) return NULL;
  ep->pool.threads = 1;
  ep->host.log_text(&ep->host, 2,
                    "this program has brought its own libpthreadpool, which libXNNPACK uses: it runs on one "
                    "thread here, as there is to be no second pool");
  return NULL;
}

static ox_status *create(const ox_ep_host *host, const ox_options *options, ox_ep **out_ep) {
  *out_ep = NULL;
  if (host->struct_size < offsetof(ox_ep_host, parallel_team))
    return host->status_make(OX_INCOMPATIBLE, "xnnpack: the host has no loops with a cap");
  ox_ep *ep = host->alloc.alloc(host->alloc.ctx, sizeof *ep, 64);
  if (!ep) return host->status_make(OX_OUT_OF_MEMORY, "xnnpack: out of memory");
  *ep = (ox_ep){.host = *host};
  ox_status *st = start(ep, options);
  if (st)
    host->alloc.free(host->alloc.ctx, ep, sizeof *ep);
  else
    *out_ep = ep;
  return st;
}

static void destroy(ox_ep *ep) {
  const ox_alloc a = ep->host.alloc;
  a.free(a.ctx, ep, sizeof *ep);
}

/* ---- claims ---- */

/* Claims the DequantizeLinear nodes that make |node|'s weights from constants, and notes them in |taken|. */
static void claim_weights(const xp_graph *g, ox_claims *claims, size_t node, bool *taken) {
  for (size_t i = 0; i < g->h->node_in_count(g->g, node); i++) {
    uint32_t v = xp_in(g, node, i);
    size_t from = xp_dequantizer(g, v);
    if (from == SIZE_MAX || !g->h->value_const(g->g, xp_in(g, from, 0)) || !xp_is_weights(g, v)) continue;
    g->h->claim_fused(claims, from);
    taken[from] = true;
  }
}

static ox_status *claim(ox_ep *ep, const ox_graph_view *view, ox_claims *claims) {
  const xp_graph g = {&ep->host, view, ep->half};
  ox_alloc a = g.h->alloc;
  size_t n = g.h->node_count(view);
  char text[REASON_ROOM];
  bool *taken = a.alloc(a.ctx, n + 1, 1);
  if (!taken) return xp_oom(ep);
  memset(taken, 0, n + 1);
  for (size_t i = 0; i < n; i++) {
    const xp_operator *o = xp_find_operator(&g, i);
    if (!o || o->check(&g, i)) continue;
    g.h->claim_fused(claims, i);
    taken[i] = true;
    claim_weights(&g, claims, i, taken);
  }
  for (size_t i = 0; i < n; i++) {
    const xp_operator *o = xp_find_operator(&g, i);
    if (taken[i]) continue;
    const char *why = o ? o->check(&g, i) : REASON("an operator of the library", "{op}");
    g.h->decline(claims, i, reason_of(g.h, view, i, why, text));
  }
  a.free(a.ctx, taken, n + 1);
  return NULL;
}

static const ox_option_def options[] = {
    {"intra_op_num_threads", OX_OPTION_INT, NULL, "0", "threads of the session's pool that are used; 0: all of them"},
};

static const ox_ep_api api = {.struct_size = sizeof api,
                              .abi_major = OX_EP_ABI_MAJOR,
                              .name = "xnnpack",
                              .create = create,
                              .destroy = destroy,
                              .claim = claim,
                              .compile = xp_compile,
                              .run = xp_program_run,
                              .program_release = xp_program_release,
                              .version = xp_lib_version,
                              .options = options,
                              .n_options = XP_COUNT(options)};

const ox_ep_api *ox_ep_query(uint32_t host_abi_major) { return host_abi_major == OX_EP_ABI_MAJOR ? &api : NULL; }

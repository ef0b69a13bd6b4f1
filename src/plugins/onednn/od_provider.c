/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_provider.c - oneDNN as an execution provider: its table, its options, what it claims. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "od_program.h"

static const ox_option_def options[] = {
    {"num_threads", OX_OPTION_INT, NULL, "0", "threads that the library may use at most; 0: the session's"},
    {"plan_cache", OX_OPTION_INT, NULL, "16", "signatures of input shapes whose primitives are kept, for each part"},
    {"precision", OX_OPTION_STRING, "f32|bf16", "f32", "bf16: float32 may be computed with bfloat16's 8 bits"}};

/* ---- an instance ---- */

static void read_options(ox_ep *ep, const ox_options *o) {
  ep->threads = (int)ep->host.max_threads(&ep->host), ep->cache_capacity = 16;
  for (uint32_t i = 0; i < o->n; i++) {
    long n = strtol(o->values[i], NULL, 10);
    if (strcmp(o->keys[i], "num_threads") == 0 && n > 0) ep->threads = (int)OD_MIN(n, ep->threads);
    if (strcmp(o->keys[i], "plan_cache") == 0) ep->cache_capacity = (size_t)OD_MAX(n, 1);
    if (strcmp(o->keys[i], "precision") == 0) ep->bf16 = strcmp(o->values[i], "bf16") == 0;
  }
}

/* Runs a primitive to find out whose OpenMP run-time the library asks for threads. */
static void find_openmp(ox_ep *ep) {
  dnnl_dims_t dims = {64, 64};
  dnnl_memory_desc_t md;
  dnnl_eltwise_desc_t desc;
  dnnl_primitive_desc_t pd;
  dnnl_primitive_t prim;
  if (dnnl_memory_desc_init_by_tag(&md, 2, dims, dnnl_f32, dnnl_ab) != dnnl_success) return;
  if (dnnl_eltwise_forward_desc_init(&desc, dnnl_forward_inference, dnnl_eltwise_relu, &md, 0, 0) != dnnl_success)
    return;
  if (dnnl_primitive_desc_create(&pd, &desc, NULL, ep->engine, NULL) != dnnl_success) return;
  if (dnnl_primitive_create(&prim, pd) == dnnl_success) dnnl_primitive_destroy(prim);
  dnnl_primitive_desc_destroy(pd);
  ep->foreign = !od_openmp_is_ours();
  if (!ep->foreign) return;
  ep->threads = od_openmp_leave_to_other() ? 1 : 0;
  ep->host.log_text(&ep->host, 2,
                    ep->threads ? "libdnnl is bound to an OpenMP run-time of the program: it gets one thread"
                                : "libdnnl is bound to an OpenMP run-time that cannot be held to one thread: nothing "
                                  "is claimed");
}

/* Does the library multiply bytes exactly? Without AVX-512 VNNI it uses instructions that saturate sums of two
 * products, or halves the weights; with AVX2 VNNI (AVX-VNNI) it still does so in matmul. */
static bool multiplies_bytes(void) {
#if defined(__x86_64__)
  unsigned vnni = dnnl_cpu_isa_avx512_core_vnni;
  return ((unsigned)dnnl_get_effective_cpu_isa() & vnni) == vnni;
#else
  return true;
#endif
}

static ox_status *open_library(ox_ep *ep) {
  dnnl_status_t s = dnnl_engine_create(&ep->engine, dnnl_cpu, 0);
  if (s == dnnl_success) s = dnnl_stream_create(&ep->stream, ep->engine, dnnl_stream_default_flags);
  if (s != dnnl_success) return od_fail(ep, od_status_code(s), "oneDNN: making an engine: %s", od_status_text(s));
  ep->has_bf16 = ((unsigned)dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core) == dnnl_cpu_isa_avx512_core;
  ep->has_int8 = multiplies_bytes();
  ep->loops = od_loops_select(ox_isa_allowed());
  find_openmp(ep);
  return NULL;
}

static const char *describe(ox_ep *ep) {
  const dnnl_version_t *v = dnnl_version();
  snprintf(ep->library, sizeof ep->library, "oneDNN %d.%d.%d, %.60s, threads of %s", v->major, v->minor, v->patch,
           v->hash, ep->foreign ? "others" : "the session");
  return ep->library;
}

static void destroy(ox_ep *ep) {
  ox_alloc a = ep->host.alloc;
  if (ep->stream) dnnl_stream_destroy(ep->stream);
  if (ep->engine) dnnl_engine_destroy(ep->engine);
  a.free(a.ctx, ep, sizeof *ep);
}

static ox_status *create(const ox_ep_host *host, const ox_options *opts, ox_ep **out_ep) {
  if (host->struct_size < offsetof(ox_ep_host, parallel_team) + sizeof host->parallel_team)
    return host->status_make(OX_INCOMPATIBLE, "oneDNN: the host is older than 1.5 of onyx/ep.h");
  ox_ep *ep = host->alloc.alloc(host->alloc.ctx, sizeof *ep, 64);
  if (!ep) return host->status_make(OX_OUT_OF_MEMORY, "oneDNN: out of memory");
  *ep = (ox_ep){.host = *host};
  read_options(ep, opts);
  ox_status *st = open_library(ep);
  if (st)
    destroy(ep);
  else
    *out_ep = ep;
  return st;
}

/* ---- claims ---- */

/* Does the graph contain 8-bit quantized operators, or conversions to and from them? */
static bool is_quantized(const ox_ep *ep, const ox_graph_view *g) {
  static const char *const ops[] = {"QuantizeLinear", "DequantizeLinear", "QLinearConv", "QLinearMatMul"};
  for (size_t i = 0; i < ep->host.node_count(g); i++)
    for (size_t k = 0; k < OD_COUNT(ops); k++)
      if (strcmp(ep->host.node_op(g, i), ops[k]) == 0) return true;
  return false;
}

static bool is_taken(ox_ep *ep, const ox_graph_view *g, size_t node, const char **out_why) {
  od_node n = {ep, g, node};
  const od_op *op = od_op_find(&n);
  *out_why = !op ? REASON("an operator of the library", "{op}")
             : ep->threads
                 ? op->refuse(&n)
                 : REASON("an OpenMP run-time that can be held to one thread (the program brings another one)", "{op}");
  return !*out_why;
}

static ox_status *claim(ox_ep *ep, const ox_graph_view *g, ox_claims *claims) {
  bool inexact = !ep->has_int8 && is_quantized(ep, g);
  char text[REASON_ROOM];
  for (size_t i = 0; i < ep->host.node_count(g); i++) {
    const char *why =
        REASON("AVX-512 VNNI for models of 8-bit integers (the library's products saturate else)", "{op}");
    if (!inexact && is_taken(ep, g, i, &why))
      ep->host.claim_fused(claims, i);
    else
      ep->host.decline(claims, i, reason_of(&ep->host, g, i, why, text));
  }
  return NULL;
}

static const ox_ep_api api = {.struct_size = sizeof api,
                              .abi_major = OX_EP_ABI_MAJOR,
                              .name = "onednn",
                              .version = "1",
                              .create = create,
                              .destroy = destroy,
                              .claim = claim,
                              .compile = od_compile,
                              .run = od_run,
                              .program_release = od_program_release,
                              .options = options,
                              .n_options = OD_COUNT(options),
                              .describe = describe};

const ox_ep_api *ox_ep_query(uint32_t host_abi_major) { return host_abi_major == OX_EP_ABI_MAJOR ? &api : NULL; }

/* SPDX-License-Identifier: Apache-2.0
 * graph/op_def.h - what the files of operators are written with, on top of the rows of onyx/op.h. Every fact about an
 * operator is a field of its row, nowhere else. */
#ifndef OX_GRAPH_OP_DEF_H
#define OX_GRAPH_OP_DEF_H

#include "base/cpu.h"
#include "base/stop.h"
#include "graph/graph.h"

/* The rows of one file: ox_ops_<stem>. */
typedef struct ox_op_set {
  const ox_op *ops;
  size_t n;
} ox_op_set;

/* ---- shape and type inference ---- */
/* out[i] is a tensor of |dtype| and |shape| (NULL: unknown). No-op if i >= n_out. */
void ox_infer_out(ox_infer_ctx *c, uint32_t i, uint32_t dtype, const ox_shape *shape);
/* The most common inference: output 0 has input 0's type and shape. */
ox_status *ox_infer_same_as_input(ox_infer_ctx *c);
/* Output 0: dtype of input 0, shapes of all inputs broadcast. */
ox_status *ox_infer_broadcast(ox_infer_ctx *c);
/* Input |i| is present. */
static inline bool ox_infer_has(const ox_infer_ctx *c, uint32_t i) { return i < c->n_in && c->in[i]; }
/* Reads a known 1-D (or scalar) I32/I64 input into |out|. 1: read; 0: content not known; -1: longer than |max| or not
 * an integer tensor. */
int ox_infer_ints(const ox_infer_ctx *c, uint32_t i, int64_t *out, int max, int *out_n);

/* Zeroed memory that lives as long as the types, or NULL. */
#define OX_INFER_NEW(c, type) ((type *)(c)->host->alloc((c)->host_data, sizeof(type)))

/* ---- load ---- */
/* Zeroed memory that lives as long as the kernel, or NULL. */
#define OX_LOAD_NEW(c, type) ((type *)ox_load_array((c), 1, sizeof(type)))
#define OX_LOAD_ARRAY(c, type, n) ((type *)ox_load_array((c), (n), sizeof(type)))
void *ox_load_array(const ox_load_ctx *c, size_t n, size_t item_bytes);
/* For the loops that pack a constant: then return NULL with what there is in c->state (ox_op_host.stopped). */
ox_stop ox_load_stop(const ox_load_ctx *c);
/* An unload for states that begin with an ox_arena, of c->alloc. */
void ox_unload_arena(void *state, ox_alloc alloc);

/* ---- kernels ---- */
/* Books one stage of |tiles| tiles and |scratch| bytes per worker; always OK. */
ox_status *ox_ctx_plan(ox_kernel_ctx *c, int64_t tiles, size_t scratch_per_worker);
/* Zeroed memory that lives as long as these prepared shapes, or NULL. */
static inline void *ox_ctx_alloc(ox_kernel_ctx *c, size_t bytes) { return c->host->alloc_prep(c, bytes); }
/* prepare: constant inputs in the form of |p|, packed once for all shapes and runs (ox_ctx_host.pack). */
ox_status *ox_ctx_pack(ox_kernel_ctx *c, const ox_pack *p, const void **out_data);
/* The same for what only runs read (ox_ctx_host.pack_for_runs): |p->arg| lives as long as these prepared shapes. */
ox_status *ox_ctx_pack_for_runs(ox_kernel_ctx *c, const ox_pack *p, const void *const **out_place);
/* prepare: where a constant input lies (ox_ctx_host), if the host can also pack it later; else NULL. */
static inline const void *ox_ctx_constant_place(const ox_kernel_ctx *c, uint32_t input) {
  const ox_ctx_host *h = c->host;
  bool there = h->struct_size >= offsetof(ox_ctx_host, pack_now) + sizeof h->pack_now && h->pack_now;
  return there && h->pack_later && h->constant_place ? h->constant_place(c, input) : NULL;
}
/* 0: the host does not tell. */
static inline size_t ox_ctx_constant_bytes(const ox_kernel_ctx *c) {
  return c->struct_size >= offsetof(ox_kernel_ctx, constant_bytes) + sizeof c->constant_bytes ? c->constant_bytes : 0;
}
/* Whether |c->host->constant| is there. */
static inline bool ox_ctx_lends(const ox_kernel_ctx *c) {
  return c->host->struct_size >= offsetof(ox_ctx_host, constant) + sizeof c->host->constant && c->host->constant;
}
/* run: sets the shape of a data-dependent output and returns its memory, or NULL. */
static inline void *ox_ctx_output(const ox_kernel_ctx *c, uint32_t i, const ox_shape *s) {
  return c->host->alloc_output(c, i, s);
}
/* run: memory until the run's outputs are handed over. */
static inline void *ox_ctx_run_alloc(const ox_kernel_ctx *c, size_t bytes) { return c->host->alloc_run(c, bytes); }
/* run: an array of such memory with the |used| bytes at |p| and room for |more|; |p| itself if it can grow there. */
void *ox_ctx_run_extend(const ox_kernel_ctx *c, const void *p, size_t used, size_t more);
/* The same in a new array, always. */
void *ox_ctx_run_enlarge(const ox_kernel_ctx *c, const void *p, size_t used, size_t more);
/* The same for |n| items, at least one; NULL also if |n| is negative or their size does not fit. */
void *ox_ctx_run_array(const ox_kernel_ctx *c, int64_t n, size_t item_bytes);
/* run: a key for random numbers (ox_ctx_host.random_key). */
uint64_t ox_ctx_random_key(const ox_kernel_ctx *c);
/* run: for loops of more than 100 us in a tile, every 10 us or so; then return NULL (ox_ctx_host.stopped). */
static inline bool ox_ctx_stopped(const ox_kernel_ctx *c) {
  return c->host->struct_size >= offsetof(ox_ctx_host, stopped) + sizeof c->host->stopped && c->host->stopped(c);
}
/* The same in turn |i| of a loop, but asked in one of |every| (a power of two) only. */
static inline bool ox_ctx_stopped_each(const ox_kernel_ctx *c, int64_t i, int64_t every) {
  return !((i + 1) & (every - 1)) && ox_ctx_stopped(c);
}
/* The same for loops that know no node. */
ox_stop ox_ctx_stop(const ox_kernel_ctx *c);
static inline bool ox_ctx_has(const ox_kernel_ctx *c, uint32_t i) { return i < c->n_in && c->in[i]; }
static inline bool ox_ctx_wants(const ox_kernel_ctx *c, uint32_t i) { return i < c->n_out && c->out[i]; }

#endif

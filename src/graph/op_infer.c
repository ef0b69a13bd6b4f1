/* SPDX-License-Identifier: Apache-2.0
 * graph/op_infer.c - pieces of shape inference and preparation that many operators share. */
#include <string.h>

#include "base/cksize.h"
#include "base/macros.h"
#include "base/random_key.h"
#include "graph/op_def.h"

ox_type ox_type_unknown(void) { return (ox_type){.kind = OX_TENSOR, .shape = {.rank = -1}}; }

ox_type ox_type_tensor(uint32_t dtype, const ox_shape *shape) {
  return (ox_type){.kind = OX_TENSOR, .dtype = dtype, .shape = shape ? *shape : ox_shape_unknown()};
}

void ox_infer_out(ox_infer_ctx *c, uint32_t i, uint32_t dtype, const ox_shape *shape) {
  if (i < c->n_out) c->out[i] = ox_type_tensor(dtype, shape);
}

ox_status *ox_infer_same_as_input(ox_infer_ctx *c) {
  if (ox_infer_has(c, 0) && c->n_out) c->out[0] = *c->in[0];
  return NULL;
}

ox_status *ox_infer_broadcast(ox_infer_ctx *c) {
  ox_shape s = ox_shape_scalar();
  for (uint32_t i = 0; i < c->n_in; i++)
    if (c->in[i]) OX_TRY(ox_shape_broadcast(&s, &c->in[i]->shape, &s));
  ox_infer_out(c, 0, ox_infer_has(c, 0) ? c->in[0]->dtype : OX_UNDEFINED, &s);
  return NULL;
}

int ox_infer_ints(const ox_infer_ctx *c, uint32_t i, int64_t *out, int max, int *out_n) {
  if (i >= c->n_in || !c->in_data[i] || (!c->in_data[i]->data && c->in_data[i]->bytes)) return 0;
  const ox_tensor *t = c->in_data[i];
  int64_t n = ox_shape_count(&t->shape);
  if (t->kind != OX_TENSOR || t->shape.rank > 1 || n < 0 || n > max) return -1;
  for (int64_t k = 0; k < n; k++) {
    if (t->dtype == OX_I64)
      out[k] = ((const ox_i64u *)t->data)[k];
    else if (t->dtype == OX_I32)
      out[k] = ((const ox_i32u *)t->data)[k];
    else
      return -1;
  }
  *out_n = (int)n;
  return 1;
}

static bool asked(const void *c) { return ox_ctx_stopped(c); }

ox_stop ox_ctx_stop(const ox_kernel_ctx *c) { return (ox_stop){asked, c}; }

ox_status *ox_ctx_plan(ox_kernel_ctx *c, int64_t tiles, size_t scratch_per_worker) {
  c->n_stages = 1, c->n_tiles[0] = tiles, c->scratch_per_worker = scratch_per_worker;
  return NULL;
}

void *ox_ctx_run_enlarge(const ox_kernel_ctx *c, const void *p, size_t used, size_t more) {
  size_t need;
  void *grown = ox_add_ok(used, more, &need) ? ox_ctx_run_alloc(c, need) : NULL;
  if (grown && used) memcpy(grown, p, used);
  return grown;
}

uint64_t ox_ctx_random_key(const ox_kernel_ctx *c) {
  bool asks = c->host->struct_size >= offsetof(ox_ctx_host, random_key) + sizeof c->host->random_key;
  return asks && c->host->random_key ? c->host->random_key(c) : ox_random_fresh_key();
}

ox_status *ox_ctx_pack(ox_kernel_ctx *c, const ox_pack *p, const void **out_data) {
  const ox_ctx_host *h = c->host;
  *out_data = NULL;
  if (p->piece && h->struct_size >= offsetof(ox_ctx_host, pack_pieces) + sizeof h->pack_pieces && h->pack_pieces)
    return h->pack_pieces(c, p, out_data);
  if (!p->piece && h->struct_size >= offsetof(ox_ctx_host, pack) + sizeof h->pack && h->pack)
    return h->pack(c, p, out_data);
  return ox_fail(OX_INCOMPATIBLE, "the host is older than these kernels: it cannot pack constants");
}

ox_status *ox_ctx_pack_for_runs(ox_kernel_ctx *c, const ox_pack *p, const void *const **out_place) {
  const ox_ctx_host *h = c->host;
  if (h->struct_size >= offsetof(ox_ctx_host, pack_for_runs) + sizeof h->pack_for_runs && h->pack_for_runs)
    return h->pack_for_runs(c, p, out_place);
  const void **place = ox_ctx_alloc(c, sizeof *place);
  if (!place) return ox_fail(OX_OUT_OF_MEMORY, "no memory for what is prepared");
  *out_place = place;
  return ox_ctx_pack(c, p, place);
}

void *ox_ctx_run_extend(const ox_kernel_ctx *c, const void *p, size_t used, size_t more) {
  if (c->host->struct_size >= offsetof(ox_ctx_host, extend_run) + sizeof c->host->extend_run && c->host->extend_run)
    return c->host->extend_run(c, p, used, more);
  return ox_ctx_run_enlarge(c, p, used, more);
}

void *ox_ctx_run_array(const ox_kernel_ctx *c, int64_t n, size_t item_bytes) {
  size_t bytes;
  return n >= 0 && ox_mul_ok(OX_MAX((size_t)n, 1), item_bytes, &bytes) ? ox_ctx_run_alloc(c, bytes) : NULL;
}

void *ox_load_array(const ox_load_ctx *c, size_t n, size_t item_bytes) {
  size_t bytes;
  return ox_mul_ok(n, item_bytes, &bytes) ? c->host->alloc(c->host_data, bytes) : NULL;
}

static bool load_asked(const void *ctx) {
  const ox_load_ctx *c = ctx;
  return c->host->stopped(c->host_data);
}

ox_stop ox_load_stop(const ox_load_ctx *c) {
  bool has = c->host->struct_size >= offsetof(ox_op_host, stopped) + sizeof c->host->stopped && c->host->stopped;
  return has ? (ox_stop){load_asked, c} : (ox_stop){NULL, NULL};
}

void ox_unload_arena(void *state, ox_alloc alloc) {
  (void)alloc;
  ox_arena_deinit(state);
}

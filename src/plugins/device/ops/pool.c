/* SPDX-License-Identifier: Apache-2.0
 * device/ops/pool.c - MaxPool and AveragePool of up to three axes; MaxPool of 8-bit integers, and with indices, too. */
#include <string.h>

#include "plugins/device/emit.h"
#include "plugins/device/kernels/qlinear_params.h"

static bool of_bytes(const dev_node *n) { return dev_in_dtype(n, 0) == OX_U8 || dev_in_dtype(n, 0) == OX_I8; }

static bool is_op(const dev_node *n, const char *name) { return strcmp(dev_node_op(n), name) == 0; }
static bool is_global(const dev_node *n) { return is_op(n, "GlobalLpPool"); }
static bool is_norm(const dev_node *n) { return is_op(n, "LpPool") || is_global(n); }

/* LpPool's p is a float in version 1. */
static float power_of(const dev_node *n) {
  return dev_node_version(n) < 2 ? dev_attr_float(n, "p", 2) : (float)dev_attr_int(n, "p", 2);
}

static bool has_indices(const dev_node *n) {
  return n->host->node_out_count(n->graph, n->index) > 1 && dev_out(n, 1) != UINT32_MAX;
}

static const char *takes(const dev_node *n) {
  if (has_indices(n) && (of_bytes(n) || dev_attr_int(n, "storage_order", 0)))
    return REASON("indices of floats in row-major order", "{storage_order=0}, {0}");
  if (is_norm(n) && power_of(n) <= 0.0f) return REASON("a p above 0", "{p=2}");
  if (!of_bytes(n)) return dev_takes_real(n, 3, 5);
  return dev_in_rank(n, 0) < 3 || dev_in_rank(n, 0) > 5 ? REASON("3 to 5 axes", "{0}") : NULL;
}

void dev_pool_window(const dev_window *w, pool_params *out) {
  memcpy(out->in, w->in, sizeof out->in), memcpy(out->out, w->out, sizeof out->out);
  memcpy(out->extent, w->kernel, sizeof out->extent), memcpy(out->stride, w->stride, sizeof out->stride);
  memcpy(out->dilation, w->dilation, sizeof out->dilation), memcpy(out->pad, w->before, sizeof out->pad);
  for (int i = 0; i < 3; i++) out->end[i] = w->in[i] + w->after[i];
  out->inner = 1;
}

static ox_status *emit_bytes(dev_plan *p, const dev_node *n, const dev_window *w) {
  qpool_params q = {.kind = dev_in_dtype(n, 0) == OX_U8 ? QUANT_U8 : QUANT_I8,
                    .pool = {.n = (int)dev_count(p, dev_out(n, 0))}};
  dev_pool_window(w, &q.pool);
  dev_call c = {.source = "qlinear",
                .kernel = "byte_pool",
                .dtype = OX_F32,
                .n_buffers = 2,
                .buffers = {dev_value(p, dev_in(n, 0)), dev_value(p, dev_out(n, 0))},
                .written = 1u << 1,
                DEV_PARAMS(q)};
  return dev_emit_items(p, &c, q.pool.n);
}

static ox_status *emit_indices(dev_plan *p, const dev_node *n, const dev_window *w) {
  pool_params q = {.n = (int)dev_count(p, dev_out(n, 0))};
  dev_pool_window(w, &q);
  dev_call c = {.source = "pool",
                .kernel = "pool_indices",
                .dtype = dev_dtype(p, dev_in(n, 0)),
                .n_buffers = 3,
                .buffers = {dev_value(p, dev_in(n, 0)), dev_value(p, dev_out(n, 0)), dev_value(p, dev_out(n, 1))},
                .written = 6,
                DEV_PARAMS(q)};
  return dev_emit_items(p, &c, q.n);
}

static ox_status *emit(dev_plan *p, const dev_node *n) {
  dev_window w;
  dev_tail then;
  dev_window_read(p, n, is_global(n) ? dev_shape(p, dev_in(n, 0)) : NULL, dev_out(n, 0), &w);
  if (of_bytes(n)) return emit_bytes(p, n, &w);
  if (has_indices(n)) return emit_indices(p, n, &w);
  DEV_TRY(dev_take_tail(p, n, &then));
  int64_t count = dev_count(p, dev_out(n, 0));
  pool_params params = {.n = (int)count,
                        .maximum = is_op(n, "MaxPool"),
                        .power = is_norm(n) ? power_of(n) : 0,
                        .tail = then.params,
                        .count_pad = dev_attr_int(n, "count_include_pad", 0) != 0};
  dev_pool_window(&w, &params);
  dev_call c = {.source = "pool",
                .kernel = "pool",
                .dtype = dev_dtype(p, dev_in(n, 0)),
                .n_buffers = 2,
                .buffers = {dev_value(p, dev_in(n, 0)), dev_value(p, then.out)},
                .written = 1u << 1,
                DEV_PARAMS(params)};
  dev_call_tail(&c, &then);
  return dev_emit_items(p, &c, count);
}

static const char *const names[] = {"MaxPool", "AveragePool", "LpPool", "GlobalLpPool", NULL};
DEV_OP(pool) = {"", names, takes, emit};

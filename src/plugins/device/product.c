/* SPDX-License-Identifier: Apache-2.0
 * device/product.c - matrix products: by a vendor's library, or by the kernel whose tiles fit best. */
#include <limits.h>
#include <string.h>

#include "plugins/device/emit.h"

static int64_t batches(const gemm_params *g) {
  int64_t n = 1;
  for (int i = 0; i < GEMM_BATCHES; i++) n *= g->batch[i];
  return n;
}

/* Converts |x| to a library's form, which has at most one batch axis; false: impossible. */
static bool library_form(const dev_product *x, dev_gemm *out) {
  const gemm_params *g = &x->g;
  int axis = -1;
  for (int i = 0; i < GEMM_BATCHES; i++) {
    if (g->batch[i] == 1) continue;
    if (axis >= 0) return false;
    axis = i;
  }
  *out = (dev_gemm){.dtype = x->dtype,
                    .batch = batches(g),
                    .m = g->m,
                    .n = g->n,
                    .k = g->k,
                    .trans_a = g->a_col != 1,
                    .trans_b = g->b_col != 1,
                    .stride_c = (int64_t)g->m * g->n};
  if (axis >= 0) out->stride_a = g->a_batch[axis], out->stride_b = g->b_batch[axis];
  return g->k > 0 && (out->trans_a ? g->a_row == 1 && g->a_col == g->m : g->a_row == g->k) &&
         (out->trans_b ? g->b_row == 1 && g->b_col == g->k : g->b_row == g->n);
}

/* Can the kernel load four elements at a time? |stride|: from one run of |length| contiguous elements to the next. */
static int is_wide(dev_ref ref, uint32_t dtype, int stride, int length, const int *batch_strides) {
  size_t four = dtype == OX_F16 ? 8 : 16;
  if (ref.offset % four != 0 || stride % 4 != 0 || length % 4 != 0) return 0;
  for (int i = 0; i < GEMM_BATCHES; i++)
    if (batch_strides[i] % 4 != 0) return 0;
  return 1;
}

/* Uses C' = B' A' to turn a product with few columns into one with few rows. */
static void swap_sides(dev_product *x) {
  gemm_params *g = &x->g, from = x->g;
  dev_ref a = x->a;
  x->a = x->b, x->b = a;
  g->m = from.n, g->n = from.m;
  g->a_row = from.b_col, g->a_col = from.b_row, g->b_row = from.a_col, g->b_col = from.a_row;
  g->c_row = 1, g->c_col = from.n;
  memcpy(g->a_batch, from.b_batch, sizeof g->a_batch);
  memcpy(g->b_batch, from.a_batch, sizeof g->b_batch);
}

static ox_status *emit_kernel(dev_plan *p, const dev_product *given, const dev_tail *tail) {
  dev_product x = *given;
  gemm_params *g = &x.g;
  const dev_info *device = dev_plan_device(p);
  g->c_row = g->n, g->c_col = 1;
  if (g->n <= GEMV_ROWS && g->m > g->n) swap_sides(&x);
  g->a_wide = g->a_col == 1 ? is_wide(x.a, x.dtype, g->a_row, g->k, g->a_batch)
                            : is_wide(x.a, x.dtype, g->a_col, g->m, g->a_batch);
  g->b_wide = g->b_col == 1 ? is_wide(x.b, x.dtype, g->b_row, g->n, g->b_batch)
                            : is_wide(x.b, x.dtype, g->b_col, g->k, g->b_batch);
  g->tail = tail->params;
  int64_t n = batches(g), large = n * dev_groups(g->m, 128) * dev_groups(g->n, 128);
  int64_t groups = n * dev_groups(g->m, 64) * dev_groups(g->n, 64);
  const char *source = "gemm64", *kernel = "gemm64";
  uint32_t items = 256;
  if (g->m <= GEMV_ROWS) {
    source = "gemv", kernel = g->b_row == 1 && g->b_col != 1 ? "gemv_along" : "gemv_across";
    groups = n * dev_groups(g->n, g->b_row == 1 && g->b_col != 1 ? 8 : 32);
  } else if (device->is_cpu) {
    source = "plain", kernel = "plain_gemm", items = PLAIN_ITEMS;
    groups = n * dev_groups(g->m, PLAIN_ROWS) * dev_groups(g->n, PLAIN_ITEMS);
  } else if (g->m > 64 && g->n > 64 && large >= device->n_units) {
    source = kernel = "gemm128", groups = large;
  }
  if (groups > INT_MAX) return dev_refuse(p, "a product of too many tiles");
  dev_call c = {.source = source,
                .kernel = kernel,
                .dtype = x.dtype,
                .groups = {(uint32_t)groups},
                .items = items,
                .n_buffers = 3,
                .buffers = {x.a, x.b, x.c},
                .written = 1u << 2,
                .params = g,
                .params_bytes = sizeof *g};
  dev_call_tail(&c, tail);
  return dev_emit(p, &c);
}

static ox_status *call_gemm(dev_plan *p, const void *form, const dev_ref buffers[DEV_CALL_BUFFERS], bool *out_taken) {
  return dev_emit_gemm(p, form, buffers, out_taken);
}

static ox_status *try_library(dev_plan *p, const dev_product *x, const dev_tail *tail, int64_t count, bool *out_taken,
                              bool *out_finished) {
  dev_gemm form;
  *out_taken = *out_finished = false;
  if (!library_form(x, &form)) return NULL;
  dev_library_call c = {.emit = call_gemm,
                        .shape = &form,
                        .after = &form.after,
                        .buffers = {x->a, x->b, x->c},
                        .n = count,
                        .div = 1,
                        .mod = form.n};
  return dev_try_library(p, &c, tail, out_taken, out_finished);
}

ox_status *dev_emit_product(dev_plan *p, const dev_product *x) {
  const dev_tail none = dev_tail_none(UINT32_MAX), *first = x->first ? x->first : &none,
                 *then = x->then ? x->then : &none;
  const int64_t count = batches(&x->g) * x->g.m * x->g.n;
  dev_tail tail;
  bool taken, finished;
  if (count == 0) return NULL;
  bool joined = dev_tail_join(first, then, &tail);
  DEV_TRY(try_library(p, x, joined ? &tail : NULL, count, &taken, &finished));
  if (finished) return NULL;
  if (!taken) DEV_TRY(emit_kernel(p, x, joined ? &tail : first));
  if (taken && !joined) DEV_TRY(dev_emit_tail(p, first, x->c, x->dtype, count));
  if (joined) return taken ? dev_emit_tail(p, &tail, x->c, x->dtype, count) : NULL;
  return dev_emit_tail(p, then, x->c, x->dtype, count);
}

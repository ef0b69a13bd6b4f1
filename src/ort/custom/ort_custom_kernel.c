/* SPDX-License-Identifier: Apache-2.0
 * ort/custom/ort_custom_kernel.c - kernels of custom operators as the engine calls them: created once per node, then
 * called as one stage of one tile, with handles in the scratch that the engine keeps for it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ort/ort_api.h"
#include "ort/custom/ort_custom_op.h"
#include "ort/custom/ort_guard.h"
#include "ort/ort_status.h"

typedef struct {
  const OrtCustomOp *op;
  OrtKernelInfo info;
  void *kernel; /* the client's; may be NULL */
} custom_kernel;

/* ---- load ---- */

static const char *const *name_dims(const ox_load_ctx *c, const ox_type *t) {
  const char **names = NULL;
  for (int32_t i = 0; t != NULL && i < t->shape.rank; i++) {
    if (t->shape.dim[i] >= -1) continue;
    if (names == NULL) names = c->host->alloc(c->host_data, OX_MAX_RANK * sizeof *names);
    if (names == NULL) return NULL; /* a type without the names of its symbols */
    names[i] = c->host->dim_name(c->host_data, t->shape.dim[i]);
  }
  return names;
}

static ort_kernel_value *describe(const ox_load_ctx *c, uint32_t n, const ox_type *const *types,
                                  const char *const *names) {
  ort_kernel_value *values = c->host->alloc(c->host_data, (n + 1) * sizeof *values);
  for (uint32_t i = 0; values != NULL && i < n; i++)
    values[i] = (ort_kernel_value){.name = names[i], .type = types[i], .dim_names = name_dims(c, types[i])};
  return values;
}

/* Kernels read constants as arrays; in the file these may lie anywhere. */
static const ox_tensor *aligned(const ox_load_ctx *c, const ox_tensor *t) {
  enum { ALIGN = 16 };
  if (t->bytes == 0 || t->data == NULL || (uintptr_t)t->data % ALIGN == 0) return t;
  ox_tensor *copy = c->host->alloc(c->host_data, sizeof *copy);
  void *data = c->host->alloc(c->host_data, t->bytes);
  if (copy == NULL || data == NULL) return NULL;
  memcpy(data, t->data, t->bytes);
  *copy = *t;
  copy->data = data;
  return copy;
}

static OrtStatus *fill_info(const ox_load_ctx *c, const ort_custom_row *row, OrtKernelInfo *info) {
  const ort_custom_ops *all = row->owner;
  ort_kernel_value *in = describe(c, c->n_in, c->in_type, c->in_name);
  ort_kernel_value *out = describe(c, c->n_out, c->out_type, c->out_name);
  ox_attr_view v;
  size_t n = 0;
  while (c->host->attr_at(c->host_data, n, &v) != NULL) n++;
  ort_attr *attrs = c->host->alloc(c->host_data, (n + 1) * sizeof *attrs);
  if (in == NULL || out == NULL || attrs == NULL) return ort_out_of_memory();
  for (size_t i = 0; i < n; i++) attrs[i].name = c->host->attr_at(c->host_data, i, &attrs[i].v);
  for (uint32_t i = 0; i < c->n_in; i++) {
    if (c->in_const[i] == NULL || c->in_const[i]->kind != OX_TENSOR) continue;
    in[i].constant.tensor = aligned(c, c->in_const[i]);
    if (in[i].constant.tensor == NULL) return ort_out_of_memory();
  }
  *info = (OrtKernelInfo){.node = c->node,
                          .op = row->name,
                          .domain = row->domain,
                          .since = row->since,
                          .n_in = c->n_in,
                          .n_out = c->n_out,
                          .n_attrs = n,
                          .in = in,
                          .out = out,
                          .attrs = attrs,
                          .logger = all->logger,
                          .config = &all->options->config,
                          .env = all->env};
  return NULL;
}

/* A call of the client's code. */
typedef struct {
  custom_kernel *k;
  OrtKernelContext *context;
  OrtStatus *st;
} call;

static void call_create(void *p) {
  call *c = p;
  const OrtCustomOp *op = c->k->op;
  if (op->version >= ORT_OP_STATUSES && op->CreateKernelV2 != NULL)
    c->st = op->CreateKernelV2(op, ort_api(), &c->k->info, &c->k->kernel);
  else
    c->k->kernel = op->CreateKernel(op, ort_api(), &c->k->info);
}

/* Whatever a constructor says, clients see it as what it is in the end: a session that could not be made. */
static OrtStatus *create_kernel(custom_kernel *k) {
  call c = {.k = k};
  OrtStatus *st = ort_guard(call_create, &c);
  if (st == NULL) st = c.st;
  if (st == NULL) return NULL;
  OrtStatus *named = ort_fail(ORT_RUNTIME_EXCEPTION, "Exception during initialization: node '%s' (%s): %s",
                              k->info.node, k->info.op, ort_GetErrorMessage(st));
  ort_ReleaseStatus(st);
  return named;
}

ox_status *ort_custom_load(ox_load_ctx *c) {
  ort_custom_row *row = c->user;
  custom_kernel *k = calloc(1, sizeof *k);
  if (k == NULL) return ort_status_to(ort_out_of_memory(), c->host->status_make);
  k->op = ort_custom_pick(row, c->in_type, c->n_in);
  OrtStatus *st;
  if (k->op == NULL || !row->cpu)
    st = ort_fail(ORT_NOT_IMPLEMENTED, "Could not find an implementation for %s(%d) node with name '%s' on the CPU",
                  row->name, row->since, c->node);
  else
    st = fill_info(c, row, &k->info);
  pthread_mutex_t *lock = (pthread_mutex_t *)(uintptr_t)&row->owner->lock;
  if (st == NULL) {
    pthread_mutex_lock(lock);
    st = create_kernel(k);
    pthread_mutex_unlock(lock);
  }
  if (st != NULL)
    free(k);
  else
    c->state = k;
  return ort_status_to(st, c->host->status_make);
}

void ort_custom_unload(void *state, ox_alloc alloc) {
  custom_kernel *k = state;
  (void)alloc;
  k->op->KernelDestroy(k->kernel);
  free(k);
}

/* ---- run ---- */

static void *alloc_output(const void *data, uint32_t index, const ox_shape *shape) {
  const ox_kernel_ctx *c = data;
  return c->host->alloc_output(c, index, shape);
}

static void *alloc_run(const void *data, size_t bytes) {
  const ox_kernel_ctx *c = data;
  return c->host->alloc_run(c, bytes);
}

typedef struct {
  void (*fn)(void *ctx, size_t i);
  void *ctx;
  size_t total, batches;
} loop;

/* Batches [begin, end) of some that are as alike as can be. */
static ox_status *run_batches(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  const loop *l = ctx;
  (void)worker;
  size_t least = l->total / l->batches, more = l->total % l->batches; /* the first |more| have one more */
  size_t b = (size_t)begin, e = (size_t)end;
  size_t from = b * least + (b < more ? b : more), to = e * least + (e < more ? e : more);
  for (size_t i = from; i < to; i++) l->fn(l->ctx, i);
  return NULL;
}

static OrtStatus *parallel_for(const void *data, void (*fn)(void *ctx, size_t i), size_t total, size_t batches,
                               void *ctx) {
  const ox_kernel_ctx *c = data;
  if (total == 0) return NULL;
  loop l = {fn, ctx, total, batches == 0 || batches > total ? total : batches};
  return ort_status_from(c->host->parallel_for(c, (int64_t)l.batches, run_batches, &l));
}

static const ort_kernel_host host = {
    .alloc_output = alloc_output, .alloc_run = alloc_run, .parallel_for = parallel_for};

ox_status *ort_custom_prepare(ox_kernel_ctx *c) {
  c->scratch_per_worker = ((size_t)c->n_in + c->n_out) * sizeof(OrtValue);
  return NULL;
}

/* An output that the kernel did not ask for: nothing, or zeros where its shape was known before. */
static void leave(ox_tensor *t) {
  if (t->data != NULL)
    memset(t->data, 0, t->bytes);
  else
    *t = (ox_tensor){.kind = OX_NONE_VALUE, .dtype = t->dtype};
}

static void call_compute(void *p) {
  call *c = p;
  const OrtCustomOp *op = c->k->op;
  if (op->version >= ORT_OP_STATUSES && op->KernelComputeV2 != NULL)
    c->st = op->KernelComputeV2(c->k->kernel, c->context);
  else
    op->KernelCompute(c->k->kernel, c->context);
}

ox_status *ort_custom_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  custom_kernel *k = c->state;
  OrtKernelContext context = {.host = &host,
                              .data = c,
                              .info = &k->info,
                              .n_in = c->n_in,
                              .n_out = c->n_out,
                              .in = c->in,
                              .out = c->out,
                              .values = scratch};
  call compute = {.k = k, .context = &context};
  (void)stage, (void)tiles;
  ort_kernel_context_open(&context);
  OrtStatus *st = ort_guard(call_compute, &compute);
  if (st == NULL) st = compute.st;
  if (st != NULL) return ort_status_to(st, c->host->status_make);
  for (uint32_t i = 0; i < c->n_out; i++)
    if (c->out[i] != NULL && context.values[c->n_in + i].tensor == NULL) leave(c->out[i]);
  return NULL;
}

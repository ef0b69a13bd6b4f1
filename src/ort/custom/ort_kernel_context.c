/* SPDX-License-Identifier: Apache-2.0
 * ort/custom/ort_kernel_context.c - what a client's kernel reaches in a run: inputs, outputs, memory, threads. */
#include <limits.h>
#include <string.h>

#include "ort/ort_api.h"
#include "ort/custom/ort_kernel.h"
#include "ort/ort_status.h"

/* Where input |i| lies, or output |i| - n_in. */
static const OrtMemoryInfo *memory_of(const OrtKernelContext *context, size_t i) {
  return context->memories != NULL ? context->memories[i] : NULL;
}

void ort_kernel_context_open(OrtKernelContext *context) {
  for (size_t i = 0; i < context->n_in; i++)
    context->values[i] = (OrtValue){.tensor = context->in[i], .memory = memory_of(context, i)};
  for (size_t i = 0; i < context->n_out; i++) context->values[context->n_in + i] = (OrtValue){.tensor = NULL};
}

void *ort_kernel_text(OrtKernelContext *context, size_t bytes) {
  return context->host->alloc_run(context->data, bytes);
}

OrtStatus *ort_KernelContext_GetInputCount(const OrtKernelContext *context, size_t *out) {
  ORT_NEED(context);
  ORT_NEED(out);
  *out = context->n_in;
  return NULL;
}

OrtStatus *ort_KernelContext_GetOutputCount(const OrtKernelContext *context, size_t *out) {
  ORT_NEED(context);
  ORT_NEED(out);
  *out = context->n_out;
  return NULL;
}

/* Clients ask beyond the end for what a node leaves out: NULL, as for an omitted input. */
OrtStatus *ort_KernelContext_GetInput(const OrtKernelContext *context, size_t index, const OrtValue **out) {
  ORT_NEED(context);
  ORT_NEED(out);
  bool there = index < context->n_in && context->in[index] != NULL;
  *out = there ? &context->values[index] : NULL;
  return NULL;
}

/* ---- outputs ---- */

static OrtStatus *read_shape(const int64_t *dims, size_t n, ox_shape *out) {
  if (n > OX_MAX_RANK)
    return ort_fail(ORT_INVALID_ARGUMENT, "KernelContext_GetOutput: %zu dimensions, the most is %d", n, OX_MAX_RANK);
  out->rank = (int32_t)n;
  for (size_t i = 0; i < n; i++) {
    out->dim[i] = dims[i];
    if (dims[i] < 0)
      return ort_fail(ORT_FAIL, "KernelContext_GetOutput: dimension %zu is %lld, wanted at least 0", i,
                      (long long)dims[i]);
  }
  return NULL;
}

static bool same_shape(const ox_shape *a, const ox_shape *b) {
  return a->rank == b->rank && (a->rank <= 0 || memcmp(a->dim, b->dim, (size_t)a->rank * sizeof *a->dim) == 0);
}

static bool is_known(const ox_shape *s) {
  for (int32_t i = 0; i < s->rank; i++)
    if (s->dim[i] < 0) return false;
  return s->rank >= 0;
}

static OrtStatus *other_shape(const OrtKernelContext *context, size_t index) {
  return ort_fail(ORT_INVALID_ARGUMENT,
                  "KernelContext_GetOutput: output %zu ('%s') of node '%s' (%s) has another shape already, from "
                  "InferOutputShapeFn or an earlier call",
                  index, context->info->out[index].name, context->info->node, context->info->op);
}

static bool overlaps_input(const OrtKernelContext *context, const void *data) {
  for (size_t i = 0; i < context->n_in; i++)
    if (context->in[i] != NULL && context->in[i]->data == data) return true;
  return false;
}

static OrtStatus *make_output(OrtKernelContext *context, size_t index, const ox_shape *shape) {
  ox_tensor *t = context->out[index];
  if (is_known(&t->shape) && t->kind == OX_TENSOR && !same_shape(&t->shape, shape)) return other_shape(context, index);
  if (t->dtype == OX_UNDEFINED)
    return ort_fail(ORT_INVALID_ARGUMENT, "KernelContext_GetOutput: the element type of output %zu is not known",
                    index);
  if (context->host->alloc_output(context->data, (uint32_t)index, shape) == NULL && t->bytes != 0)
    return ort_out_of_memory();
  if (!same_shape(&t->shape, shape))
    return ort_fail(ORT_FAIL, "KernelContext_GetOutput: no memory for output %zu", index);
  /* Strings of an output that overwrites an input are whole already. */
  if (t->dtype == OX_STRING && !overlaps_input(context, t->data)) memset(t->data, 0, t->bytes);
  return NULL;
}

OrtStatus *ort_KernelContext_GetOutput(OrtKernelContext *context, size_t index, const int64_t *dim_values,
                                       size_t dim_count, OrtValue **out) {
  ORT_NEED(context);
  ORT_NEED(out);
  ox_shape shape;
  *out = NULL;
  if (index > INT_MAX) return ort_fail(ORT_RUNTIME_EXCEPTION, "KernelContext_GetOutput: index %zu is too large", index);
  if (dim_count != 0) ORT_NEED(dim_values);
  if (index >= context->n_out || context->out[index] == NULL) return NULL; /* the node leaves it out */
  ORT_TRY(read_shape(dim_values, dim_count, &shape));
  OrtValue *value = &context->values[context->n_in + index];
  if (value->tensor == NULL) {
    ORT_TRY(make_output(context, index, &shape));
    *value = (OrtValue){
        .tensor = context->out[index], .memory = memory_of(context, context->n_in + index), .kernel = context};
  } else if (!same_shape(&value->tensor->shape, &shape)) {
    return other_shape(context, index);
  }
  *out = value;
  return NULL;
}

OrtStatus *ort_KernelContext_GetPreallocatedOutput(const OrtKernelContext *context, size_t index, OrtValue **out) {
  ORT_NEED(context);
  ORT_NEED(out);
  *out = NULL;
  if (index >= context->n_out)
    return ort_fail(ORT_INVALID_ARGUMENT, "output_index is out of range: %zu of %zu", index, context->n_out);
  OrtValue *value = &context->values[context->n_in + index];
  ox_tensor *t = context->out[index];
  if (value->tensor == NULL && t != NULL && t->kind == OX_TENSOR && t->data != NULL && is_known(&t->shape))
    return ort_KernelContext_GetOutput((OrtKernelContext *)(uintptr_t)context, index, t->shape.dim,
                                       (size_t)t->shape.rank, out);
  if (value->tensor != NULL) *out = value;
  return NULL;
}

/* ---- services ---- */

OrtStatus *ort_KernelContext_GetLogger(const OrtKernelContext *context, const OrtLogger **logger) {
  ORT_NEED(context);
  ORT_NEED(logger);
  *logger = context->info->logger;
  return NULL;
}

OrtStatus *ort_KernelContext_GetAllocator(const OrtKernelContext *context, const OrtMemoryInfo *mem_info,
                                          OrtAllocator **out) {
  ORT_NEED(context);
  ORT_NEED(mem_info);
  ORT_NEED(out);
  *out = NULL;
  if (ort_memory_is_cpu(mem_info))
    *out = ort_default_allocator();
  else if (context->host->allocator != NULL)
    *out = context->host->allocator(context, mem_info);
  if (*out != NULL) return NULL;
  return ort_fail(ORT_INVALID_ARGUMENT, "No requested allocator available: for memory '%s'", mem_info->name);
}

/* Lives until the run ends. */
OrtStatus *ort_KernelContext_GetScratchBuffer(const OrtKernelContext *context, const OrtMemoryInfo *mem_info,
                                              size_t count_or_bytes, void **out) {
  ORT_NEED(context);
  ORT_NEED(mem_info);
  ORT_NEED(out);
  *out = NULL;
  if (!ort_memory_is_cpu(mem_info))
    return ort_fail(ORT_INVALID_ARGUMENT, "No requested allocator available: for memory '%s'", mem_info->name);
  if (count_or_bytes == 0) return NULL;
  *out = context->host->alloc_run(context->data, count_or_bytes);
  return *out != NULL ? NULL : ort_out_of_memory();
}

OrtStatus *ort_KernelContext_ParallelFor(const OrtKernelContext *context, void (*fn)(void *, size_t), size_t total,
                                         size_t num_batch, void *usr_data) {
  ORT_NEED(context);
  ORT_NEED(fn);
  if (num_batch != 1) return context->host->parallel_for(context->data, fn, total, num_batch, usr_data);
  for (size_t i = 0; i < total; i++) fn(usr_data, i);
  return NULL;
}

/* ---- devices: NULL for a kernel on the CPU ---- */

OrtStatus *ort_KernelContext_GetGPUComputeStream(const OrtKernelContext *context, void **out) {
  ORT_NEED(context);
  ORT_NEED(out);
  *out = ort_SyncStream_GetHandle(context->stream);
  return NULL;
}

OrtStatus *ort_KernelContext_GetSyncStream(const OrtKernelContext *context, OrtSyncStream **out) {
  ORT_NEED(context);
  ORT_NEED(out);
  *out = context->stream;
  return NULL;
}

OrtStatus *ort_KernelContext_GetResource(const OrtKernelContext *context, int resource_version, int resource_id,
                                         void **resource) {
  ORT_NEED(context);
  ORT_NEED(resource);
  *resource = NULL;
  return ort_fail(ORT_INVALID_ARGUMENT, "there is no resource %d (version %d): this kernel runs on the CPU",
                  resource_id, resource_version);
}

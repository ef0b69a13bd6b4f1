/* SPDX-License-Identifier: Apache-2.0
 * ort/custom/ort_kernel.h - what a client's kernel sees: its node when it is created, its run when it computes. Whoever
 * calls kernels fills these in: operators of clients (ort_custom_kernel.c), providers of libraries (ort/plugin/). */
#ifndef OX_ORT_KERNEL_H
#define OX_ORT_KERNEL_H

#include "ort/env/ort_env.h"
#include "ort/value/ort_value.h"

typedef struct ort_attr {
  const char *name;
  ox_attr_view v;
} ort_attr;

/* An input or output of a node. */
typedef struct ort_kernel_value {
  const char *name;             /* "": omitted */
  const ox_type *type;          /* NULL: omitted */
  const char *const *dim_names; /* of symbolic dimensions, NULL entries else; NULL: it has none */
  OrtValue constant;            /* of an input; tensor NULL: it is none */
} ort_kernel_value;

/* All of it is borrowed and lives as long as the kernel does; so may copies (CopyKernelInfo). */
struct OrtKernelInfo {
  const char *node, *op, *domain; /* "": none */
  int since;
  size_t n_in, n_out, n_attrs;
  const ort_kernel_value *in, *out;
  const ort_attr *attrs;
  const OrtLogger *logger;
  const OrtKeyValuePairs *config;
  const OrtEnv *env;
  const OrtEp *ep;             /* of a library's provider; else NULL */
  struct ort_session_eps *eps; /* with |ep| */
};

/* How to reach the engine in a run; |data| is the context's. */
typedef struct ort_kernel_host {
  void *(*alloc_output)(const void *data, uint32_t index, const ox_shape *shape); /* as in ox_ctx_host */
  void *(*alloc_run)(const void *data, size_t bytes);                             /* as in ox_ctx_host */
  OrtStatus *(*parallel_for)(const void *data, void (*fn)(void *ctx, size_t i), size_t total, size_t batches,
                             void *ctx);
  /* An allocator for memory that is no CPU's; NULL: there is none. The function itself may be NULL. */
  OrtAllocator *(*allocator)(const OrtKernelContext *context, const OrtMemoryInfo *memory);
} ort_kernel_host;

/* One call of a kernel. */
struct OrtKernelContext {
  const ort_kernel_host *host;
  const void *data;
  const OrtKernelInfo *info;
  size_t n_in, n_out;
  const ox_tensor *const *in;           /* NULL: omitted */
  ox_tensor *const *out;                /* NULL: nobody wants it */
  OrtValue *values;                     /* n_in + n_out: room for the handles that the kernel gets */
  const OrtMemoryInfo *const *memories; /* n_in + n_out: where they lie; NULL: all of them in the CPU's memory */
  OrtSyncStream *stream;                /* NULL: none */
};

/* Sets |values|, for a context whose other members are. */
void ort_kernel_context_open(OrtKernelContext *context);
/* For the text of an output's strings: memory that lives as long as the output. NULL: out of memory. */
void *ort_kernel_text(OrtKernelContext *context, size_t bytes);

/* Attributes as clients see them, also from a ShapeInferContext; borrows from |attr|, but for what it has to convert.
 */
OX_NODISCARD OrtStatus *ort_op_attr_of(const ort_attr *attr, OrtOpAttr **out);

#endif

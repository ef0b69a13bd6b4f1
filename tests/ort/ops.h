/* SPDX-License-Identifier: Apache-2.0
 * ort/ops.h - custom operators as rows: an OrtCustomOp whose functions read a table, for clients of the ABI. */
#ifndef OX_TESTS_ORT_OPS_H
#define OX_TESTS_ORT_OPS_H

#include <stdlib.h>

#include "onyx/ort_abi.h"

enum { MOST_IO = 10 };

typedef struct kernel kernel;

/* An operator. Counts of 0 in |n_out| and NULL functions mean what they say. */
typedef struct op_row {
  OrtCustomOp base; /* set by op_init */
  uint32_t version; /* of the structure */
  const char *name, *ep;
  size_t n_in, n_out;
  ONNXTensorElementDataType in[MOST_IO], out[MOST_IO];
  OrtCustomOpInputOutputCharacteristic in_is[MOST_IO], out_is[MOST_IO];
  OrtMemType in_memory[MOST_IO];
  int least_in, same_in, least_out, same_out, start, end;
  OrtStatus *(*create)(kernel *k, const OrtKernelInfo *info);
  OrtStatus *(*compute)(kernel *k, OrtKernelContext *c);
  void (*destroy)(kernel *k);
  OrtStatus *(*infer)(const struct op_row *row, OrtShapeInferContext *c);
  size_t (*inplace)(int **, int **);
  size_t (*alias)(int **, int **);
  const OrtApi *api; /* for |infer| */
  int creations, computations, destructions;
} op_row;

struct kernel {
  op_row *row;
  const OrtApi *api;
  void *state;
  int64_t numbers[4];
  OrtKernelInfo *info;
};

static inline const op_row *row_of(const OrtCustomOp *op) { return (const op_row *)(const void *)op; }

static inline OrtStatus *op_create_v2(const OrtCustomOp *op, const OrtApi *api, const OrtKernelInfo *info, void **out) {
  op_row *row = (op_row *)(uintptr_t)row_of(op);
  kernel *k = calloc(1, sizeof *k);
  if (k == NULL) return api->CreateStatus(ORT_FAIL, "out of memory");
  *k = (kernel){.row = row, .api = api};
  OrtStatus *st = row->create ? row->create(k, info) : NULL;
  if (st != NULL)
    free(k);
  else
    row->creations++, *out = k;
  return st;
}

static inline void *op_create(const OrtCustomOp *op, const OrtApi *api, const OrtKernelInfo *info) {
  void *k = NULL;
  OrtStatus *st = op_create_v2(op, api, info, &k);
  if (st != NULL) api->ReleaseStatus(st);
  return k;
}

static inline OrtStatus *op_compute_v2(void *p, OrtKernelContext *c) {
  kernel *k = p;
  __atomic_fetch_add(&k->row->computations, 1, __ATOMIC_RELAXED); /* runs may be at the same time */
  return k->row->compute(k, c);
}

static inline void op_compute(void *k, OrtKernelContext *c) {
  OrtStatus *st = op_compute_v2(k, c);
  if (st != NULL) ((kernel *)k)->api->ReleaseStatus(st);
}

static inline void op_destroy(void *p) {
  kernel *k = p;
  k->row->destructions++;
  if (k->row->destroy) k->row->destroy(k);
  free(k);
}

static inline const char *op_name(const OrtCustomOp *op) { return row_of(op)->name; }
static inline const char *op_ep(const OrtCustomOp *op) { return row_of(op)->ep; }
static inline ONNXTensorElementDataType op_in(const OrtCustomOp *op, size_t i) { return row_of(op)->in[i]; }
static inline size_t op_n_in(const OrtCustomOp *op) { return row_of(op)->n_in; }
static inline ONNXTensorElementDataType op_out(const OrtCustomOp *op, size_t i) { return row_of(op)->out[i]; }
static inline size_t op_n_out(const OrtCustomOp *op) { return row_of(op)->n_out; }
static inline OrtCustomOpInputOutputCharacteristic op_in_is(const OrtCustomOp *op, size_t i) {
  return row_of(op)->in_is[i];
}
static inline OrtCustomOpInputOutputCharacteristic op_out_is(const OrtCustomOp *op, size_t i) {
  return row_of(op)->out_is[i];
}
static inline OrtMemType op_in_memory(const OrtCustomOp *op, size_t i) { return row_of(op)->in_memory[i]; }
static inline int op_least_in(const OrtCustomOp *op) { return row_of(op)->least_in; }
static inline int op_same_in(const OrtCustomOp *op) { return row_of(op)->same_in; }
static inline int op_least_out(const OrtCustomOp *op) { return row_of(op)->least_out; }
static inline int op_same_out(const OrtCustomOp *op) { return row_of(op)->same_out; }
static inline int op_start(const OrtCustomOp *op) { return row_of(op)->start; }
static inline int op_end(const OrtCustomOp *op) { return row_of(op)->end; }
static inline OrtStatus *op_infer(const OrtCustomOp *op, OrtShapeInferContext *c) {
  return row_of(op)->infer(row_of(op), c);
}
static inline void op_release_map(int *from, int *to) {
  free(from);
  free(to);
}

/* Members that the version does not have are garbage on purpose: nobody may look at them. */
static inline OrtCustomOp *op_init(op_row *row, const OrtApi *api) {
  OrtCustomOp *op = &row->base;
  row->api = api;
  for (size_t i = 0; i < sizeof *op / sizeof(void *); i++) ((uintptr_t *)(void *)op)[i] = 0x10;
  op->version = row->version;
  op->CreateKernel = op_create, op->GetName = op_name, op->GetExecutionProviderType = op_ep;
  op->GetInputType = op_in, op->GetInputTypeCount = op_n_in;
  op->GetOutputType = op_out, op->GetOutputTypeCount = op_n_out;
  op->KernelCompute = op_compute, op->KernelDestroy = op_destroy;
  if (row->version >= 8) op->GetInputCharacteristic = op_in_is, op->GetOutputCharacteristic = op_out_is;
  if (row->version >= 13) op->GetInputMemoryType = op_in_memory;
  if (row->version >= 14) {
    op->GetVariadicInputMinArity = op_least_in, op->GetVariadicInputHomogeneity = op_same_in;
    op->GetVariadicOutputMinArity = op_least_out, op->GetVariadicOutputHomogeneity = op_same_out;
  }
  if (row->version >= 16) {
    op->CreateKernel = NULL, op->KernelCompute = NULL;
    op->CreateKernelV2 = op_create_v2, op->KernelComputeV2 = op_compute_v2;
  }
  if (row->version >= 17) {
    op->InferOutputShapeFn = row->infer ? op_infer : NULL;
    op->GetStartVersion = row->start ? op_start : NULL, op->GetEndVersion = row->end ? op_end : NULL;
  }
  if (row->version >= 18) {
    op->GetMayInplace = row->inplace, op->ReleaseMayInplace = row->inplace ? op_release_map : NULL;
    op->GetAliasMap = row->alias, op->ReleaseAliasMap = row->alias ? op_release_map : NULL;
  }
  return op;
}

#endif

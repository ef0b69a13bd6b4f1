/* SPDX-License-Identifier: Apache-2.0
 * ort/custom/ort_custom_infer.c - types and shapes of custom operators' outputs: which operator of a row takes the
 * inputs, what it says of its outputs, and what its own function adds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ort/ort_api.h"
#include "ort/custom/ort_custom_op.h"
#include "ort/custom/ort_guard.h"
#include "ort/ort_status.h"
#include "ort/value/ort_type_info.h"

/* ---- which operator ---- */

static bool takes(const OrtCustomOp *op, const ox_type *const *in, uint32_t n_in) {
  uint32_t first_variadic = OX_UNDEFINED;
  size_t n_slots = op->GetInputTypeCount(op);
  for (uint32_t i = 0; i < n_in; i++) {
    size_t slot = ort_custom_slot_of(op, false, i);
    if (n_slots == 0) return false;
    if (in[i] == NULL || in[i]->dtype == OX_UNDEFINED) continue;
    ONNXTensorElementDataType want = op->GetInputType(op, slot);
    if (want != ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED && want != ort_type_from(in[i]->dtype)) return false;
    if (ort_custom_slot(op, false, slot) != INPUT_OUTPUT_VARIADIC || !ort_custom_homogeneous(op, false)) continue;
    if (first_variadic == OX_UNDEFINED) first_variadic = in[i]->dtype;
    if (first_variadic != in[i]->dtype) return false;
  }
  return true;
}

const OrtCustomOp *ort_custom_pick(const ort_custom_row *row, const ox_type *const *in, uint32_t n_in) {
  for (size_t i = 0; i < row->n_ops; i++)
    if (takes(row->ops[i], in, n_in)) return row->ops[i];
  return NULL;
}

static ox_status *refuse(const ox_infer_ctx *c) {
  char text[512];
  int at = snprintf(text, sizeof text, "no operator '%s' takes inputs of types (", c->op);
  for (uint32_t i = 0; i < c->n_in && at < (int)sizeof text; i++)
    at += snprintf(text + at, sizeof text - (size_t)at, "%s%s", i != 0 ? ", " : "",
                   c->in[i] != NULL ? ox_type_name(c->in[i]->dtype) : "none");
  if (at < (int)sizeof text) snprintf(text + at, sizeof text - (size_t)at, ")");
  return c->host->status_make(OX_INVALID_MODEL, text);
}

static ox_status *check_required(const ox_infer_ctx *c, const OrtCustomOp *op) {
  char text[128];
  for (uint32_t i = 0; i < op->GetInputTypeCount(op); i++) {
    if (ort_custom_slot(op, false, i) != INPUT_OUTPUT_REQUIRED || (i < c->n_in && c->in[i] != NULL)) continue;
    snprintf(text, sizeof text, "'%s': input %u is required", c->op, i);
    return c->host->status_make(OX_INVALID_MODEL, text);
  }
  return NULL;
}

/* ---- the context of InferOutputShapeFn ---- */

typedef struct node_attr {
  struct node_attr *next;
  OrtOpAttr *attr;
} node_attr;

struct OrtShapeInferContext {
  ox_infer_ctx *c;
  OrtTensorTypeAndShapeInfo **in; /* made when asked for; all in the engine's memory */
  node_attr *attrs;               /* those that were asked for */
};

OrtStatus *ort_ShapeInferContext_GetInputCount(const OrtShapeInferContext *context, size_t *out) {
  ORT_NEED(context);
  ORT_NEED(out);
  *out = context->c->n_in;
  return NULL;
}

static OrtStatus *describe(const ox_infer_ctx *c, const ox_type *t, OrtTensorTypeAndShapeInfo **out) {
  OrtTensorTypeAndShapeInfo *info = *out = c->host->alloc(c->host_data, sizeof *info);
  if (info == NULL) return ort_out_of_memory();
  if (t == NULL) return NULL;
  info->type = ort_type_from(t->dtype);
  info->has_shape = t->shape.rank >= 0;
  info->rank = info->has_shape ? (size_t)t->shape.rank : 0;
  for (size_t i = 0; i < info->rank; i++) {
    int64_t dim = t->shape.dim[i];
    info->dims[i] = dim < 0 ? -1 : dim;
    if (dim < -1) info->names[i] = (char *)(uintptr_t)c->host->dim_name(c->host_data, dim); /* only ever read */
  }
  return NULL;
}

OrtStatus *ort_ShapeInferContext_GetInputTypeShape(const OrtShapeInferContext *context, size_t index,
                                                   OrtTensorTypeAndShapeInfo **info) {
  ORT_NEED(context);
  ORT_NEED(info);
  const ox_infer_ctx *c = context->c;
  *info = NULL;
  if (index >= c->n_in)
    return ort_fail(ORT_RUNTIME_EXCEPTION, "input index %zu is out of range: the node has %u", index, c->n_in);
  if (context->in[index] == NULL) ORT_TRY(describe(c, c->in[index], &context->in[index]));
  *info = context->in[index];
  return NULL;
}

OrtStatus *ort_ShapeInferContext_GetAttribute(const OrtShapeInferContext *context, const char *attr_name,
                                              const OrtOpAttr **attr) {
  ORT_NEED(context);
  ORT_NEED(attr_name);
  ORT_NEED(attr);
  OrtShapeInferContext *mine = (OrtShapeInferContext *)(uintptr_t)context; /* a list that only grows here */
  const ox_infer_ctx *c = context->c;
  ort_attr found = {.name = attr_name};
  *attr = NULL;
  if (!c->host->attr(c->host_data, attr_name, &found.v))
    return ort_fail(ORT_INVALID_ARGUMENT, "Attribute does not exist: '%s' of '%s'", attr_name, c->op);
  node_attr *a = c->host->alloc(c->host_data, sizeof *a);
  if (a == NULL) return ort_out_of_memory();
  ORT_TRY(ort_op_attr_of(&found, &a->attr));
  a->next = mine->attrs, mine->attrs = a;
  *attr = a->attr;
  return NULL;
}

/* The dimension of an input that is called |name|; -1: none is. */
static int64_t dim_of_name(const ox_infer_ctx *c, const char *name) {
  for (uint32_t i = 0; i < c->n_in; i++)
    for (int32_t d = 0; c->in[i] != NULL && d < c->in[i]->shape.rank; d++) {
      int64_t dim = c->in[i]->shape.dim[d];
      const char *its = dim < -1 ? c->host->dim_name(c->host_data, dim) : NULL;
      if (its != NULL && strcmp(its, name) == 0) return dim;
    }
  return -1;
}

OrtStatus *ort_ShapeInferContext_SetOutputTypeShape(const OrtShapeInferContext *context, size_t index,
                                                    const OrtTensorTypeAndShapeInfo *info) {
  ORT_NEED(context);
  ORT_NEED(info);
  const ox_infer_ctx *c = context->c;
  if (index >= c->n_out)
    return ort_fail(ORT_RUNTIME_EXCEPTION, "output index %zu is out of range: the node has %u", index, c->n_out);
  ox_type *t = &c->out[index];
  if (t->dtype == OX_UNDEFINED) t->dtype = ort_type_to(info->type);
  t->shape.rank = (int32_t)info->rank;
  for (size_t i = 0; i < info->rank; i++) {
    const char *name = info->names[i];
    bool named = name != NULL && *name != '\0';
    t->shape.dim[i] = named ? dim_of_name(c, name) : info->dims[i] < 0 ? -1 : info->dims[i];
  }
  return NULL;
}

typedef struct {
  const OrtCustomOp *op;
  OrtShapeInferContext *context;
  OrtStatus *st;
} call;

static void call_infer(void *p) {
  call *c = p;
  c->st = c->op->InferOutputShapeFn(c->op, c->context);
}

static ox_status *ask(ox_infer_ctx *c, const OrtCustomOp *op) {
  OrtShapeInferContext context = {.c = c};
  context.in = c->host->alloc(c->host_data, (c->n_in + 1) * sizeof *context.in);
  if (context.in == NULL) return c->host->status_make(OX_OUT_OF_MEMORY, "out of memory");
  call infer = {.op = op, .context = &context};
  OrtStatus *st = ort_guard(call_infer, &infer);
  if (st == NULL) st = infer.st;
  for (const node_attr *a = context.attrs; a != NULL; a = a->next) ort_ReleaseOpAttr(a->attr);
  return ort_status_to(st, c->host->status_make);
}

/* ---- inference ---- */

/* The element type of the input that may have any. */
static uint32_t any_type(const ox_infer_ctx *c, const OrtCustomOp *op) {
  for (uint32_t i = 0; i < c->n_in; i++) {
    size_t slot = ort_custom_slot_of(op, false, i);
    if (c->in[i] != NULL && op->GetInputType(op, slot) == ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED)
      return c->in[i]->dtype;
  }
  return OX_UNDEFINED;
}

ox_status *ort_custom_infer(ox_infer_ctx *c) {
  const ort_custom_row *row = c->user;
  const OrtCustomOp *op = ort_custom_pick(row, c->in, c->n_in);
  if (op == NULL) return refuse(c);
  ox_status *st = check_required(c, op);
  if (st != NULL) return st;
  for (uint32_t i = 0; i < c->n_out && op->GetOutputTypeCount(op) != 0; i++) {
    size_t slot = ort_custom_slot_of(op, true, i);
    ONNXTensorElementDataType type = op->GetOutputType(op, slot);
    bool mixed = ort_custom_slot(op, true, slot) == INPUT_OUTPUT_VARIADIC && !ort_custom_homogeneous(op, true);
    if (type != ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED)
      c->out[i].dtype = ort_type_to(type);
    else if (!mixed)
      c->out[i].dtype = any_type(c, op);
  }
  return op->version >= ORT_OP_INFERENCE && op->InferOutputShapeFn != NULL ? ask(c, op) : NULL;
}

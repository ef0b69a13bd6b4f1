/* SPDX-License-Identifier: Apache-2.0
 * ort/custom/ort_op.c - operators that kernels of clients call: a session of one node, made for the element types that
 * it is called with and kept for the next call. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "ort/model/ort_graph.h"
#include "ort/ort_api.h"
#include "ort/custom/ort_op_model.h"
#include "ort/session/ort_session.h"
#include "ort/ort_status.h"

enum { MOST_VALUES = 64 }; /* inputs, and outputs, of one call */

/* For inputs of these types. */
typedef struct variant {
  struct variant *next;
  OrtSession *session;
  void *model; /* what the session may read as long as it lives */
  uint32_t in[MOST_VALUES];
} variant;

struct OrtOp {
  const OrtEnv *env;
  char *op, *domain;
  int version;
  size_t n_in, n_out, n_attrs;
  OrtOpAttr **attrs;        /* copies */
  ort_op_value_name *names; /* of inputs, then of outputs */
  pthread_mutex_t lock;     /* over |variants|; those that are there stay */
  variant *variants;
};

static void release_variants(variant *v) {
  while (v != NULL) {
    variant *next = v->next;
    ort_ReleaseSession(v->session);
    free(v->model);
    free(v);
    v = next;
  }
}

void ort_ReleaseOp(OrtOp *op) {
  if (op == NULL) return;
  release_variants(op->variants);
  for (size_t i = 0; op->attrs != NULL && i < op->n_attrs; i++) ort_ReleaseOpAttr(op->attrs[i]);
  free((void *)op->attrs);
  free(op->names);
  free(op->op);
  free(op->domain);
  pthread_mutex_destroy(&op->lock);
  free(op);
}

/* ---- variants ---- */

static OrtStatus *write_model(const OrtOp *op, const uint32_t *in, void **out_model, size_t *out_n) {
  const ort_op_node node = {.op = op->op,
                            .domain = op->domain,
                            .version = op->version,
                            .n_in = op->n_in,
                            .n_out = op->n_out,
                            .in = in,
                            .n_attrs = op->n_attrs,
                            .attrs = (const OrtOpAttr *const *)op->attrs};
  return ort_op_model_write(&node, out_model, out_n);
}

static OrtStatus *fill_variant(const OrtOp *op, variant *v) {
  OrtSessionOptions *options = NULL;
  size_t n;
  ORT_TRY(write_model(op, v->in, &v->model, &n));
  ORT_TRY(ort_CreateSessionOptions(&options));
  OrtStatus *st = ort_session_create(op->env, NULL, v->model, n, options, &v->session);
  ort_ReleaseSessionOptions(options);
  return st;
}

/* Under the lock. */
static OrtStatus *find_variant(OrtOp *op, const uint32_t *in, variant **out) {
  for (*out = op->variants; *out != NULL; *out = (*out)->next)
    if (memcmp((*out)->in, in, op->n_in * sizeof *in) == 0) return NULL;
  variant *v = calloc(1, sizeof *v);
  if (v == NULL) return ort_out_of_memory();
  memcpy(v->in, in, op->n_in * sizeof *in);
  OrtStatus *st = fill_variant(op, v);
  if (st != NULL) {
    release_variants(v);
    return st;
  }
  v->next = op->variants;
  *out = op->variants = v;
  return NULL;
}

/* ---- creation ---- */

static OrtStatus *copy_attr(const OrtOpAttr *a, OrtOpAttr **out) {
  bool counts = a->type == ORT_OP_ATTR_INTS || a->type == ORT_OP_ATTR_FLOATS || a->type == ORT_OP_ATTR_STRINGS;
  const void *data = a->ints != NULL ? (const void *)a->ints : a->floats;
  if (a->type == ORT_OP_ATTR_STRING)
    return ort_CreateOpAttr(a->name, a->strings[0], (int)a->string_bytes[0], a->type, out);
  if (a->type == ORT_OP_ATTR_STRINGS) data = a->strings;
  return ort_CreateOpAttr(a->name, data, counts ? (int)a->n : 1, a->type, out);
}

static OrtStatus *fill(OrtOp *op, const char *name, const char *domain, const OrtOpAttr *const *attrs) {
  op->op = strdup(name), op->domain = strdup(domain);
  op->attrs = calloc(op->n_attrs + 1, sizeof(OrtOpAttr *));
  op->names = calloc(op->n_in + op->n_out + 1, sizeof *op->names);
  if (op->op == NULL || op->domain == NULL || op->attrs == NULL || op->names == NULL) return ort_out_of_memory();
  for (size_t i = 0; i < op->n_in; i++) ort_op_input_name(i, op->names[i]);
  for (size_t i = 0; i < op->n_out; i++) ort_op_output_name(i, op->names[op->n_in + i]);
  for (size_t i = 0; i < op->n_attrs; i++) ORT_TRY(copy_attr(attrs[i], &op->attrs[i]));
  return NULL;
}

/* Whether the operator is there, whatever it takes. */
static OrtStatus *check_there(const OrtOp *op, const uint32_t *in) {
  void *model;
  size_t n;
  ox_session *session = NULL;
  ORT_TRY(write_model(op, in, &model, &n));
  ox_status *st = ox_session_create(op->env->env, model, n, NULL, &session);
  OrtStatus *out = NULL;
  if (ox_status_code(st) == OX_NOT_IMPLEMENTED)
    out = ort_fail(ORT_FAIL, "CreateOp: Kernel not found: %s", ox_status_message(st));
  ox_status_free(st);
  ox_session_release(session);
  free(model);
  return out;
}

/* Whether the operator is there, tried with inputs of |type|. That these are the wrong ones for some input is not known
 * before a call, as the names of type constraints do not say whose they are. */
static OrtStatus *try_type(OrtOp *op, ONNXTensorElementDataType type) {
  uint32_t in[MOST_VALUES];
  variant *v;
  for (size_t i = 0; i < op->n_in; i++) in[i] = ort_type_to(type);
  OrtStatus *st = find_variant(op, in, &v);
  if (st == NULL) return NULL;
  ort_ReleaseStatus(st);
  return check_there(op, in);
}

static OrtStatus *check_counts(int n_constraints, int n_attrs, int n_in, int n_out) {
  if (n_constraints < 0 || n_attrs < 0 || n_in < 0 || n_out < 0)
    return ort_fail(ORT_INVALID_ARGUMENT, "CreateOp: %d constraints, %d attributes, %d inputs, %d outputs",
                    n_constraints, n_attrs, n_in, n_out);
  if (n_in <= MOST_VALUES && n_out <= MOST_VALUES) return NULL;
  return ort_fail(ORT_INVALID_ARGUMENT, "CreateOp: %d inputs and %d outputs, the most is %d", n_in, n_out, MOST_VALUES);
}

OrtStatus *ort_CreateOp(const OrtKernelInfo *info, const char *op_name, const char *domain, int version,
                        const char **type_constraint_names, const ONNXTensorElementDataType *type_constraint_values,
                        int type_constraint_count, const OrtOpAttr *const *attr_values, int attr_count, int input_count,
                        int output_count, OrtOp **ort_op) {
  ORT_NEED(info);
  ORT_NEED(op_name);
  ORT_NEED(domain);
  ORT_NEED(ort_op);
  (void)type_constraint_names;
  *ort_op = NULL;
  ORT_TRY(check_counts(type_constraint_count, attr_count, input_count, output_count));
  if (type_constraint_count > 0) ORT_NEED(type_constraint_values);
  if (attr_count > 0) ORT_NEED(attr_values);
  for (int i = 0; i < attr_count; i++)
    if (attr_values[i] == NULL) return ort_fail(ORT_INVALID_ARGUMENT, "CreateOp: attribute %d is NULL", i);
  OrtOp *op = calloc(1, sizeof *op);
  if (op == NULL) return ort_out_of_memory();
  op->env = info->env, op->version = version;
  op->n_in = (size_t)input_count, op->n_out = (size_t)output_count, op->n_attrs = (size_t)attr_count;
  pthread_mutex_init(&op->lock, NULL);
  OrtStatus *st = fill(op, op_name, domain, attr_values);
  ONNXTensorElementDataType type =
      type_constraint_count > 0 ? type_constraint_values[0] : ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
  if (st == NULL) st = try_type(op, type);
  if (st != NULL)
    ort_ReleaseOp(op);
  else
    *ort_op = op;
  return st;
}

/* ---- calls ---- */

static OrtStatus *read_types(const OrtOp *op, const OrtValue *const *inputs, uint32_t *in) {
  for (size_t i = 0; i < op->n_in; i++) {
    in[i] = OX_UNDEFINED;
    if (inputs[i] == NULL) continue;
    const ox_tensor *t = inputs[i]->tensor;
    if (t->kind != OX_TENSOR) return ort_fail(ORT_NOT_IMPLEMENTED, "InvokeOp: input %zu of %s is no tensor", i, op->op);
    in[i] = t->dtype;
  }
  return NULL;
}

/* Text of a kernel's output lies in its run's memory, so such a result is copied. */
static OrtStatus *take_strings(OrtValue *to, const OrtValue *from) {
  ox_str *items;
  const ox_tensor *t = from->tensor, *o = to->tensor;
  if (t->dtype != OX_STRING || o->dtype != OX_STRING || ox_tensor_count(t) != ox_tensor_count(o))
    return ort_fail(ORT_INVALID_ARGUMENT, "InvokeOp: an output has %lld strings, the result %lld of %s",
                    (long long)ox_tensor_count(o), (long long)ox_tensor_count(t), ox_type_name(t->dtype));
  ORT_TRY(ort_strings_writable(to, &items));
  return ort_strings_copy(to, t->data, (size_t)ox_tensor_count(t), items);
}

static OrtStatus *run(const OrtOp *op, OrtSession *session, const OrtValue *const *inputs, OrtValue *const *outputs) {
  const char *in_names[MOST_VALUES], *out_names[MOST_VALUES];
  const OrtValue *in[MOST_VALUES];
  OrtValue *out[MOST_VALUES], *given[MOST_VALUES];
  size_t n_in = 0, n_out = 0;
  for (size_t i = 0; i < op->n_in; i++)
    if (inputs[i] != NULL) in_names[n_in] = op->names[i], in[n_in++] = inputs[i];
  for (size_t i = 0; i < op->n_out; i++) {
    if (outputs[i] == NULL) continue;
    bool strings = outputs[i]->tensor->dtype == OX_STRING;
    out_names[n_out] = op->names[op->n_in + i], given[n_out] = outputs[i];
    out[n_out++] = strings ? NULL : outputs[i];
  }
  OrtStatus *st = ort_Run(session, NULL, in_names, in, n_in, out_names, n_out, out);
  for (size_t i = 0; i < n_out; i++) {
    if (out[i] == given[i]) continue;
    if (st == NULL) st = take_strings(given[i], out[i]);
    ort_ReleaseValue(out[i]);
  }
  return st;
}

OrtStatus *ort_InvokeOp(const OrtKernelContext *context, const OrtOp *ort_op, const OrtValue *const *input_values,
                        int input_count, OrtValue *const *output_values, int output_count) {
  ORT_NEED(context);
  ORT_NEED(ort_op);
  OrtOp *op = (OrtOp *)(uintptr_t)ort_op; /* it keeps what it makes */
  uint32_t in[MOST_VALUES];
  variant *v;
  if (input_count < 0 || (size_t)input_count != op->n_in)
    return ort_fail(ORT_INVALID_ARGUMENT, "invalid node input count: %d, expect: %zu", input_count, op->n_in);
  if (output_count < 0 || (size_t)output_count != op->n_out)
    return ort_fail(ORT_INVALID_ARGUMENT, "invalid node output count: %d, expect: %zu", output_count, op->n_out);
  if (input_count > 0) ORT_NEED(input_values);
  if (output_count > 0) ORT_NEED(output_values);
  ORT_TRY(read_types(op, input_values, in));
  pthread_mutex_lock(&op->lock);
  OrtStatus *st = find_variant(op, in, &v);
  pthread_mutex_unlock(&op->lock);
  return st != NULL ? st : run(op, v->session, input_values, output_values);
}

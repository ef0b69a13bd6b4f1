/* SPDX-License-Identifier: Apache-2.0
 * ort/op_world.h - a session with custom operators of the test's own, in domain "t" unless it says otherwise. */
#ifndef OX_TESTS_ORT_OP_WORLD_H
#define OX_TESTS_ORT_OP_WORLD_H

#include "ort/client.h"
#include "ort/model_writer.h"
#include "ort/ops.h"
#include "ort/values.h"

#define ANY ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED

typedef struct world {
  OrtEnv *env;
  OrtCustomOpDomain *domain;
  OrtSession *session;
} world;

/* The least severe messages that a test wants to see: none. */
static inline OrtEnv *quiet_env(void) {
  OrtEnv *env;
  OK(ort()->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "test", &env));
  return env;
}

static inline OrtStatus *open_in(world *w, const char *domain, const message *m, op_row *const *rows, size_t n) {
  OrtSessionOptions *options;
  *w = (world){.env = quiet_env()};
  OK(ort()->CreateSessionOptions(&options));
  OK(ort()->AddSessionConfigEntry(options, "test.key", "test value"));
  OK(ort()->CreateCustomOpDomain(domain, &w->domain));
  for (size_t i = 0; i < n; i++) OK(ort()->CustomOpDomain_Add(w->domain, op_init(rows[i], ort())));
  OK(ort()->AddCustomOpDomain(options, w->domain));
  OrtStatus *st = ort()->CreateSessionFromArray(w->env, m->bytes, m->n, options, &w->session);
  if (st != NULL) w->session = NULL;
  ort()->ReleaseSessionOptions(options);
  return st;
}

static inline OrtStatus *open_world(world *w, const message *m, op_row *row) { return open_in(w, "t", m, &row, 1); }

static inline void close_world(world *w) {
  ort()->ReleaseSession(w->session);
  ort()->ReleaseCustomOpDomain(w->domain);
  ort()->ReleaseEnv(w->env);
  *w = (world){0};
}

/* Runs the session of inputs "x" (and "z", if there is one) and output "y". */
static inline OrtStatus *run_world(world *w, const OrtValue *x, const OrtValue *z, OrtValue **y) {
  const char *const in[] = {"x", "z"}, *const out = "y";
  const OrtValue *const values[] = {x, z};
  *y = NULL;
  return ort()->Run(w->session, NULL, in, values, z != NULL ? 2 : 1, &out, 1, y);
}

/* x: elem[N] => y { y = op(inputs) }; |inputs| and |outputs| as put_names takes them. */
static inline message one_node(const char *op, int elem, int64_t version, const char *inputs, const char *outputs) {
  message g = {0};
  graph_input(&g, "x", elem, "N");
  graph_node(&g, "n0", op, inputs, outputs);
  graph_output(&g, "y", elem, NULL);
  return model_of(&g, "t", version);
}

/* ---- what kernels do ---- */

/* Ends a compute function with the status of a call that failed. */
#define PASS(call)               \
  do {                           \
    OrtStatus *st_ = (call);     \
    if (st_ != NULL) return st_; \
  } while (0)

typedef struct shape_of {
  ONNXTensorElementDataType type;
  size_t rank, count;
  int64_t dims[8];
} shape_of;

static inline OrtStatus *read_shape(const OrtApi *api, const OrtValue *v, shape_of *out) {
  OrtTensorTypeAndShapeInfo *info;
  PASS(api->GetTensorTypeAndShape(v, &info));
  OrtStatus *st = api->GetTensorElementType(info, &out->type);
  if (st == NULL) st = api->GetDimensionsCount(info, &out->rank);
  if (st == NULL) st = api->GetDimensions(info, out->dims, out->rank);
  if (st == NULL) st = api->GetTensorShapeElementCount(info, &out->count);
  api->ReleaseTensorTypeAndShapeInfo(info);
  return st;
}

/* Output 0 is input 0, numbers times |k->numbers[0]| (0: as they are). */
static inline OrtStatus *compute_times(kernel *k, OrtKernelContext *c) {
  const OrtApi *api = k->api;
  const OrtValue *in;
  OrtValue *out;
  shape_of s;
  void *from, *to;
  int64_t by = k->numbers[0] != 0 ? k->numbers[0] : 1;
  PASS(api->KernelContext_GetInput(c, 0, &in));
  PASS(read_shape(api, in, &s));
  PASS(api->KernelContext_GetOutput(c, 0, s.dims, s.rank, &out));
  PASS(api->GetTensorMutableData((OrtValue *)(uintptr_t)in, &from));
  PASS(api->GetTensorMutableData(out, &to));
  for (size_t i = 0; i < s.count; i++) {
    if (s.type == F32) ((float *)to)[i] = ((float *)from)[i] * (float)by;
    if (s.type == I64) ((int64_t *)to)[i] = ((int64_t *)from)[i] * by;
  }
  return NULL;
}

static inline OrtStatus *create_times_2(kernel *k, const OrtKernelInfo *info) {
  (void)info;
  k->numbers[0] = 2;
  return NULL;
}

static inline OrtStatus *create_times_3(kernel *k, const OrtKernelInfo *info) {
  (void)info;
  k->numbers[0] = 3;
  return NULL;
}

#endif

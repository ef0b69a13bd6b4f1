/* SPDX-License-Identifier: Apache-2.0
 * ort/op_library.c - a library of custom operators: lib.Times doubles. With ORT_TEST_REFUSE set it registers nothing.
 */
#include <stdlib.h>

#include "ort/ops.h"

#define EXPORT __attribute__((visibility("default")))

static OrtStatus *compute(kernel *k, OrtKernelContext *c) {
  const OrtApi *api = k->api;
  const OrtValue *in;
  OrtValue *out;
  float *from, *to;
  size_t bytes;
  int64_t n;
  OrtStatus *st = api->KernelContext_GetInput(c, 0, &in);
  if (st == NULL) st = api->GetTensorSizeInBytes(in, &bytes);
  if (st != NULL) return st;
  n = (int64_t)(bytes / sizeof *from);
  st = api->GetTensorMutableData((OrtValue *)(uintptr_t)in, (void **)(void *)&from);
  if (st == NULL) st = api->KernelContext_GetOutput(c, 0, &n, 1, &out);
  if (st == NULL) st = api->GetTensorMutableData(out, (void **)(void *)&to);
  for (int64_t i = 0; st == NULL && i < n; i++) to[i] = 2 * from[i];
  return st;
}

static op_row times = {.version = 16,
                       .name = "Times",
                       .n_in = 1,
                       .n_out = 1,
                       .in = {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT},
                       .out = {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT},
                       .compute = compute};
static const OrtApi *ort;
static OrtCustomOpDomain *domain; /* one for all sessions */

__attribute__((destructor)) static void unload(void) {
  if (domain != NULL) ort->ReleaseCustomOpDomain(domain);
}

EXPORT OrtStatus *RegisterCustomOps(OrtSessionOptions *options, const OrtApiBase *base) {
  ort = base->GetApi(ORT_API_VERSION);
  if (getenv("ORT_TEST_REFUSE") != NULL) return ort->CreateStatus(ORT_EP_FAIL, "not today");
  OrtStatus *st = domain == NULL ? ort->CreateCustomOpDomain("lib", &domain) : NULL;
  if (st == NULL && times.api == NULL) st = ort->CustomOpDomain_Add(domain, op_init(&times, ort));
  return st != NULL ? st : ort->AddCustomOpDomain(options, domain);
}

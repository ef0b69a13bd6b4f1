/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/fake_kernels.c - the fake library's kernels, in memory of the host or of its device. */
#include <stdlib.h>
#include <string.h>

#include "fake_parts.h"

typedef struct kernel {
  OrtKernelImpl base;
  char op;
  bool device;
} kernel;

/* A tensor's data, and whether it is where it should be. */
static OrtStatus *data_of(const kernel *k, const OrtValue *v, float **out) {
  const OrtMemoryDevice *place = ep_api->Value_GetMemoryDevice(v);
  bool gpu = ep_api->MemoryDevice_GetDeviceType(place) == OrtMemoryInfoDeviceType_GPU;
  const void *data;
  if (gpu != k->device) return api->CreateStatus(ORT_EP_FAIL, "a tensor is in another memory");
  TRY(api->GetTensorData(v, &data));
  *out = k->device ? fake_device_bytes(data) : (void *)(uintptr_t)data;
  return NULL;
}

static OrtStatus *compute(OrtKernelImpl *base, OrtKernelContext *context) {
  kernel *k = (kernel *)base;
  const OrtValue *in[2] = {NULL, NULL};
  OrtValue *y;
  OrtTensorTypeAndShapeInfo *info;
  float *a, *b = NULL, *out;
  int64_t dims[8];
  size_t n[2] = {1, 1}, rank = 0, count = 0, larger = 0;
  fake_ep_state()->runs++;
  TRY(fake_call("Compute"));
  TRY(api->KernelContext_GetInputCount(context, &count));
  for (size_t i = 0; i < count; i++) {
    TRY(api->KernelContext_GetInput(context, i, &in[i]));
    TRY(api->GetTensorTypeAndShape(in[i], &info));
    CHECK(api->GetTensorShapeElementCount(info, &n[i]));
    if (i == 0 || n[i] > n[0]) {
      larger = i;
      CHECK(api->GetDimensionsCount(info, &rank));
      CHECK(api->GetDimensions(info, dims, rank));
    }
    api->ReleaseTensorTypeAndShapeInfo(info);
  }
  TRY(data_of(k, in[0], &a));
  if (count > 1) TRY(data_of(k, in[1], &b));
  TRY(api->KernelContext_GetOutput(context, 0, dims, rank, &y));
  TRY(data_of(k, y, &out));
  for (size_t i = 0; i < n[larger]; i++) out[i] = fake_op(k->op, a[i % n[0]], b != NULL ? b[i % n[1]] : 0);
  return NULL;
}

static void release(OrtKernelImpl *base) {
  fake_ep_state()->kernels--;
  free(base);
}

static OrtStatus *create(void *state, const OrtKernelInfo *info, OrtKernelImpl **out) {
  const OrtEp *ep = NULL;
  char op[16];
  size_t n = sizeof op;
  TRY(fake_call("KernelCreate"));
  TRY(ep_api->KernelInfo_GetEp(info, &ep));
  TRY(api->KernelInfo_GetOperatorType(info, op, &n));
  kernel *k = calloc(1, sizeof *k);
  k->base = (OrtKernelImpl){.ort_version_supported = 24, .Compute = compute, .Release = release};
  k->op = *op, k->device = *(const fake_kind *)state == FAKE_DEVICE;
  fake_ep_state()->kernels++;
  *out = &k->base;
  return NULL;
}

static OrtStatus *add(OrtKernelRegistry *r, const char *op, int since, fake_kind kind) {
  static fake_kind kinds[] = {FAKE_COMPILE, FAKE_KERNELS, FAKE_DEVICE};
  static const char *const names[] = {"FakeCompile", "FakeKernels", "FakeDevice"};
  const OrtDataType *type;
  OrtKernelDefBuilder *b;
  OrtKernelDef *def;
  TRY(ep_api->GetTensorDataType(ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &type));
  TRY(ep_api->CreateKernelDefBuilder(&b));
  CHECK(ep_api->KernelDefBuilder_SetOperatorType(b, op));
  CHECK(ep_api->KernelDefBuilder_SetDomain(b, ""));
  CHECK(ep_api->KernelDefBuilder_SetSinceVersion(b, since, since));
  CHECK(ep_api->KernelDefBuilder_SetExecutionProvider(b, names[kind]));
  CHECK(ep_api->KernelDefBuilder_AddTypeConstraint(b, "T", &type, 1));
  OrtStatus *st = ep_api->KernelDefBuilder_Build(b, &def);
  ep_api->ReleaseKernelDefBuilder(b);
  TRY(st);
  st = ep_api->KernelRegistry_AddKernel(r, def, create, &kinds[kind]);
  ep_api->ReleaseKernelDef(def);
  return st;
}

OrtKernelRegistry *fake_registry_create(fake_kind kind) {
  OrtKernelRegistry *r = NULL;
  CHECK(ep_api->CreateKernelRegistry(&r));
  CHECK(add(r, "Mul", 14, kind));
  CHECK(add(r, "Add", 14, kind));
  CHECK(add(r, "Relu", 14, kind));
  return r;
}

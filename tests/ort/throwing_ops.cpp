// SPDX-License-Identifier: Apache-2.0
// ort/throwing_ops.cpp - an operator that throws: lib.Throw, where its attribute "where" says, what "what" says. With
// ORT_TEST_REFUSE set, registering throws.
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "onyx/ort_abi.h"

namespace {

const OrtApi *ort;
OrtCustomOpDomain *domain;
int alive;  // objects that unwinding has to destroy

struct Witness {
  Witness() { alive++; }
  ~Witness() { alive--; }
};

struct Derived : std::runtime_error {
  Derived() : std::runtime_error("derived") {}
};

void fail(int64_t what) {
  Witness w;
  if (what == 0) throw std::invalid_argument("invalid");
  if (what == 1) throw Derived();
  if (what == 2) throw 42;
  throw std::string("text");
}

struct Kernel {
  int64_t where, what;
};

void *create(const OrtCustomOp *, const OrtApi *api, const OrtKernelInfo *info) {
  Kernel k = {};
  if (OrtStatus *st = api->KernelInfoGetAttribute_int64(info, "where", &k.where)) api->ReleaseStatus(st);
  if (OrtStatus *st = api->KernelInfoGetAttribute_int64(info, "what", &k.what)) api->ReleaseStatus(st);
  if (k.where == 1) fail(k.what);
  return new Kernel(k);
}

void compute(void *p, OrtKernelContext *c) {
  const Kernel *k = static_cast<Kernel *>(p);
  OrtValue *out;
  float *to;
  const int64_t one[] = {1};
  if (k->where == 2) fail(k->what);
  if (ort->KernelContext_GetOutput(c, 0, one, 1, &out) != nullptr) return;
  if (ort->GetTensorMutableData(out, reinterpret_cast<void **>(&to)) != nullptr) return;
  to[0] = static_cast<float>(alive);
}

OrtStatus *infer(const OrtCustomOp *, OrtShapeInferContext *c) {
  const OrtOpAttr *a;
  int64_t where = 0, what = 0;
  size_t n;
  if (OrtStatus *st = ort->ShapeInferContext_GetAttribute(c, "where", &a)) return st;
  if (OrtStatus *st = ort->ReadOpAttr(a, ORT_OP_ATTR_INT, &where, sizeof where, &n)) return st;
  if (OrtStatus *st = ort->ShapeInferContext_GetAttribute(c, "what", &a)) return st;
  if (OrtStatus *st = ort->ReadOpAttr(a, ORT_OP_ATTR_INT, &what, sizeof what, &n)) return st;
  if (where == 3) fail(what);
  return nullptr;
}

struct Throw : OrtCustomOp {
  Throw() : OrtCustomOp() {
    version = 17;
    CreateKernel = create;
    GetName = [](const OrtCustomOp *) { return "Throw"; };
    GetExecutionProviderType = [](const OrtCustomOp *) -> const char * { return nullptr; };
    GetInputType = [](const OrtCustomOp *, size_t) { return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT; };
    GetInputTypeCount = [](const OrtCustomOp *) { return size_t(1); };
    GetOutputType = GetInputType;
    GetOutputTypeCount = GetInputTypeCount;
    KernelCompute = compute;
    KernelDestroy = [](void *k) { delete static_cast<Kernel *>(k); };
    GetInputCharacteristic = [](const OrtCustomOp *, size_t) { return INPUT_OUTPUT_REQUIRED; };
    GetOutputCharacteristic = GetInputCharacteristic;
    GetInputMemoryType = [](const OrtCustomOp *, size_t) { return OrtMemTypeDefault; };
    GetVariadicInputMinArity = [](const OrtCustomOp *) { return 1; };
    GetVariadicInputHomogeneity = GetVariadicInputMinArity;
    GetVariadicOutputMinArity = GetVariadicInputMinArity;
    GetVariadicOutputHomogeneity = GetVariadicInputMinArity;
    InferOutputShapeFn = infer;
  }
} op;

struct Unload {
  ~Unload() {
    if (domain != nullptr) ort->ReleaseCustomOpDomain(domain);
  }
} unload;

}  // namespace

extern "C" __attribute__((visibility("default"))) OrtStatus *RegisterCustomOps(OrtSessionOptions *options,
                                                                             const OrtApiBase *base) {
  ort = base->GetApi(ORT_API_VERSION);
  if (std::getenv("ORT_TEST_REFUSE") != nullptr) fail(0);
  if (domain == nullptr) {
    if (OrtStatus *st = ort->CreateCustomOpDomain("lib", &domain)) return st;
    if (OrtStatus *st = ort->CustomOpDomain_Add(domain, &op)) return st;
  }
  return ort->AddCustomOpDomain(options, domain);
}

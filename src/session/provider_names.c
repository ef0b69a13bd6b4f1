/* SPDX-License-Identifier: Apache-2.0
 * session/provider_names.c - the one table of providers' names, here and in ONNX Runtime, and of what to install. */
#include <string.h>
#include <strings.h>

#include "base/macros.h"
#include "onyx/onyx.h"

/* The vendor's library has ONNX Runtime's interface. */
#define VENDOR(name_, ort_name_, aliases_, get_) \
  { .name = name_, .ort_name = ort_name_, .aliases = aliases_, .get = get_, .foreign = 1 }
/* There is none that could be loaded here. */
#define ABSENT(name_, ort_name_, aliases_, instead_) \
  { .name = name_, .ort_name = ort_name_, .aliases = aliases_, .get = instead_, .foreign = 2 }
#define NO_LIBRARY "its maker has no library for Linux that could be loaded"
#define OURS "the CPU's provider has its operators: drop the name"

/* Providers for GPUs first, for CPUs last, in ONNX Runtime's order. Each name may have the suffix
 * "ExecutionProvider". */
static const ox_provider_info rows[] = {
    VENDOR("tensorrt-rtx", "NvTensorRTRTXExecutionProvider", "NvTensorRtRtx",
           "pip install onnxruntime-ep-nv-tensorrt-rtx"),
    ABSENT("tensorrt", "TensorrtExecutionProvider", "", "NvTensorRTRTXExecutionProvider is its successor"),
    {"cuda", "CUDAExecutionProvider", "CUDA", "NVIDIA's driver, and Onyx's plug-in libonyx-cuda.so", 0},
    VENDOR("migraphx", "MIGraphXExecutionProvider", "MIGraphX", "AMD's library for ONNX Runtime 1.23 or later"),
    ABSENT("rocm", "ROCMExecutionProvider", "ROCM|Hip", "MIGraphXExecutionProvider is its successor"),
    {"opencl", "OpenCLExecutionProvider", "OpenCL",
     "a driver for OpenCL (Debian: pocl-opencl-icd), and Onyx's plug-in libonyx-opencl.so", 0},
    VENDOR("openvino", "OpenVINOExecutionProvider", "OpenVINO", "pip install onnxruntime-ep-openvino"),
    VENDOR("ggml", "ggml", "", "pip install onnxruntime-ggml"),
    VENDOR("qnn", "QNNExecutionProvider", "QNN", "pip install onnxruntime-qnn"),
    VENDOR("webgpu", "WebGpuExecutionProvider", "WebGPU", "pip install onnxruntime-ep-webgpu"),
    VENDOR("vitisai", "VitisAIExecutionProvider", "VitisAI", "AMD's library for ONNX Runtime 1.23 or later"),
    ABSENT("snpe", "SNPEExecutionProvider", "SNPE", "QNNExecutionProvider is its successor"),
    ABSENT("cann", "CANNExecutionProvider", "CANN", NO_LIBRARY),
    ABSENT("dml", "DmlExecutionProvider", "DML", NO_LIBRARY),
    ABSENT("coreml", "CoreMLExecutionProvider", "CoreML", NO_LIBRARY),
    ABSENT("nnapi", "NnapiExecutionProvider", "NNAPI", NO_LIBRARY),
    ABSENT("vsinpu", "VSINPUExecutionProvider", "VSINPU", NO_LIBRARY),
    ABSENT("rknpu", "RknpuExecutionProvider", "RKNPU", NO_LIBRARY),
    ABSENT("webnn", "WebNNExecutionProvider", "WEBNN", NO_LIBRARY),
    ABSENT("js", "JsExecutionProvider", "JS", NO_LIBRARY),
    ABSENT("azure", "AzureExecutionProvider", "AZURE", NO_LIBRARY),
    ABSENT("tvm", "TvmExecutionProvider", "TVM", OURS),
    ABSENT("acl", "ACLExecutionProvider", "ACL", OURS),
    ABSENT("armnn", "ArmNNExecutionProvider", "ArmNN", OURS),
    {"onednn", "DnnlExecutionProvider", "Dnnl|MKLDNN",
     "Onyx's plug-in libonyx-onednn.so, and oneDNN (Debian: libdnnl2)", 0},
    {"xnnpack", "XnnpackExecutionProvider", "XNNPACK", "Onyx's plug-in libonyx-xnnpack.so", 0},
    {"cpu", "CPUExecutionProvider", "CPU", "", 0},
};

int ox_provider_known(size_t i, ox_provider_info *out) {
  if (i >= OX_COUNT(rows)) return 0;
  *out = rows[i];
  return 1;
}

/* |name| up to |n|. */
static int is_one_of(const char *name, size_t n, const char *list) {
  for (const char *p = list; *p; p += *p == '|') {
    size_t len = strcspn(p, "|");
    if (len == n && strncasecmp(p, name, n) == 0) return 1;
    p += len;
  }
  return 0;
}

static int is_called(const ox_provider_info *r, const char *name, size_t n) {
  return n && (is_one_of(name, n, r->name) || is_one_of(name, n, r->ort_name) || is_one_of(name, n, r->aliases));
}

/* The length of a name without the words that ONNX Runtime's end in. */
static size_t short_length(const char *name) {
  static const char ending[] = "ExecutionProvider";
  size_t n = strlen(name), n_ending = sizeof ending - 1;
  return n > n_ending && strcasecmp(name + n - n_ending, ending) == 0 ? n - n_ending : n;
}

int ox_provider_find(const char *name, ox_provider_info *out) {
  for (size_t i = 0; name && i < OX_COUNT(rows); i++)
    if (is_called(&rows[i], name, strlen(name)) || is_called(&rows[i], name, short_length(name)))
      return ox_provider_known(i, out);
  return 0;
}

/* SPDX-License-Identifier: Apache-2.0
 * session/provider_names.c - what providers are called, here and in ONNX Runtime, and how to have them: the one table.
 */
#include <string.h>
#include <strings.h>

#include "base/macros.h"
#include "onyx/onyx.h"

#define VENDOR(name_, ort_name_, aliases_, get_) \
  { .name = name_, .ort_name = ort_name_, .aliases = aliases_, .get = get_, .foreign = 1 }
#define NO_LIBRARY "its maker has no library for Linux that could be loaded"

/* Those of GPUs first, of CPUs last, as ONNX Runtime orders them. */
static const ox_provider_info rows[] = {
    VENDOR("tensorrt-rtx", "NvTensorRTRTXExecutionProvider", "NvTensorRtRtx|NvTensorRtRtxExecutionProvider",
           "pip install onnxruntime-ep-nv-tensorrt-rtx"),
    VENDOR("tensorrt", "TensorrtExecutionProvider", "", "NvTensorRTRTXExecutionProvider is its successor"),
    {"cuda", "CUDAExecutionProvider", "CUDA", "NVIDIA's driver, and Onyx's plug-in libonyx-cuda.so", 0},
    VENDOR("migraphx", "MIGraphXExecutionProvider", "MIGraphX", "AMD's library for ONNX Runtime 1.23 or later"),
    VENDOR("rocm", "ROCMExecutionProvider", "ROCM|Hip", "MIGraphXExecutionProvider is its successor"),
    {"opencl", "OpenCLExecutionProvider", "OpenCL",
     "a driver for OpenCL (Debian: pocl-opencl-icd), and Onyx's plug-in libonyx-opencl.so", 0},
    VENDOR("openvino", "OpenVINOExecutionProvider", "OpenVINO", "pip install onnxruntime-ep-openvino"),
    VENDOR("ggml", "ggml", "GGMLExecutionProvider", "pip install onnxruntime-ggml"),
    VENDOR("qnn", "QNNExecutionProvider", "QNN", "pip install onnxruntime-qnn"),
    VENDOR("webgpu", "WebGpuExecutionProvider", "WebGPU", "pip install onnxruntime-ep-webgpu"),
    VENDOR("vitisai", "VitisAIExecutionProvider", "VitisAI", "AMD's library for ONNX Runtime 1.23 or later"),
    VENDOR("snpe", "SNPEExecutionProvider", "SNPE", "QNNExecutionProvider is its successor"),
    VENDOR("cann", "CANNExecutionProvider", "CANN", NO_LIBRARY),
    VENDOR("dml", "DmlExecutionProvider", "DML", NO_LIBRARY),
    VENDOR("coreml", "CoreMLExecutionProvider", "CoreML", NO_LIBRARY),
    VENDOR("nnapi", "NnapiExecutionProvider", "NNAPI", NO_LIBRARY),
    VENDOR("vsinpu", "VSINPUExecutionProvider", "VSINPU", NO_LIBRARY),
    VENDOR("rknpu", "RknpuExecutionProvider", "RKNPU", NO_LIBRARY),
    VENDOR("webnn", "WebNNExecutionProvider", "WEBNN", NO_LIBRARY),
    VENDOR("js", "JsExecutionProvider", "JS", NO_LIBRARY),
    VENDOR("azure", "AzureExecutionProvider", "AZURE", NO_LIBRARY),
    VENDOR("acl", "ACLExecutionProvider", "ACL", "the CPU's provider has its operators: drop the name"),
    VENDOR("armnn", "ArmNNExecutionProvider", "ArmNN", "the CPU's provider has its operators: drop the name"),
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

static int is_one_of(const char *name, const char *list) {
  size_t n = strlen(name);
  for (const char *p = list; *p; p += *p == '|') {
    size_t len = strcspn(p, "|");
    if (len == n && strncasecmp(p, name, n) == 0) return 1;
    p += len;
  }
  return 0;
}

int ox_provider_find(const char *name, ox_provider_info *out) {
  for (size_t i = 0; name && i < OX_COUNT(rows); i++) {
    const ox_provider_info *r = &rows[i];
    if (strcasecmp(name, r->name) == 0 || strcasecmp(name, r->ort_name) == 0 || is_one_of(name, r->aliases))
      return ox_provider_known(i, out);
  }
  return 0;
}

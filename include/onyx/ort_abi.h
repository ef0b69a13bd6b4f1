/* SPDX-License-Identifier: Apache-2.0
 * onyx/ort_abi.h - ONNX Runtime's C ABI as libonnxruntime.so.1 serves it (docs/ort.md), for programs that are to run on
 * Microsoft's library, too: the same names, numbers and offsets. OrtGetApiBase()->GetApi(ORT_API_VERSION) is the table.
 *
 * Conventions of that ABI. A function that returns OrtStatus * returns NULL on success; a status is the caller's to
 * release. Create and Release pair up, Release takes NULL. Strings are UTF-8 and end with NUL. What each parameter is for
 * (in, out, may be NULL) stands in onyx/ort_slots.inc. */
#ifndef ONYX_ORT_ABI_H
#define ONYX_ORT_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "onyx/ort_enums.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ORT_API_VERSION 32

typedef char ORTCHAR_T;

/* ---- types; those that no structure below defines are opaque ---- */

typedef struct OrtArenaCfg OrtArenaCfg;
typedef struct OrtCANNProviderOptions OrtCANNProviderOptions;
typedef struct OrtCUDAProviderOptionsV2 OrtCUDAProviderOptionsV2;
typedef struct OrtCustomOpDomain OrtCustomOpDomain;
typedef struct OrtDataType OrtDataType;
typedef struct OrtDeviceEpIncompatibilityDetails OrtDeviceEpIncompatibilityDetails;
typedef struct OrtDnnlProviderOptions OrtDnnlProviderOptions;
typedef struct OrtEnv OrtEnv;
typedef struct OrtEpAssignedNode OrtEpAssignedNode;
typedef struct OrtEpAssignedSubgraph OrtEpAssignedSubgraph;
typedef struct OrtEpContextConfig OrtEpContextConfig;
typedef struct OrtEpDevice OrtEpDevice;
typedef struct OrtEpGraphSupportInfo OrtEpGraphSupportInfo;
typedef struct OrtExternalInitializerInfo OrtExternalInitializerInfo;
typedef struct OrtExternalResourceImporter OrtExternalResourceImporter;
typedef struct OrtGraph OrtGraph;
typedef struct OrtHardwareDevice OrtHardwareDevice;
typedef struct OrtIoBinding OrtIoBinding;
typedef struct OrtKernelContext OrtKernelContext;
typedef struct OrtKernelDef OrtKernelDef;
typedef struct OrtKernelDefBuilder OrtKernelDefBuilder;
typedef struct OrtKernelInfo OrtKernelInfo;
typedef struct OrtKernelRegistry OrtKernelRegistry;
typedef struct OrtKeyValuePairs OrtKeyValuePairs;
typedef struct OrtLogger OrtLogger;
typedef struct OrtLoraAdapter OrtLoraAdapter;
typedef struct OrtMapTypeInfo OrtMapTypeInfo;
typedef struct OrtMemoryDevice OrtMemoryDevice;
typedef struct OrtMemoryInfo OrtMemoryInfo;
typedef struct OrtModel OrtModel;
typedef struct OrtModelCompilationOptions OrtModelCompilationOptions;
typedef struct OrtModelMetadata OrtModelMetadata;
typedef struct OrtModelPackageComponentContext OrtModelPackageComponentContext;
typedef struct OrtModelPackageContext OrtModelPackageContext;
typedef struct OrtModelPackageOptions OrtModelPackageOptions;
typedef struct OrtNode OrtNode;
typedef struct OrtNodeComputeContext OrtNodeComputeContext;
typedef struct OrtNvTensorRtRtxProviderOptions OrtNvTensorRtRtxProviderOptions;
typedef struct OrtOp OrtOp;
typedef struct OrtOpAttr OrtOpAttr;
typedef struct OrtOpSchema OrtOpSchema;
typedef struct OrtOpSchemaTypeConstraint OrtOpSchemaTypeConstraint;
typedef struct OrtOptionalTypeInfo OrtOptionalTypeInfo;
typedef struct OrtPrepackedWeightsContainer OrtPrepackedWeightsContainer;
typedef struct OrtProfilingEvent OrtProfilingEvent;
typedef struct OrtProfilingEventsContainer OrtProfilingEventsContainer;
typedef struct OrtRunOptions OrtRunOptions;
typedef struct OrtSequenceTypeInfo OrtSequenceTypeInfo;
typedef struct OrtSession OrtSession;
typedef struct OrtSessionOptions OrtSessionOptions;
typedef struct OrtShapeInferContext OrtShapeInferContext;
typedef struct OrtSharedPrePackedWeightCache OrtSharedPrePackedWeightCache;
typedef struct OrtStatus OrtStatus;
typedef struct OrtSyncStream OrtSyncStream;
typedef struct OrtTensorRTProviderOptionsV2 OrtTensorRTProviderOptionsV2;
typedef struct OrtTensorTypeAndShapeInfo OrtTensorTypeAndShapeInfo;
typedef struct OrtThreadPoolParams OrtThreadPoolParams;
typedef struct OrtThreadingOptions OrtThreadingOptions;
typedef struct OrtTrainingApi OrtTrainingApi;
typedef struct OrtTypeInfo OrtTypeInfo;
typedef struct OrtValue OrtValue;
typedef struct OrtValueInfo OrtValueInfo;
typedef struct OrtApiBase OrtApiBase;
typedef struct OrtAllocator OrtAllocator;
typedef struct OrtCustomOp OrtCustomOp;
typedef struct OrtModelEditorApi OrtModelEditorApi;
typedef struct OrtCompileApi OrtCompileApi;
typedef struct OrtInteropApi OrtInteropApi;
typedef struct OrtModelPackageApi OrtModelPackageApi;
typedef struct OrtEpApi OrtEpApi;
typedef struct OrtEp OrtEp;
typedef struct OrtEpFactory OrtEpFactory;
typedef struct OrtNodeFusionOptions OrtNodeFusionOptions;
typedef struct OrtNodeComputeInfo OrtNodeComputeInfo;
typedef struct OrtKernelImpl OrtKernelImpl;
typedef struct OrtDataTransferImpl OrtDataTransferImpl;
typedef struct OrtSyncNotificationImpl OrtSyncNotificationImpl;
typedef struct OrtSyncStreamImpl OrtSyncStreamImpl;
typedef struct OrtExternalResourceImporterImpl OrtExternalResourceImporterImpl;
typedef struct OrtEpProfilerImpl OrtEpProfilerImpl;
typedef struct OrtCUDAProviderOptions OrtCUDAProviderOptions;
typedef struct OrtROCMProviderOptions OrtROCMProviderOptions;
typedef struct OrtTensorRTProviderOptions OrtTensorRTProviderOptions;
typedef struct OrtMIGraphXProviderOptions OrtMIGraphXProviderOptions;
typedef struct OrtOpenVINOProviderOptions OrtOpenVINOProviderOptions;
typedef struct OrtCustomHandleType OrtCustomHandleType;
typedef struct OrtThreadPoolCallbacksConfig OrtThreadPoolCallbacksConfig;
typedef struct OrtExternalMemoryDescriptor OrtExternalMemoryDescriptor;
typedef struct OrtExternalSemaphoreDescriptor OrtExternalSemaphoreDescriptor;
typedef struct OrtGraphicsInteropConfig OrtGraphicsInteropConfig;
typedef struct OrtExternalTensorDescriptor OrtExternalTensorDescriptor;
typedef struct OrtEnvCreationOptions OrtEnvCreationOptions;
typedef struct OrtExternalMemoryHandle OrtExternalMemoryHandle;
typedef struct OrtExternalSemaphoreHandle OrtExternalSemaphoreHandle;
typedef struct OrtLoopKernelHelper OrtLoopKernelHelper;
typedef struct OrtScanKernelHelper OrtScanKernelHelper;
typedef struct OrtResourceCount OrtResourceCount;
typedef struct OrtApi OrtApi;

typedef OrtStatus *OrtStatusPtr;

/* ---- callbacks ---- */

typedef void (*OrtExperimentalFnPtr)(void);
typedef void (*OrtLoggingFunction)(void *, OrtLoggingLevel, const char *, const char *, const char *, const char *);
typedef OrtStatus *(*EpSelectionDelegate)(const OrtEpDevice **, size_t, const OrtKeyValuePairs *,
                                     const OrtKeyValuePairs *, const OrtEpDevice **, size_t, size_t *, void *);
typedef OrtStatus *(*OrtWriteBufferFunc)(void *, const void *, size_t);
/* (state, name, ...). What is read comes in memory of the allocator, and belongs to the caller. */
typedef OrtStatus *(*OrtReadNamedBufferFunc)(void *, const char *, OrtAllocator *, void **, size_t *);
typedef OrtStatus *(*OrtWriteNamedBufferFunc)(void *, const char *, const void *, size_t);
typedef OrtStatus *(*OrtGetInitializerLocationFunc)(void *, const char *, const OrtValue *,
                                     const OrtExternalInitializerInfo *, OrtExternalInitializerInfo **);
typedef void (*OrtThreadWorkerFn)(void *);
typedef const struct OrtCustomHandleType *OrtCustomThreadHandle;
typedef OrtCustomThreadHandle (*OrtCustomCreateThreadFn)(void *, OrtThreadWorkerFn, void *);
typedef void (*OrtCustomJoinThreadFn)(OrtCustomThreadHandle);
typedef void *(*OrtThreadPoolWorkEnqueueFn)(void *);
typedef void (*OrtThreadPoolWorkStartFn)(void *, void *);
typedef void (*OrtThreadPoolWorkStopFn)(void *, void *);
typedef void (*OrtThreadPoolWorkAbandonFn)(void *, void *);
typedef OrtStatus *(*RegisterCustomOpsFn)(OrtSessionOptions *, const OrtApiBase *);
typedef void (*RunAsyncCallbackFn)(void *, OrtValue **, size_t, OrtStatusPtr);
typedef OrtStatus *(*OrtKernelCreateFunc)(void *, const OrtKernelInfo *, OrtKernelImpl **);

/* ---- structures ---- */

/* What OrtGetApiBase returns; never changes. GetApi(version): the one table, for every version up to the newest that
 * this library has; NULL beyond. */
struct OrtApiBase {
  const OrtApi *(*GetApi)(uint32_t);
  const char *(*GetVersionString)(void);
};

/* An allocator of the caller or of the library. |version|: the API version it was written for; members behind |Info| are
 * read only if it is at least 18 (Reserve), 23 (GetStats, AllocOnStream), 25 (Shrink). */
struct OrtAllocator {
  uint32_t version;
  void *(*Alloc)(OrtAllocator *, size_t);
  void (*Free)(OrtAllocator *, void *);
  const OrtMemoryInfo *(*Info)(const OrtAllocator *);
  void *(*Reserve)(OrtAllocator *, size_t);
  OrtStatus *(*GetStats)(const OrtAllocator *, OrtKeyValuePairs **);
  void *(*AllocOnStream)(OrtAllocator *, size_t, OrtSyncStream *);
  OrtStatus *(*Shrink)(OrtAllocator *);
};

/* An operator of the caller. |version| tells which members there are: up to KernelDestroy 1, GetOutputCharacteristic 8,
 * GetInputMemoryType 13, GetVariadicOutputHomogeneity 14, KernelComputeV2 16, GetEndVersion 17, ReleaseAliasMap 18. */
struct OrtCustomOp {
  uint32_t version;
  void *(*CreateKernel)(const OrtCustomOp *, const OrtApi *, const OrtKernelInfo *);
  const char *(*GetName)(const OrtCustomOp *);
  const char *(*GetExecutionProviderType)(const OrtCustomOp *);
  ONNXTensorElementDataType (*GetInputType)(const OrtCustomOp *, size_t);
  size_t (*GetInputTypeCount)(const OrtCustomOp *);
  ONNXTensorElementDataType (*GetOutputType)(const OrtCustomOp *, size_t);
  size_t (*GetOutputTypeCount)(const OrtCustomOp *);
  void (*KernelCompute)(void *, OrtKernelContext *);
  void (*KernelDestroy)(void *);
  OrtCustomOpInputOutputCharacteristic (*GetInputCharacteristic)(const OrtCustomOp *, size_t);
  OrtCustomOpInputOutputCharacteristic (*GetOutputCharacteristic)(const OrtCustomOp *, size_t);
  OrtMemType (*GetInputMemoryType)(const OrtCustomOp *, size_t);
  int (*GetVariadicInputMinArity)(const OrtCustomOp *);
  int (*GetVariadicInputHomogeneity)(const OrtCustomOp *);
  int (*GetVariadicOutputMinArity)(const OrtCustomOp *);
  int (*GetVariadicOutputHomogeneity)(const OrtCustomOp *);
  OrtStatus *(*CreateKernelV2)(const OrtCustomOp *, const OrtApi *, const OrtKernelInfo *, void **);
  OrtStatus *(*KernelComputeV2)(void *, OrtKernelContext *);
  OrtStatus *(*InferOutputShapeFn)(const OrtCustomOp *, OrtShapeInferContext *);
  int (*GetStartVersion)(const OrtCustomOp *);
  int (*GetEndVersion)(const OrtCustomOp *);
  size_t (*GetMayInplace)(int **, int **);
  void (*ReleaseMayInplace)(int *, int *);
  size_t (*GetAliasMap)(int **, int **);
  void (*ReleaseAliasMap)(int *, int *);
};

/* Options of the first CUDA appender. */
struct OrtCUDAProviderOptions {
  int device_id;
  OrtCudnnConvAlgoSearch cudnn_conv_algo_search;
  size_t gpu_mem_limit;
  int arena_extend_strategy;
  int do_copy_in_default_stream;
  int has_user_compute_stream;
  void *user_compute_stream;
  OrtArenaCfg *default_memory_arena_cfg;
  int tunable_op_enable;
  int tunable_op_tuning_enable;
  int tunable_op_max_tuning_duration_ms;
};

/* Options of the ROCm appender. */
struct OrtROCMProviderOptions {
  int device_id;
  int miopen_conv_exhaustive_search;
  size_t gpu_mem_limit;
  int arena_extend_strategy;
  int do_copy_in_default_stream;
  int has_user_compute_stream;
  void *user_compute_stream;
  OrtArenaCfg *default_memory_arena_cfg;
  int enable_hip_graph;
  int tunable_op_enable;
  int tunable_op_tuning_enable;
  int tunable_op_max_tuning_duration_ms;
};

/* Options of the first TensorRT appender. */
struct OrtTensorRTProviderOptions {
  int device_id;
  int has_user_compute_stream;
  void *user_compute_stream;
  int trt_max_partition_iterations;
  int trt_min_subgraph_size;
  size_t trt_max_workspace_size;
  int trt_fp16_enable;
  int trt_int8_enable;
  const char *trt_int8_calibration_table_name;
  int trt_int8_use_native_calibration_table;
  int trt_dla_enable;
  int trt_dla_core;
  int trt_dump_subgraphs;
  int trt_engine_cache_enable;
  const char *trt_engine_cache_path;
  int trt_engine_decryption_enable;
  const char *trt_engine_decryption_lib_path;
  int trt_force_sequential_engine_build;
};

/* Options of the MIGraphX appender. */
struct OrtMIGraphXProviderOptions {
  int device_id;
  int migraphx_fp16_enable;
  int migraphx_fp8_enable;
  int migraphx_int8_enable;
  int migraphx_use_native_calibration_table;
  const char *migraphx_int8_calibration_table_name;
  int migraphx_save_compiled_model;
  const char *migraphx_save_model_path;
  int migraphx_load_compiled_model;
  const char *migraphx_load_model_path;
  bool migraphx_exhaustive_tune;
  size_t migraphx_mem_limit;
  int migraphx_arena_extend_strategy;
};

/* Options of the first OpenVINO appender. */
struct OrtOpenVINOProviderOptions {
  const char *device_type;
  unsigned char enable_npu_fast_compile;
  const char *device_id;
  size_t num_of_threads;
  const char *cache_dir;
  void *context;
  unsigned char enable_opencl_throttling;
  unsigned char enable_dynamic_shapes;
};

/* What stands for a thread that the caller made. */
struct OrtCustomHandleType {
  char __place_holder;
};

/* Hooks around the work of a session's threads. */
struct OrtThreadPoolCallbacksConfig {
  uint32_t version;
  OrtThreadPoolWorkEnqueueFn on_enqueue;
  OrtThreadPoolWorkStartFn on_start_work;
  OrtThreadPoolWorkStopFn on_stop_work;
  OrtThreadPoolWorkAbandonFn on_abandon;
  void *user_context;
};

/* For CreateEnvWithOptions. */
struct OrtEnvCreationOptions {
  uint32_t version;
  int32_t logging_severity_level;
  const char *log_id;
  OrtLoggingFunction custom_logging_function;
  void *custom_logging_param;
  const OrtThreadingOptions *threading_options;
  const OrtKeyValuePairs *config_entries;
};

/* ---- tables ---- */

#define ORT_MEMBER_(slot, name, since, result, params, directions) result(*name) params;
#define ORT_SLOT ORT_MEMBER_
struct OrtApi {
#include "onyx/ort_slots.inc"
};
#define ORT_EP_SLOT ORT_MEMBER_
struct OrtEpApi {
#include "onyx/ort_slots.inc"
};
#define ORT_EDITOR_SLOT ORT_MEMBER_
struct OrtModelEditorApi {
#include "onyx/ort_slots.inc"
};
#define ORT_COMPILE_SLOT ORT_MEMBER_
struct OrtCompileApi {
#include "onyx/ort_slots.inc"
};
#define ORT_INTEROP_SLOT ORT_MEMBER_
struct OrtInteropApi {
#include "onyx/ort_slots.inc"
};
#define ORT_PACKAGE_SLOT ORT_MEMBER_
struct OrtModelPackageApi {
#include "onyx/ort_slots.inc"
};
#undef ORT_MEMBER_

/* The symbols that the library exports. The appenders are for old programs; the second argument of the CPU's is whether
 * to use an arena, of the other the device. */
const OrtApiBase *OrtGetApiBase(void);
OrtStatus *OrtSessionOptionsAppendExecutionProvider_CPU(OrtSessionOptions *options, int use_arena);
OrtStatus *OrtSessionOptionsAppendExecutionProvider_CUDA(OrtSessionOptions *options, int device_id);

#ifdef __cplusplus
}
#endif
#endif

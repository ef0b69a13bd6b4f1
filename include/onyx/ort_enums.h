/* SPDX-License-Identifier: Apache-2.0
 * onyx/ort_enums.h - the enumerations of ONNX Runtime's C ABI. Names and numbers are fixed: programs were compiled with
 * them. */
#ifndef ONYX_ORT_ENUMS_H
#define ONYX_ORT_ENUMS_H

typedef enum ExecutionMode { ORT_SEQUENTIAL = 0, ORT_PARALLEL = 1 } ExecutionMode;
typedef enum GraphOptimizationLevel {
  ORT_DISABLE_ALL = 0, ORT_ENABLE_BASIC = 1, ORT_ENABLE_EXTENDED = 2, ORT_ENABLE_LAYOUT = 3, ORT_ENABLE_ALL = 99
} GraphOptimizationLevel;
typedef enum ONNXTensorElementDataType {
  ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED = 0, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT = 1,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8 = 2, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8 = 3,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16 = 4, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16 = 5,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32 = 6, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64 = 7,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING = 8, ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL = 9,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16 = 10, ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE = 11,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32 = 12, ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64 = 13,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX64 = 14, ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX128 = 15,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16 = 16, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FN = 17,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FNUZ = 18, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2 = 19,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2FNUZ = 20, ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT4 = 21,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_INT4 = 22, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT4E2M1 = 23,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT2 = 24, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT2 = 25,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E8M0 = 26
} ONNXTensorElementDataType;
typedef enum ONNXType {
  ONNX_TYPE_UNKNOWN = 0, ONNX_TYPE_TENSOR = 1, ONNX_TYPE_SEQUENCE = 2, ONNX_TYPE_MAP = 3, ONNX_TYPE_OPAQUE = 4,
  ONNX_TYPE_SPARSETENSOR = 5, ONNX_TYPE_OPTIONAL = 6
} ONNXType;
typedef enum OrtAllocatorType {
  OrtInvalidAllocator = -1, OrtDeviceAllocator = 0, OrtArenaAllocator = 1, OrtReadOnlyAllocator = 2
} OrtAllocatorType;
typedef enum OrtCompileApiFlags {
  OrtCompileApiFlags_NONE = 0, OrtCompileApiFlags_ERROR_IF_NO_NODES_COMPILED = 1,
  OrtCompileApiFlags_ERROR_IF_OUTPUT_FILE_EXISTS = 2
} OrtCompileApiFlags;
typedef enum OrtCompiledModelCompatibility {
  OrtCompiledModelCompatibility_EP_NOT_APPLICABLE = 0, OrtCompiledModelCompatibility_EP_SUPPORTED_OPTIMAL = 1,
  OrtCompiledModelCompatibility_EP_SUPPORTED_PREFER_RECOMPILATION = 2, OrtCompiledModelCompatibility_EP_UNSUPPORTED = 3
} OrtCompiledModelCompatibility;
typedef enum OrtCudnnConvAlgoSearch {
  OrtCudnnConvAlgoSearchExhaustive = 0, OrtCudnnConvAlgoSearchHeuristic = 1, OrtCudnnConvAlgoSearchDefault = 2
} OrtCudnnConvAlgoSearch;
typedef enum OrtCustomOpInputOutputCharacteristic {
  INPUT_OUTPUT_REQUIRED = 0, INPUT_OUTPUT_OPTIONAL = 1, INPUT_OUTPUT_VARIADIC = 2
} OrtCustomOpInputOutputCharacteristic;
typedef enum OrtDeviceEpIncompatibilityReason {
  OrtDeviceEpIncompatibility_NONE = 0, OrtDeviceEpIncompatibility_DRIVER_INCOMPATIBLE = 1,
  OrtDeviceEpIncompatibility_DEVICE_INCOMPATIBLE = 2, OrtDeviceEpIncompatibility_MISSING_DEPENDENCY = 4,
  OrtDeviceEpIncompatibility_UNKNOWN = -2147483648
} OrtDeviceEpIncompatibilityReason;
typedef enum OrtDeviceMemoryType {
  OrtDeviceMemoryType_DEFAULT = 0, OrtDeviceMemoryType_HOST_ACCESSIBLE = 5
} OrtDeviceMemoryType;
typedef enum OrtEpDataLayout {
  OrtEpDataLayout_NCHW = 0, OrtEpDataLayout_NHWC = 1, OrtEpDataLayout_Default = 0
} OrtEpDataLayout;
typedef enum OrtErrorCode {
  ORT_OK = 0, ORT_FAIL = 1, ORT_INVALID_ARGUMENT = 2, ORT_NO_SUCHFILE = 3, ORT_NO_MODEL = 4, ORT_ENGINE_ERROR = 5,
  ORT_RUNTIME_EXCEPTION = 6, ORT_INVALID_PROTOBUF = 7, ORT_MODEL_LOADED = 8, ORT_NOT_IMPLEMENTED = 9,
  ORT_INVALID_GRAPH = 10, ORT_EP_FAIL = 11, ORT_MODEL_LOAD_CANCELED = 12, ORT_MODEL_REQUIRES_COMPILATION = 13,
  ORT_NOT_FOUND = 14, ORT_DEVICE_RESET = 15
} OrtErrorCode;
typedef enum OrtExecutionProviderDevicePolicy {
  OrtExecutionProviderDevicePolicy_DEFAULT = 0, OrtExecutionProviderDevicePolicy_PREFER_CPU = 1,
  OrtExecutionProviderDevicePolicy_PREFER_NPU = 2, OrtExecutionProviderDevicePolicy_PREFER_GPU = 3,
  OrtExecutionProviderDevicePolicy_MAX_PERFORMANCE = 4, OrtExecutionProviderDevicePolicy_MAX_EFFICIENCY = 5,
  OrtExecutionProviderDevicePolicy_MIN_OVERALL_POWER = 6
} OrtExecutionProviderDevicePolicy;
typedef enum OrtExternalMemoryHandleType {
  ORT_EXTERNAL_MEMORY_HANDLE_TYPE_D3D12_RESOURCE = 0, ORT_EXTERNAL_MEMORY_HANDLE_TYPE_D3D12_HEAP = 1,
  ORT_EXTERNAL_MEMORY_HANDLE_TYPE_VK_MEMORY_WIN32 = 2, ORT_EXTERNAL_MEMORY_HANDLE_TYPE_VK_MEMORY_OPAQUE_FD = 3
} OrtExternalMemoryHandleType;
typedef enum OrtExternalSemaphoreType {
  ORT_EXTERNAL_SEMAPHORE_D3D12_FENCE = 0, ORT_EXTERNAL_SEMAPHORE_VK_TIMELINE_SEMAPHORE_WIN32 = 1,
  ORT_EXTERNAL_SEMAPHORE_VK_TIMELINE_SEMAPHORE_OPAQUE_FD = 2
} OrtExternalSemaphoreType;
typedef enum OrtGraphCaptureNodeAssignmentPolicy {
  OrtGraphCaptureNodeAssignmentPolicy_ALL_NODES_ON_EP = 0, OrtGraphCaptureNodeAssignmentPolicy_ALLOW_CPU_FOR_SHAPES = 1
} OrtGraphCaptureNodeAssignmentPolicy;
typedef enum OrtGraphicsApi {
  ORT_GRAPHICS_API_NONE = 0, ORT_GRAPHICS_API_D3D12 = 1, ORT_GRAPHICS_API_VULKAN = 2
} OrtGraphicsApi;
typedef enum OrtHardwareDeviceType {
  OrtHardwareDeviceType_CPU = 0, OrtHardwareDeviceType_GPU = 1, OrtHardwareDeviceType_NPU = 2
} OrtHardwareDeviceType;
typedef enum OrtLanguageProjection {
  ORT_PROJECTION_C = 0, ORT_PROJECTION_CPLUSPLUS = 1, ORT_PROJECTION_CSHARP = 2, ORT_PROJECTION_PYTHON = 3,
  ORT_PROJECTION_JAVA = 4, ORT_PROJECTION_WINML = 5, ORT_PROJECTION_NODEJS = 6
} OrtLanguageProjection;
typedef enum OrtLoggingLevel {
  ORT_LOGGING_LEVEL_VERBOSE = 0, ORT_LOGGING_LEVEL_INFO = 1, ORT_LOGGING_LEVEL_WARNING = 2, ORT_LOGGING_LEVEL_ERROR = 3,
  ORT_LOGGING_LEVEL_FATAL = 4
} OrtLoggingLevel;
typedef enum OrtMemType {
  OrtMemTypeCPUInput = -2, OrtMemTypeCPUOutput = -1, OrtMemTypeCPU = -1, OrtMemTypeDefault = 0
} OrtMemType;
typedef enum OrtMemoryInfoDeviceType {
  OrtMemoryInfoDeviceType_CPU = 0, OrtMemoryInfoDeviceType_GPU = 1, OrtMemoryInfoDeviceType_FPGA = 2,
  OrtMemoryInfoDeviceType_NPU = 3
} OrtMemoryInfoDeviceType;
typedef enum OrtOpAttrType {
  ORT_OP_ATTR_UNDEFINED = 0, ORT_OP_ATTR_INT = 1, ORT_OP_ATTR_INTS = 2, ORT_OP_ATTR_FLOAT = 3, ORT_OP_ATTR_FLOATS = 4,
  ORT_OP_ATTR_STRING = 5, ORT_OP_ATTR_STRINGS = 6, ORT_OP_ATTR_GRAPH = 7, ORT_OP_ATTR_TENSOR = 8
} OrtOpAttrType;
typedef enum OrtProfilingEventCategory {
  OrtProfilingEventCategory_SESSION = 0, OrtProfilingEventCategory_NODE = 1, OrtProfilingEventCategory_KERNEL = 2,
  OrtProfilingEventCategory_API = 3
} OrtProfilingEventCategory;
typedef enum OrtResourceCountKind {
  OrtResourceCountKind_None = 0, OrtResourceCountKind_TotalBytes = 1
} OrtResourceCountKind;
typedef enum OrtSparseFormat {
  ORT_SPARSE_UNDEFINED = 0, ORT_SPARSE_COO = 1, ORT_SPARSE_CSRC = 2, ORT_SPARSE_BLOCK_SPARSE = 4
} OrtSparseFormat;
typedef enum OrtSparseIndicesFormat {
  ORT_SPARSE_COO_INDICES = 0, ORT_SPARSE_CSR_INNER_INDICES = 1, ORT_SPARSE_CSR_OUTER_INDICES = 2,
  ORT_SPARSE_BLOCK_SPARSE_INDICES = 3
} OrtSparseIndicesFormat;
typedef enum OrtWeightlessSupport {
  OrtWeightlessSupport_NONE = 0, OrtWeightlessSupport_EXTERNAL_ONLY = 1, OrtWeightlessSupport_ALL = 2,
  OrtWeightlessSupport_ALL_OR_EXTERNAL_ONLY = 3
} OrtWeightlessSupport;

#endif

/* SPDX-License-Identifier: Apache-2.0
 * onyx/ort_ep.h - structures that libraries of execution providers share with the host through ONNX Runtime's C ABI
 * (onyx/ort_abi.h). Such a library exports CreateEpFactories and ReleaseEpFactory. */
#ifndef ONYX_ORT_EP_H
#define ONYX_ORT_EP_H

#include "onyx/ort_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef OrtStatus *(*CreateEpApiFactoriesFn)(const char *, const OrtApiBase *, const OrtLogger *, OrtEpFactory **,
                                     size_t, size_t *);
typedef OrtStatus *(*ReleaseEpApiFactoryFn)(OrtEpFactory *);

/* Memory of another API, to be imported. */
struct OrtExternalMemoryDescriptor {
  uint32_t version;
  OrtExternalMemoryHandleType handle_type;
  void *native_handle;
  size_t size_bytes;
  size_t offset_bytes;
};

/* A semaphore of another API, to be imported. */
struct OrtExternalSemaphoreDescriptor {
  uint32_t version;
  OrtExternalSemaphoreType type;
  void *native_handle;
};

/* A tensor in imported memory. */
struct OrtExternalTensorDescriptor {
  uint32_t version;
  ONNXTensorElementDataType element_type;
  const int64_t *shape;
  size_t rank;
  size_t offset_bytes;
};

/* An execution provider of a session, made by its factory. |ort_version_supported| tells which members there are. */
struct OrtEp {
  uint32_t ort_version_supported;
  const char *(*GetName)(const OrtEp *);
  OrtStatus *(*GetCapability)(OrtEp *, const OrtGraph *, OrtEpGraphSupportInfo *);
  OrtStatus *(*Compile)(OrtEp *, const OrtGraph **, const OrtNode **, size_t, OrtNodeComputeInfo **, OrtNode **);
  void (*ReleaseNodeComputeInfos)(OrtEp *, OrtNodeComputeInfo **, size_t);
  OrtStatus *(*GetPreferredDataLayout)(OrtEp *, OrtEpDataLayout *);
  OrtStatus *(*ShouldConvertDataLayoutForOp)(OrtEp *, const char *, const char *, OrtEpDataLayout, int *);
  OrtStatus *(*SetDynamicOptions)(OrtEp *, const char *const *, const char *const *, size_t);
  OrtStatus *(*OnRunStart)(OrtEp *, const OrtRunOptions *);
  OrtStatus *(*OnRunEnd)(OrtEp *, const OrtRunOptions *, bool);
  OrtStatus *(*CreateAllocator)(OrtEp *, const OrtMemoryInfo *, OrtAllocator **);
  OrtStatus *(*CreateSyncStreamForDevice)(OrtEp *, const OrtMemoryDevice *, OrtSyncStreamImpl **);
  const char *(*GetCompiledModelCompatibilityInfo)(OrtEp *, const OrtGraph *);
  OrtStatus *(*GetKernelRegistry)(OrtEp *, const OrtKernelRegistry **);
  OrtStatus *(*IsConcurrentRunSupported)(OrtEp *, bool *);
  OrtStatus *(*Sync)(OrtEp *);
  OrtStatus *(*CreateProfiler)(OrtEp *, OrtEpProfilerImpl **);
  bool (*IsGraphCaptureEnabled)(const OrtEp *);
  bool (*IsGraphCaptured)(const OrtEp *, int);
  OrtStatus *(*ReplayGraph)(OrtEp *, int);
  OrtGraphCaptureNodeAssignmentPolicy (*GetGraphCaptureNodeAssignmentPolicy)(const OrtEp *);
  OrtStatus *(*GetAvailableResource)(const OrtEp *, OrtResourceCount *);
  OrtStatus *(*OnSessionInitializationEnd)(OrtEp *);
  OrtStatus *(*GetDefaultMemoryDevice)(const OrtEp *, const OrtMemoryDevice **);
  OrtStatus *(*ReleaseCapturedGraph)(OrtEp *, int);
  OrtStatus *(*GetWeightlessSupport)(const OrtEp *, OrtWeightlessSupport *);
};

/* Makes providers: one for each kind that a library brings. */
struct OrtEpFactory {
  uint32_t ort_version_supported;
  const char *(*GetName)(const OrtEpFactory *);
  const char *(*GetVendor)(const OrtEpFactory *);
  OrtStatus *(*GetSupportedDevices)(OrtEpFactory *, const OrtHardwareDevice *const *, size_t, OrtEpDevice **, size_t,
      size_t *);
  OrtStatus *(*CreateEp)(OrtEpFactory *, const OrtHardwareDevice *const *, const OrtKeyValuePairs *const *, size_t,
      const OrtSessionOptions *, const OrtLogger *, OrtEp **);
  void (*ReleaseEp)(OrtEpFactory *, OrtEp *);
  uint32_t (*GetVendorId)(const OrtEpFactory *);
  const char *(*GetVersion)(const OrtEpFactory *);
  OrtStatus *(*ValidateCompiledModelCompatibilityInfo)(OrtEpFactory *, const OrtHardwareDevice *const *, size_t,
      const char *, OrtCompiledModelCompatibility *);
  OrtStatus *(*CreateAllocator)(OrtEpFactory *, const OrtMemoryInfo *, const OrtKeyValuePairs *, OrtAllocator **);
  void (*ReleaseAllocator)(OrtEpFactory *, OrtAllocator *);
  OrtStatus *(*CreateDataTransfer)(OrtEpFactory *, OrtDataTransferImpl **);
  bool (*IsStreamAware)(const OrtEpFactory *);
  OrtStatus *(*CreateSyncStreamForDevice)(OrtEpFactory *, const OrtMemoryDevice *, const OrtKeyValuePairs *,
      OrtSyncStreamImpl **);
  OrtStatus *(*GetHardwareDeviceIncompatibilityDetails)(OrtEpFactory *, const OrtHardwareDevice *,
      OrtDeviceEpIncompatibilityDetails *);
  OrtStatus *(*CreateExternalResourceImporterForDevice)(OrtEpFactory *, const OrtEpDevice *,
      OrtExternalResourceImporterImpl **);
  OrtStatus *(*GetNumCustomOpDomains)(OrtEpFactory *, size_t *);
  OrtStatus *(*GetCustomOpDomains)(OrtEpFactory *, OrtCustomOpDomain **, size_t);
  OrtStatus *(*InitGraphicsInterop)(OrtEpFactory *, const OrtEpDevice *, const OrtGraphicsInteropConfig *);
  OrtStatus *(*DeinitGraphicsInterop)(OrtEpFactory *, const OrtEpDevice *);
  OrtStatus *(*SelectBestModelCandidate)(OrtEpFactory *, const OrtHardwareDevice *, const OrtKeyValuePairs *const *,
      size_t, const OrtSessionOptions *, size_t *);
  OrtStatus *(*GetDeviceMemoryCapacity)(OrtEpFactory *, const OrtEpDevice *, uint32_t, size_t *, size_t *);
};

/* How nodes are fused into one. */
struct OrtNodeFusionOptions {
  uint32_t ort_version_supported;
  bool drop_constant_initializers;
};

/* How a compiled part runs. */
struct OrtNodeComputeInfo {
  uint32_t ort_version_supported;
  OrtStatus *(*CreateState)(OrtNodeComputeInfo *, OrtNodeComputeContext *, void **);
  OrtStatus *(*Compute)(OrtNodeComputeInfo *, void *, OrtKernelContext *);
  void (*ReleaseState)(OrtNodeComputeInfo *, void *);
};

/* A kernel of a provider. */
struct OrtKernelImpl {
  uint32_t ort_version_supported;
  uint32_t flags;
  OrtStatus *(*Compute)(OrtKernelImpl *, OrtKernelContext *);
  void (*Release)(OrtKernelImpl *);
  OrtStatus *(*PrePackWeight)(OrtKernelImpl *, const OrtValue *, int, OrtAllocator *,
      OrtSharedPrePackedWeightCache *, bool *);
  OrtStatus *(*SetSharedPrePackedWeight)(OrtKernelImpl *, const void *const *, const size_t *, size_t, int);
};

/* Copies between devices. */
struct OrtDataTransferImpl {
  uint32_t ort_version_supported;
  void (*Release)(OrtDataTransferImpl *);
  bool (*CanCopy)(const OrtDataTransferImpl *, const OrtMemoryDevice *, const OrtMemoryDevice *);
  OrtStatus *(*CopyTensors)(OrtDataTransferImpl *, const OrtValue **, OrtValue **, OrtSyncStream **, size_t);
};

/* An event on a stream. */
struct OrtSyncNotificationImpl {
  uint32_t ort_version_supported;
  void (*Release)(OrtSyncNotificationImpl *);
  OrtStatus *(*Activate)(OrtSyncNotificationImpl *);
  OrtStatus *(*WaitOnDevice)(OrtSyncNotificationImpl *, OrtSyncStream *);
  OrtStatus *(*WaitOnHost)(OrtSyncNotificationImpl *);
};

/* A stream of a device. */
struct OrtSyncStreamImpl {
  uint32_t ort_version_supported;
  void (*Release)(OrtSyncStreamImpl *);
  void *(*GetHandle)(OrtSyncStreamImpl *);
  OrtStatus *(*CreateNotification)(OrtSyncStreamImpl *, OrtSyncNotificationImpl **);
  OrtStatus *(*Flush)(OrtSyncStreamImpl *);
  OrtStatus *(*OnSessionRunEnd)(OrtSyncStreamImpl *);
};

/* Imports memory and semaphores of other APIs. */
struct OrtExternalResourceImporterImpl {
  uint32_t ort_version_supported;
  bool (*CanImportMemory)(const OrtExternalResourceImporterImpl *, OrtExternalMemoryHandleType);
  OrtStatus *(*ImportMemory)(OrtExternalResourceImporterImpl *, const OrtExternalMemoryDescriptor *,
      OrtExternalMemoryHandle **);
  void (*ReleaseMemory)(OrtExternalResourceImporterImpl *, OrtExternalMemoryHandle *);
  OrtStatus *(*CreateTensorFromMemory)(OrtExternalResourceImporterImpl *, const OrtExternalMemoryHandle *,
      const OrtExternalTensorDescriptor *, OrtValue **);
  bool (*CanImportSemaphore)(const OrtExternalResourceImporterImpl *, OrtExternalSemaphoreType);
  OrtStatus *(*ImportSemaphore)(OrtExternalResourceImporterImpl *, const OrtExternalSemaphoreDescriptor *,
      OrtExternalSemaphoreHandle **);
  void (*ReleaseSemaphore)(OrtExternalResourceImporterImpl *, OrtExternalSemaphoreHandle *);
  OrtStatus *(*WaitSemaphore)(OrtExternalResourceImporterImpl *, OrtExternalSemaphoreHandle *, OrtSyncStream *,
      uint64_t);
  OrtStatus *(*SignalSemaphore)(OrtExternalResourceImporterImpl *, OrtExternalSemaphoreHandle *, OrtSyncStream *,
      uint64_t);
  void (*Release)(OrtExternalResourceImporterImpl *);
};

/* Collects a provider's own events. */
struct OrtEpProfilerImpl {
  uint32_t ort_version_supported;
  void (*Release)(OrtEpProfilerImpl *);
  OrtStatus *(*StartProfiling)(OrtEpProfilerImpl *, int64_t);
  OrtStatus *(*StartEvent)(OrtEpProfilerImpl *, uint64_t);
  OrtStatus *(*StopEvent)(OrtEpProfilerImpl *, uint64_t, const OrtProfilingEvent *);
  OrtStatus *(*EndProfiling)(OrtEpProfilerImpl *, OrtProfilingEventsContainer *);
};

/* What a provider's Loop kernel gives the host. */
struct OrtLoopKernelHelper {
  uint32_t ort_version_supported;
  void (*Release)(OrtLoopKernelHelper *);
  OrtStatus *(*ConcatOutput)(OrtLoopKernelHelper *, void *, const OrtValue *const *, size_t, void *, size_t);
};

/* What a provider's Scan kernel gives the host. */
struct OrtScanKernelHelper {
  uint32_t ort_version_supported;
  void (*Release)(OrtScanKernelHelper *);
  OrtStatus *(*Transpose)(OrtScanKernelHelper *, const size_t *, size_t, const OrtValue *, OrtSyncStream *, OrtValue *);
};

/* An amount of a resource. */
struct OrtResourceCount {
  uint32_t kind;
  uint32_t reserved;
  union {
    uint64_t total_bytes;
    uint64_t reserved_words[6];
  } value;
};

/* Imported memory: the provider derives from it. */
struct OrtExternalMemoryHandle {
  uint32_t version;
  const OrtEpDevice *ep_device;
  OrtExternalMemoryDescriptor descriptor;
  void (*Release)(OrtExternalMemoryHandle *);
};

/* An imported semaphore: the provider derives from it. */
struct OrtExternalSemaphoreHandle {
  uint32_t version;
  const OrtEpDevice *ep_device;
  OrtExternalSemaphoreDescriptor descriptor;
  void (*Release)(OrtExternalSemaphoreHandle *);
};

/* A command queue of a graphics API that a provider is to share. */
struct OrtGraphicsInteropConfig {
  uint32_t version;
  OrtGraphicsApi graphics_api;
  void *command_queue;
  const OrtKeyValuePairs *additional_options;
};

#ifdef __cplusplus
}
#endif
#endif

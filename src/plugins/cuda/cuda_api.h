/* SPDX-License-Identifier: Apache-2.0
 * cuda/cuda_api.h - our own prototypes, written from NVIDIA's public documentation, of the functions that the driver
 * uses. Nothing of CUDA is needed to build; the libraries are loaded when a device is opened. */
#ifndef OX_CUDA_API_H
#define OX_CUDA_API_H

#include <stddef.h>
#include <stdint.h>

/* ---- the driver API (libcuda), 11.4 and later ---- */

typedef int cu_result; /* CUresult */
typedef int cu_device;
typedef uint64_t cu_address; /* CUdeviceptr */
typedef struct CUctx_st *cu_context;
typedef struct CUstream_st *cu_stream;
typedef struct CUevent_st *cu_event;
typedef struct CUmod_st *cu_module;
typedef struct CUfunc_st *cu_function;
typedef struct CUgraph_st *cu_graph;
typedef struct CUgraphExec_st *cu_graph_exec;

enum {
  CU_OUT_OF_MEMORY = 2,
  CU_NO_DEVICE = 100,
  CU_NOT_FOUND = 500,
  CU_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
  CU_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK = 8,
  CU_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
  CU_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  CU_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
  CU_STREAM_NON_BLOCKING = 1, /* does not synchronize with the default stream */
  CU_EVENT_DISABLE_TIMING = 2,
  CU_CAPTURE_RELAXED = 2
};

#define CUDA_FUNCTIONS(X)                                                                                          \
  X(cuInit, (unsigned flags))                                                                                      \
  X(cuDriverGetVersion, (int *version))                                                                            \
  X(cuDeviceGetCount, (int *n))                                                                                    \
  X(cuDeviceGet, (cu_device * device, int ordinal))                                                                \
  X(cuDeviceGetName, (char *name, int room, cu_device device))                                                     \
  X(cuDeviceGetAttribute, (int *value, int attribute, cu_device device))                                           \
  X(cuDeviceTotalMem_v2, (size_t * bytes, cu_device device))                                                       \
  X(cuDevicePrimaryCtxRetain, (cu_context * context, cu_device device))                                            \
  X(cuDevicePrimaryCtxRelease_v2, (cu_device device))                                                              \
  X(cuCtxGetCurrent, (cu_context * context))                                                                       \
  X(cuCtxPushCurrent_v2, (cu_context context))                                                                     \
  X(cuCtxPopCurrent_v2, (cu_context * context))                                                                    \
  X(cuMemAlloc_v2, (cu_address * address, size_t bytes))                                                           \
  X(cuMemFree_v2, (cu_address address))                                                                            \
  X(cuMemHostAlloc, (void **p, size_t bytes, unsigned flags))                                                      \
  X(cuMemFreeHost, (void *p))                                                                                      \
  X(cuMemcpyHtoDAsync_v2, (cu_address to, const void *from, size_t bytes, cu_stream stream))                       \
  X(cuMemcpyDtoHAsync_v2, (void *to, cu_address from, size_t bytes, cu_stream stream))                             \
  X(cuMemcpyDtoDAsync_v2, (cu_address to, cu_address from, size_t bytes, cu_stream stream))                        \
  X(cuStreamCreate, (cu_stream * stream, unsigned flags))                                                          \
  X(cuStreamDestroy_v2, (cu_stream stream))                                                                        \
  X(cuStreamSynchronize, (cu_stream stream))                                                                       \
  X(cuStreamBeginCapture_v2, (cu_stream stream, int mode))                                                         \
  X(cuStreamEndCapture, (cu_stream stream, cu_graph * graph))                                                      \
  X(cuGraphInstantiateWithFlags, (cu_graph_exec * exec, cu_graph graph, uint64_t flags))                           \
  X(cuGraphLaunch, (cu_graph_exec exec, cu_stream stream))                                                         \
  X(cuGraphExecDestroy, (cu_graph_exec exec))                                                                      \
  X(cuGraphDestroy, (cu_graph graph))                                                                              \
  X(cuEventCreate, (cu_event * event, unsigned flags))                                                             \
  X(cuEventDestroy_v2, (cu_event event))                                                                           \
  X(cuEventRecord, (cu_event event, cu_stream stream))                                                             \
  X(cuEventSynchronize, (cu_event event))                                                                          \
  X(cuEventElapsedTime, (float *ms, cu_event start, cu_event end))                                                 \
  X(cuModuleLoadDataEx, (cu_module * module, const void *image, unsigned n, int *options, void **values))          \
  X(cuModuleUnload, (cu_module module))                                                                            \
  X(cuModuleGetFunction, (cu_function * function, cu_module module, const char *name))                             \
  X(cuLaunchKernel,                                                                                                \
    (cu_function function, unsigned groups_x, unsigned groups_y, unsigned groups_z, unsigned items_x,              \
     unsigned items_y, unsigned items_z, unsigned shared_bytes, cu_stream stream, void **arguments, void **extra)) \
  X(cuGetErrorName, (cu_result code, const char **name))                                                           \
  X(cuGetErrorString, (cu_result code, const char **text))

/* ---- NVRTC, the compiler ---- */

typedef struct _nvrtcProgram *nvrtc_program;

#define NVRTC_FUNCTIONS(X)                                                                     \
  X(nvrtcGetNumSupportedArchs, (int *n))                                                       \
  X(nvrtcGetSupportedArchs, (int *archs))                                                      \
  X(nvrtcCreateProgram, (nvrtc_program * program, const char *source, const char *name, int n, \
                         const char *const *headers, const char *const *header_names))         \
  X(nvrtcDestroyProgram, (nvrtc_program * program))                                            \
  X(nvrtcCompileProgram, (nvrtc_program program, int n, const char *const *options))           \
  X(nvrtcGetProgramLogSize, (nvrtc_program program, size_t * bytes))                           \
  X(nvrtcGetProgramLog, (nvrtc_program program, char *log))                                    \
  X(nvrtcGetCUBINSize, (nvrtc_program program, size_t * bytes))                                \
  X(nvrtcGetCUBIN, (nvrtc_program program, char *image))                                       \
  X(nvrtcGetPTXSize, (nvrtc_program program, size_t * bytes))                                  \
  X(nvrtcGetPTX, (nvrtc_program program, char *image))

#define CUDA_POINTER(name, parameters) int(*name) parameters;
typedef struct cuda_functions {
  CUDA_FUNCTIONS(CUDA_POINTER)
} cuda_functions;
typedef struct nvrtc_functions {
  NVRTC_FUNCTIONS(CUDA_POINTER)
  const char *(*nvrtcGetErrorString)(int code);
} nvrtc_functions;

#endif

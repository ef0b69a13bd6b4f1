/* SPDX-License-Identifier: Apache-2.0
 * cuda/cuda_libraries.h - cuBLASLt and cuDNN, which are optional: our own prototypes, written from their documentation.
 */
#ifndef OX_CUDA_LIBRARIES_H
#define OX_CUDA_LIBRARIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plugins/cuda/cuda_api.h"

/* ---- cuBLASLt 12 and 13 ---- */

typedef struct cublasLtContext *lt_handle;
typedef struct lt_opaque *lt_object; /* descriptors of products, matrices, preferences */

typedef struct lt_heuristic {
  uint64_t algo[8];
  size_t workspace_bytes;
  int state;
  float waves;
  int reserved[4];
} lt_heuristic;

enum {
  LT_COMPUTE_32F = 68,
  LT_COMPUTE_32F_TF32 = 77,
  LT_R_32F = 0,
  LT_R_16F = 2,
  LT_DESC_TRANS_A = 3,
  LT_DESC_TRANS_B = 4,
  LT_DESC_EPILOGUE = 7,
  LT_DESC_BIAS = 8,
  LT_EPILOGUE_BIAS = 4, /* one element per row of the (column-major) result */
  LT_LAYOUT_BATCH_COUNT = 5,
  LT_LAYOUT_BATCH_OFFSET = 6,
  LT_PREFERENCE_WORKSPACE = 1,
  LT_PREFERENCE_ALIGNMENT = 5 /* of A; 6, 7 and 8 are B, C and D */
};

#define LT_FUNCTIONS(X)                                                                                               \
  X(cublasLtCreate, (lt_handle * handle))                                                                             \
  X(cublasLtDestroy, (lt_handle handle))                                                                              \
  X(cublasLtMatmulDescCreate, (lt_object * desc, int compute, int scale))                                             \
  X(cublasLtMatmulDescDestroy, (lt_object desc))                                                                      \
  X(cublasLtMatmulDescSetAttribute, (lt_object desc, int attribute, const void *value, size_t bytes))                 \
  X(cublasLtMatrixLayoutCreate, (lt_object * layout, int type, uint64_t rows, uint64_t columns, int64_t leading))     \
  X(cublasLtMatrixLayoutDestroy, (lt_object layout))                                                                  \
  X(cublasLtMatrixLayoutSetAttribute, (lt_object layout, int attribute, const void *value, size_t bytes))             \
  X(cublasLtMatmulPreferenceCreate, (lt_object * preference))                                                         \
  X(cublasLtMatmulPreferenceDestroy, (lt_object preference))                                                          \
  X(cublasLtMatmulPreferenceSetAttribute, (lt_object preference, int attribute, const void *value, size_t bytes))     \
  X(cublasLtMatmulAlgoGetHeuristic, (lt_handle handle, lt_object desc, lt_object a, lt_object b, lt_object c,         \
                                     lt_object d, lt_object preference, int n, lt_heuristic *out, int *out_n))        \
  X(cublasLtMatmul, (lt_handle handle, lt_object desc, const void *alpha, const void *a, lt_object layout_a,          \
                     const void *b, lt_object layout_b, const void *beta, const void *c, lt_object layout_c, void *d, \
                     lt_object layout_d, const void *algo, void *workspace, size_t workspace_bytes, cu_stream stream))

/* ---- cuDNN 8 and 9, only the functions for convolution ---- */

typedef struct cudnnContext *dnn_handle;
typedef struct dnn_opaque *dnn_object;

typedef struct dnn_perf {
  int algo, status;
  float ms;
  size_t memory;
  int determinism, math;
  int reserved[3];
} dnn_perf;

enum {
  DNN_NCHW = 0,
  DNN_FLOAT = 0,
  DNN_HALF = 2,
  DNN_CROSS_CORRELATION = 1,
  DNN_MATH_DEFAULT = 0, /* may use TF32 */
  DNN_MATH_TENSOR_OP = 1,
  DNN_MATH_FMA = 3, /* float32 without TF32 */
  DNN_ALGO_IMPLICIT_PRECOMP_GEMM = 1,
  DNN_RELU = 1,
  DNN_PROPAGATE_NAN = 1
};

#define DNN_FUNCTIONS(X)                                                                                               \
  X(cudnnCreate, (dnn_handle * handle))                                                                                \
  X(cudnnDestroy, (dnn_handle handle))                                                                                 \
  X(cudnnSetStream, (dnn_handle handle, cu_stream stream))                                                             \
  X(cudnnCreateTensorDescriptor, (dnn_object * desc))                                                                  \
  X(cudnnDestroyTensorDescriptor, (dnn_object desc))                                                                   \
  X(cudnnSetTensor4dDescriptor, (dnn_object desc, int format, int type, int n, int c, int h, int w))                   \
  X(cudnnCreateFilterDescriptor, (dnn_object * desc))                                                                  \
  X(cudnnDestroyFilterDescriptor, (dnn_object desc))                                                                   \
  X(cudnnSetFilter4dDescriptor, (dnn_object desc, int type, int format, int o, int c, int h, int w))                   \
  X(cudnnCreateConvolutionDescriptor, (dnn_object * desc))                                                             \
  X(cudnnDestroyConvolutionDescriptor, (dnn_object desc))                                                              \
  X(cudnnSetConvolution2dDescriptor, (dnn_object desc, int pad_h, int pad_w, int stride_h, int stride_w,               \
                                      int dilation_h, int dilation_w, int mode, int type))                             \
  X(cudnnSetConvolutionGroupCount, (dnn_object desc, int groups))                                                      \
  X(cudnnSetConvolutionMathType, (dnn_object desc, int math))                                                          \
  X(cudnnGetConvolutionForwardAlgorithm_v7,                                                                            \
    (dnn_handle handle, dnn_object x, dnn_object w, dnn_object conv, dnn_object y, int n, int *out_n, dnn_perf *out))  \
  X(cudnnFindConvolutionForwardAlgorithm,                                                                              \
    (dnn_handle handle, dnn_object x, dnn_object w, dnn_object conv, dnn_object y, int n, int *out_n, dnn_perf *out))  \
  X(cudnnGetConvolutionForwardWorkspaceSize,                                                                           \
    (dnn_handle handle, dnn_object x, dnn_object w, dnn_object conv, dnn_object y, int algo, size_t *bytes))           \
  X(cudnnCreateActivationDescriptor, (dnn_object * desc))                                                              \
  X(cudnnDestroyActivationDescriptor, (dnn_object desc))                                                               \
  X(cudnnSetActivationDescriptor, (dnn_object desc, int mode, int nan, double limit))                                  \
  X(cudnnConvolutionBiasActivationForward,                                                                             \
    (dnn_handle handle, const void *alpha, dnn_object layout_x, const void *x, dnn_object layout_w, const void *w,     \
     dnn_object conv, int algo, void *workspace, size_t workspace_bytes, const void *alpha_add, dnn_object layout_add, \
     const void *add, dnn_object layout_bias, const void *bias, dnn_object activation, dnn_object layout_y, void *y))  \
  X(cudnnConvolutionForward, (dnn_handle handle, const void *alpha, dnn_object layout_x, const void *x,                \
                              dnn_object layout_w, const void *w, dnn_object conv, int algo, void *workspace,          \
                              size_t workspace_bytes, const void *beta, dnn_object layout_y, void *y))

typedef struct lt_functions {
  LT_FUNCTIONS(CUDA_POINTER)
} lt_functions;
typedef struct dnn_functions {
  DNN_FUNCTIONS(CUDA_POINTER)
} dnn_functions;

#endif

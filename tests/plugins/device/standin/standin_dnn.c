/* SPDX-License-Identifier: Apache-2.0
 * plugins/device/standin/standin_dnn.c - in the place of cuDNN: convolutions by their definition. */
#include <stdlib.h>
#include <string.h>

#include "plugins/cuda/cuda_libraries.h"
#include "plugins/device/standin/standin.h"

#define FUNCTION_ROW(name, parameters) STANDIN_API int name parameters;
DNN_FUNCTIONS(FUNCTION_ROW)
float dev_from_half(unsigned short h);
unsigned short dev_to_half(float f);

struct cudnnContext {
  cu_stream stream;
};

/* Any of the descriptors: dims of a tensor or filter; pads, strides, dilations, groups, mathematics. */
struct dnn_opaque {
  int type, d[8];
};

enum { DNN_NOT_SUPPORTED = 3000, WORKSPACE = 8192, BEST = 6 };

static int make(dnn_object *out) { return standin_make((void **)out, sizeof **out); }

int cudnnCreate(dnn_handle *handle) {
  int code = standin_gate(true);
  if (code) return code;
  *handle = calloc(1, sizeof **handle);
  standin_made(1);
  return OK;
}
int cudnnDestroy(dnn_handle handle) { return standin_drop(handle); }
int cudnnSetStream(dnn_handle handle, cu_stream stream) {
  handle->stream = stream;
  return standin_gate(true);
}
int cudnnCreateTensorDescriptor(dnn_object *desc) { return make(desc); }
int cudnnDestroyTensorDescriptor(dnn_object desc) { return standin_drop(desc); }
int cudnnCreateFilterDescriptor(dnn_object *desc) { return make(desc); }
int cudnnDestroyFilterDescriptor(dnn_object desc) { return standin_drop(desc); }
int cudnnCreateConvolutionDescriptor(dnn_object *desc) { return make(desc); }
int cudnnDestroyConvolutionDescriptor(dnn_object desc) { return standin_drop(desc); }
int cudnnCreateActivationDescriptor(dnn_object *desc) { return make(desc); }
int cudnnDestroyActivationDescriptor(dnn_object desc) { return standin_drop(desc); }
int cudnnSetActivationDescriptor(dnn_object desc, int mode, int nan, double limit) {
  *desc = (struct dnn_opaque){.d = {mode, nan, (int)limit}};
  return standin_gate(false);
}
int cudnnSetTensor4dDescriptor(dnn_object desc, int format, int type, int n, int c, int h, int w) {
  *desc = (struct dnn_opaque){type, {n, c, h, w}};
  return format == DNN_NCHW ? standin_gate(false) : DNN_NOT_SUPPORTED;
}
int cudnnSetFilter4dDescriptor(dnn_object desc, int type, int format, int o, int c, int h, int w) {
  return cudnnSetTensor4dDescriptor(desc, format, type, o, c, h, w);
}
int cudnnSetConvolution2dDescriptor(dnn_object desc, int pad_h, int pad_w, int stride_h, int stride_w, int dilation_h,
                                    int dilation_w, int mode, int type) {
  *desc = (struct dnn_opaque){type, {pad_h, pad_w, stride_h, stride_w, dilation_h, dilation_w, 1, 0}};
  return mode == DNN_CROSS_CORRELATION ? standin_gate(false) : DNN_NOT_SUPPORTED;
}
int cudnnSetConvolutionGroupCount(dnn_object desc, int groups) {
  desc->d[6] = groups;
  return standin_gate(false);
}
int cudnnSetConvolutionMathType(dnn_object desc, int math) {
  desc->d[7] = math;
  return standin_gate(false);
}

static bool fits(const struct dnn_opaque *x, const struct dnn_opaque *w, const struct dnn_opaque *conv,
                 const struct dnn_opaque *y) {
  bool right = x->d[0] == y->d[0] && x->d[1] == w->d[1] * conv->d[6] && y->d[1] == w->d[0] && x->type == y->type;
  for (int i = 0; i < 2; i++) {
    int span = conv->d[4 + i] * (w->d[2 + i] - 1) + 1;
    right &= y->d[2 + i] == (x->d[2 + i] + 2 * conv->d[i] - span) / conv->d[2 + i] + 1;
  }
  return right;
}

/* The first fails, the second computes with TF32, the third is right. */
int cudnnGetConvolutionForwardAlgorithm_v7(dnn_handle handle, dnn_object x, dnn_object w, dnn_object conv, dnn_object y,
                                           int n, int *out_n, dnn_perf *out) {
  (void)handle;
  int code = standin_gate(true);
  *out_n = 0;
  if (code || n < 3) return code ? code : INVALID_VALUE;
  if (!fits(x, w, conv, y)) return DNN_NOT_SUPPORTED;
  out[0] = (dnn_perf){.algo = 7, .status = DNN_NOT_SUPPORTED};
  out[1] = (dnn_perf){.algo = 5, .math = DNN_MATH_DEFAULT, .memory = WORKSPACE};
  out[2] = (dnn_perf){.algo = BEST, .math = conv->d[7], .memory = WORKSPACE};
  *out_n = 3;
  return OK;
}
int cudnnFindConvolutionForwardAlgorithm(dnn_handle handle, dnn_object x, dnn_object w, dnn_object conv, dnn_object y,
                                         int n, int *out_n, dnn_perf *out) {
  return cudnnGetConvolutionForwardAlgorithm_v7(handle, x, w, conv, y, n, out_n, out);
}
int cudnnGetConvolutionForwardWorkspaceSize(dnn_handle handle, dnn_object x, dnn_object w, dnn_object conv,
                                            dnn_object y, int algo, size_t *bytes) {
  (void)handle, (void)algo;
  *bytes = WORKSPACE;
  int code = standin_gate(true);
  return code ? code : fits(x, w, conv, y) ? OK : DNN_NOT_SUPPORTED;
}

typedef struct convolution {
  struct dnn_opaque x, w, conv, y;
  cu_address at_x, at_w, at_y, at_bias, at_add; /* 0: nothing is added */
  bool relu;
} convolution;
_Static_assert(sizeof(convolution) <= sizeof((standin_op){0}.arg), "it travels in an op");

static float load(const char *p, int64_t i, int type) {
  return type == DNN_HALF ? dev_from_half(((const unsigned short *)(const void *)p)[i])
                          : ((const float *)(const void *)p)[i];
}

/* The output at |at|: image, filter, row, column. */
static float one(const convolution *c, const char *x, const char *w, const int *at) {
  const int *xd = c->x.d, *wd = c->w.d, *v = c->conv.d;
  int first = at[1] / (wd[0] / v[6]) * wd[1];
  float sum = 0;
  for (int k = 0; k < wd[1]; k++)
    for (int i = 0; i < wd[2]; i++)
      for (int j = 0; j < wd[3]; j++) {
        int row = at[2] * v[2] - v[0] + i * v[4], column = at[3] * v[3] - v[1] + j * v[5];
        if (row < 0 || row >= xd[2] || column < 0 || column >= xd[3]) continue;
        sum += load(x, (((int64_t)at[0] * xd[1] + first + k) * xd[2] + row) * xd[3] + column, c->x.type) *
               load(w, (((int64_t)at[1] * wd[1] + k) * wd[2] + i) * wd[3] + j, c->x.type);
      }
  return sum;
}

static int convolve(void *arg) {
  const convolution *c = arg;
  const char *x = standin_begin(c->at_x), *w = standin_begin(c->at_w);
  const char *bias = c->at_bias ? standin_begin(c->at_bias) : NULL, *add = c->at_add ? standin_begin(c->at_add) : NULL;
  char *y = standin_begin(c->at_y);
  const int *d = c->y.d;
  if (!x || !w || !y || (c->at_bias && !bias) || (c->at_add && !add)) return ILLEGAL_ADDRESS;
  if (standin_is_idle()) return OK;
  for (int64_t i = 0; i < (int64_t)d[0] * d[1] * d[2] * d[3]; i++) {
    int at[4] = {(int)(i / d[3] / d[2] / d[1]), (int)(i / d[3] / d[2] % d[1]), (int)(i / d[3] % d[2]), (int)(i % d[3])};
    float v = one(c, x, w, at);
    if (bias) v += load(bias, at[1], c->y.type);
    if (add) v += load(add, i, c->y.type);
    if (c->relu && v < 0) v = 0;
    if (c->y.type == DNN_HALF)
      ((unsigned short *)(void *)y)[i] = dev_to_half(v);
    else
      ((float *)(void *)y)[i] = v;
  }
  return OK;
}

/* |c| without the descriptors, which are added here. */
static int put(dnn_handle handle, convolution c, dnn_object x, dnn_object w, dnn_object conv, dnn_object y, int algo,
               void *workspace, size_t workspace_bytes) {
  c.x = *x, c.w = *w, c.conv = *conv, c.y = *y;
  bool math = c.x.type == DNN_HALF ? c.conv.d[7] == DNN_MATH_TENSOR_OP || c.conv.d[7] == DNN_MATH_DEFAULT
                                   : c.conv.d[7] == DNN_MATH_FMA;
  if (!fits(&c.x, &c.w, &c.conv, &c.y) || !math || algo == 7 || workspace_bytes < WORKSPACE ||
      !standin_at((cu_address)(uintptr_t)workspace, workspace_bytes))
    return INVALID_VALUE;
  standin_op op = {.kind = OP_CALL, .call = convolve};
  memcpy(op.arg, &c, sizeof c);
  return standin_put(handle->stream, &op);
}

int cudnnConvolutionForward(dnn_handle handle, const void *alpha, dnn_object layout_x, const void *x,
                            dnn_object layout_w, const void *w, dnn_object conv, int algo, void *workspace,
                            size_t workspace_bytes, const void *beta, dnn_object layout_y, void *y) {
  int code = standin_gate(true);
  if (code) return code;
  if (*(const float *)alpha != 1 || *(const float *)beta != 0) return INVALID_VALUE;
  convolution c = {
      .at_x = (cu_address)(uintptr_t)x, .at_w = (cu_address)(uintptr_t)w, .at_y = (cu_address)(uintptr_t)y};
  return put(handle, c, layout_x, layout_w, conv, layout_y, algo, workspace, workspace_bytes);
}

int cudnnConvolutionBiasActivationForward(dnn_handle handle, const void *alpha, dnn_object layout_x, const void *x,
                                          dnn_object layout_w, const void *w, dnn_object conv, int algo,
                                          void *workspace, size_t workspace_bytes, const void *alpha_add,
                                          dnn_object layout_add, const void *add, dnn_object layout_bias,
                                          const void *bias, dnn_object activation, dnn_object layout_y, void *y) {
  int code = standin_gate(true);
  if (code) return code;
  const float added = *(const float *)alpha_add;
  const int *d = layout_bias->d;
  bool right = *(const float *)alpha == 1 && (added == 0 || added == 1) && add && bias;
  right &= d[0] == 1 && d[1] == layout_y->d[1] && d[2] == 1 && d[3] == 1 && layout_bias->type == layout_y->type;
  right &= memcmp(layout_add, layout_y, sizeof *layout_y) == 0;
  right &= activation->d[0] == DNN_RELU && activation->d[1] == DNN_PROPAGATE_NAN;
  if (!right) return INVALID_VALUE;
  convolution c = {.at_x = (cu_address)(uintptr_t)x,
                   .at_w = (cu_address)(uintptr_t)w,
                   .at_y = (cu_address)(uintptr_t)y,
                   .at_bias = (cu_address)(uintptr_t)bias,
                   .at_add = added != 0 ? (cu_address)(uintptr_t)add : 0,
                   .relu = true};
  return put(handle, c, layout_x, layout_w, conv, layout_y, algo, workspace, workspace_bytes);
}

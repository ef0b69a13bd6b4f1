/* SPDX-License-Identifier: Apache-2.0
 * cuda/cuda_conv.c - convolutions by cuDNN. */
#include <limits.h>
#include <string.h>

#include "plugins/cuda/cuda.h"

/* A convolution without its addresses; compared as bytes. */
typedef struct shape {
  int64_t dtype, n, c, h, w, o, kh, kw, group, stride[2], dilation[2], pads[4], oh, ow;
} shape;

struct cuda_conv_plan {
  cuda_conv_plan *next;
  shape key;
  bool taken;
  dnn_object x, w, y, conv;
  int algo;
};

static shape key_of(const dev_conv *c) {
  shape s = {c->dtype, c->n, c->c, c->h, c->w, c->o, c->kh, c->kw, c->group, .oh = c->oh, .ow = c->ow};
  memcpy(s.stride, c->stride, sizeof s.stride);
  memcpy(s.dilation, c->dilation, sizeof s.dilation);
  memcpy(s.pads, c->pads, sizeof s.pads);
  return s;
}

static cuda_conv_plan *find(cuda_libraries *l, const shape *key) {
  cuda_conv_plan *p = l->convs[cuda_bucket(key, sizeof *key)];
  while (p && memcmp(&p->key, key, sizeof *key) != 0) p = p->next;
  return p;
}

/* The library pads both sides alike. Groups of few channels and small ones are our kernels'. */
static bool is_large(const dev_conv *c) {
  int64_t channels = c->group > 0 ? c->c / c->group : 0;
  double work =
      (double)c->n * (double)c->o * (double)c->oh * (double)c->ow * (double)channels * (double)(c->kh * c->kw);
  return c->pads[0] == c->pads[2] && c->pads[1] == c->pads[3] && (c->group == 1 || channels >= 16) && work >= 1 << 22;
}

static int describe(const dev_device *d, cuda_conv_plan *p, const dev_conv *c) {
  int type = c->dtype == OX_F16 ? DNN_HALF : DNN_FLOAT;
  int math = c->dtype == OX_F16 ? DNN_MATH_TENSOR_OP : d->choice.tf32 ? DNN_MATH_DEFAULT : DNN_MATH_FMA;
  int code = dnn.cudnnCreateTensorDescriptor(&p->x);
  if (!code) code = dnn.cudnnCreateTensorDescriptor(&p->y);
  if (!code) code = dnn.cudnnCreateFilterDescriptor(&p->w);
  if (!code) code = dnn.cudnnCreateConvolutionDescriptor(&p->conv);
  if (!code) code = dnn.cudnnSetTensor4dDescriptor(p->x, DNN_NCHW, type, (int)c->n, (int)c->c, (int)c->h, (int)c->w);
  if (!code) code = dnn.cudnnSetTensor4dDescriptor(p->y, DNN_NCHW, type, (int)c->n, (int)c->o, (int)c->oh, (int)c->ow);
  if (!code)
    code =
        dnn.cudnnSetFilter4dDescriptor(p->w, type, DNN_NCHW, (int)c->o, (int)(c->c / c->group), (int)c->kh, (int)c->kw);
  if (!code)
    code = dnn.cudnnSetConvolution2dDescriptor(p->conv, (int)c->pads[0], (int)c->pads[1], (int)c->stride[0],
                                               (int)c->stride[1], (int)c->dilation[0], (int)c->dilation[1],
                                               DNN_CROSS_CORRELATION, DNN_FLOAT);
  if (!code) code = dnn.cudnnSetConvolutionGroupCount(p->conv, (int)c->group);
  return code ? code : dnn.cudnnSetConvolutionMathType(p->conv, math);
}

/* The first algorithm of |perf|, best first, that works and fits. float32 stays float32 whatever it proposes. */
static bool pick(const dev_device *d, cuda_conv_plan *p, const dnn_perf *perf, int n, size_t most, size_t *out_bytes) {
  bool exact = p->key.dtype == OX_F32 && !d->choice.tf32;
  for (int i = 0; i < n; i++) {
    if (perf[i].status || perf[i].memory > most) continue;
    p->algo = perf[i].algo;
    if (dnn.cudnnSetConvolutionMathType(p->conv, exact ? DNN_MATH_FMA : perf[i].math)) continue;
    if (dnn.cudnnGetConvolutionForwardWorkspaceSize(d->libraries.dnn, p->x, p->w, p->conv, p->y, p->algo, out_bytes))
      continue;
    if (*out_bytes <= most) return true;
  }
  return false;
}

static bool choose(dev_device *d, cuda_conv_plan *p) {
  enum { MOST = 16 };
  cuda_libraries *l = &d->libraries;
  const size_t most = d->choice.max_workspace ? (size_t)512 << 20 : (size_t)32 << 20;
  dnn_perf perf[MOST] = {{0}};
  int n = 0, code = 0;
  size_t bytes = 0;
  if (d->choice.search == CUDA_SEARCH_DEFAULT) {
    perf[0].algo = DNN_ALGO_IMPLICIT_PRECOMP_GEMM, n = 1;
    perf[0].math = p->key.dtype == OX_F16 ? DNN_MATH_TENSOR_OP : d->choice.tf32 ? DNN_MATH_DEFAULT : DNN_MATH_FMA;
  } else if (d->choice.search == CUDA_SEARCH_HEURISTIC) {
    code = dnn.cudnnGetConvolutionForwardAlgorithm_v7(l->dnn, p->x, p->w, p->conv, p->y, MOST, &n, perf);
  } else {
    code = dnn.cudnnFindConvolutionForwardAlgorithm(l->dnn, p->x, p->w, p->conv, p->y, MOST, &n, perf);
  }
  if (code || !pick(d, p, perf, n, most, &bytes)) return false;
  if (bytes > l->workspace_bytes) l->workspace_bytes = bytes;
  return true;
}

static void drop_plan(const dev_device *d, cuda_conv_plan *p) {
  if (p->x) dnn.cudnnDestroyTensorDescriptor(p->x);
  if (p->y) dnn.cudnnDestroyTensorDescriptor(p->y);
  if (p->w) dnn.cudnnDestroyFilterDescriptor(p->w);
  if (p->conv) dnn.cudnnDestroyConvolutionDescriptor(p->conv);
  dev_drop(&d->host, p, sizeof *p);
}

/* With the lock. */
static ox_status *prepare(dev_device *d, const dev_conv *c, bool *out_taken) {
  cuda_libraries *l = &d->libraries;
  shape key = key_of(c);
  if (l->has_dnn == CUDA_NOT_ASKED)
    l->has_dnn = cuda_load_dnn() && !dnn.cudnnCreate(&l->dnn) ? CUDA_PRESENT : CUDA_ABSENT;
  if (l->has_dnn == CUDA_ABSENT) return NULL;
  cuda_conv_plan *p = find(l, &key);
  if (!p) {
    if (!(p = dev_new(&d->host, sizeof *p))) return dev_no_memory(&d->host);
    p->key = key;
    p->taken = !describe(d, p, c) && !dnn.cudnnSetStream(l->dnn, d->copies) && choose(d, p);
    cuda_conv_plan **bucket = &l->convs[cuda_bucket(&key, sizeof key)];
    p->next = *bucket;
    *bucket = p;
  }
  *out_taken = p->taken;
  return NULL;
}

static ox_status *takes_within(dev_device *d, const dev_conv *c, bool *out_taken) {
  pthread_mutex_lock(&d->libraries.lock);
  ox_status *st = prepare(d, c, out_taken);
  pthread_mutex_unlock(&d->libraries.lock);
  return st;
}

static bool fits_int(const dev_conv *c) {
  const int64_t all[] = {c->n, c->c, c->h, c->w, c->o, c->oh, c->ow, c->kh, c->kw, c->group, c->pads[0], c->pads[1]};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (all[i] < 0 || all[i] > INT_MAX) return false;
  return c->stride[0] <= INT_MAX && c->stride[1] <= INT_MAX && c->dilation[0] <= INT_MAX && c->dilation[1] <= INT_MAX;
}

ox_status *cuda_conv_takes(dev_device *d, const dev_conv *c, bool *out_taken) {
  *out_taken = false;
  if (!fits_int(c) || !is_large(c) || (c->dtype != OX_F32 && c->dtype != OX_F16)) return NULL;
  CUDA_WITHIN(d, takes_within(d, c, out_taken));
}

static ox_status *conv_within(dev_queue *q, const dev_conv *c) {
  dev_device *d = q->device;
  cuda_libraries *l = &d->libraries;
  const float one = 1, zero = 0;
  shape key = key_of(c);
  void *workspace;
  size_t bytes;
  cuda_record_recover(q);
  ox_status *st = cuda_workspace(q, &workspace, &bytes);
  if (st) return st;
  pthread_mutex_lock(&l->lock); /* the handle has one stream at a time */
  const cuda_conv_plan *p = find(l, &key);
  bool prepared = p && p->taken;
  int code = prepared ? dnn.cudnnSetStream(l->dnn, q->stream) : 0;
  if (prepared && !code)
    code = dnn.cudnnConvolutionForward(l->dnn, &one, p->x, c->x, p->w, c->weights, p->conv, p->algo, workspace, bytes,
                                       &zero, p->y, c->y);
  pthread_mutex_unlock(&l->lock);
  if (!prepared) return dev_fail(&d->host, OX_INVALID_ARGUMENT, "CUDA: a convolution that nobody prepared");
  return code ? dev_fail(&d->host, OX_FAIL, "CUDA: cudnnConvolutionForward: status %d", code) : NULL;
}

ox_status *cuda_conv(dev_queue *q, const dev_conv *c) { CUDA_WITHIN(q->device, conv_within(q, c)); }

void cuda_conv_release(dev_device *d) {
  cuda_libraries *l = &d->libraries;
  for (size_t i = 0; i < CUDA_BUCKETS; i++)
    for (cuda_conv_plan *p = l->convs[i], *next; p; p = next) {
      next = p->next;
      drop_plan(d, p);
    }
  if (l->dnn) dnn.cudnnDestroy(l->dnn);
}

/* SPDX-License-Identifier: Apache-2.0
 * cuda/cuda_conv.c - convolutions by cuDNN, and those of 1 x 1 by cuBLASLt where that is faster. */
#include <limits.h>
#include <string.h>

#include "plugins/cuda/cuda.h"

/* A convolution without its addresses; compared as bytes. */
typedef struct shape {
  int64_t dtype, n, c, h, w, o, kh, kw, group, stride[2], dilation[2], pads[4], oh, ow, with_add, fused;
} shape;

struct cuda_conv_plan {
  cuda_conv_plan *next;
  shape key;
  bool taken, product; /* product: computed by cuBLASLt */
  dnn_object x, w, y, conv;
  dnn_object bias, relu; /* if fused */
  int algo, math;
  size_t bytes; /* of workspace */
};

static shape key_of(const dev_conv *c) {
  shape s = {c->dtype, c->n, c->c, c->h, c->w, c->o, c->kh, c->kw, c->group, .oh = c->oh, .ow = c->ow};
  s.with_add = c->after.with_add, s.fused = c->after.with_bias;
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

/* Is the convolution one for the library? It only has equal pads on both sides; our kernels do small ones and groups of
 * few channels. */
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

/* Picks the first algorithm of |perf|, which is sorted best first, that works within |most| bytes of workspace. Without
 * tf32, float32 is computed as such whatever math type the library proposes. */
static bool pick(const dev_device *d, cuda_conv_plan *p, const dnn_perf *perf, int n, size_t most) {
  bool exact = p->key.dtype == OX_F32 && !d->choice.tf32;
  for (int i = 0; i < n; i++) {
    if (perf[i].status || perf[i].memory > most) continue;
    p->algo = perf[i].algo, p->math = exact ? DNN_MATH_FMA : perf[i].math;
    if (dnn.cudnnSetConvolutionMathType(p->conv, p->math)) continue;
    if (dnn.cudnnGetConvolutionForwardWorkspaceSize(d->libraries.dnn, p->x, p->w, p->conv, p->y, p->algo, &p->bytes))
      continue;
    if (p->bytes <= most) return true;
  }
  return false;
}

static bool choose(dev_device *d, cuda_conv_plan *p) {
  enum { MOST = 16 };
  cuda_libraries *l = &d->libraries;
  const size_t most = d->choice.max_workspace ? (size_t)512 << 20 : (size_t)32 << 20;
  dnn_perf perf[MOST] = {{0}};
  int n = 0, code = 0;
  if (d->choice.search == CUDA_SEARCH_DEFAULT) {
    perf[0].algo = DNN_ALGO_IMPLICIT_PRECOMP_GEMM, n = 1;
    perf[0].math = p->key.dtype == OX_F16 ? DNN_MATH_TENSOR_OP : d->choice.tf32 ? DNN_MATH_DEFAULT : DNN_MATH_FMA;
  } else if (d->choice.search == CUDA_SEARCH_HEURISTIC) {
    code = dnn.cudnnGetConvolutionForwardAlgorithm_v7(l->dnn, p->x, p->w, p->conv, p->y, MOST, &n, perf);
  } else {
    code = dnn.cudnnFindConvolutionForwardAlgorithm(l->dnn, p->x, p->w, p->conv, p->y, MOST, &n, perf);
  }
  return !code && pick(d, p, perf, n, most);
}

/* Runs the convolution on the handle's stream. */
static int convolve(const dev_device *d, const cuda_conv_plan *p, const dev_conv *c, void *workspace, size_t bytes) {
  const float one = 1, zero = 0;
  const bool add = p->key.with_add;
  if (p->key.fused)
    return dnn.cudnnConvolutionBiasActivationForward(
        d->libraries.dnn, &one, p->x, c->x, p->w, c->weights, p->conv, p->algo, workspace, bytes, add ? &one : &zero,
        p->y, add ? c->after.add : c->y, p->bias, c->after.bias, p->relu, p->y, c->y);
  return dnn.cudnnConvolutionForward(d->libraries.dnn, &one, p->x, c->x, p->w, c->weights, p->conv, p->algo, workspace,
                                     bytes, &zero, p->y, c->y);
}

/* ---- trials ---- */

enum { X, WEIGHTS, Y, BIAS, ADD, WORKSPACE };

static int attempt(const cuda_trial *t, const void *what) {
  const cuda_conv_plan *p = what;
  const dev_conv c = {.x = t->buffers[X],
                      .weights = t->buffers[WEIGHTS],
                      .y = t->buffers[Y],
                      .after = {.bias = t->buffers[BIAS], .add = t->buffers[ADD]}};
  return convolve(t->device, p, &c, t->buffers[WORKSPACE], p->bytes);
}

/* The plan's time in milliseconds; below 0: the library cannot execute it. */
static float time_of(dev_device *d, const cuda_conv_plan *p) {
  const shape *s = &p->key;
  const size_t each = s->dtype == OX_F16 ? 2 : 4, y = (size_t)(s->n * s->o * s->oh * s->ow) * each;
  const size_t bytes[] = {[X] = (size_t)(s->n * s->c * s->h * s->w) * each,
                          [WEIGHTS] = (size_t)(s->o * (s->c / s->group) * s->kh * s->kw) * each,
                          [Y] = y,
                          [BIAS] = (size_t)s->o * each,
                          [ADD] = s->with_add ? y : 0,
                          [WORKSPACE] = p->bytes};
  cuda_trial t;
  float ms = cuda_trial_begin(d, bytes, WORKSPACE + 1, &t) ? cuda_trial_run(&t, attempt, p) : -1;
  cuda_trial_end(&t);
  return ms;
}

/* ---- 1 x 1 as a product: Y = weights X for each image ---- */

static bool is_product(const dev_conv *c) {
  return c->group == 1 && c->kh == 1 && c->kw == 1 && c->stride[0] == 1 && c->stride[1] == 1 && !c->pads[0] &&
         !c->pads[1] && !c->pads[2] && !c->pads[3];
}

static dev_gemm product_of(const dev_conv *c) {
  return (dev_gemm){.dtype = c->dtype,
                    .batch = c->n,
                    .m = c->o,
                    .n = c->oh * c->ow,
                    .k = c->c,
                    .stride_b = c->c * c->oh * c->ow,
                    .stride_c = c->o * c->oh * c->ow,
                    .a = c->weights,
                    .b = c->x,
                    .c = c->y};
}

static ox_status *try_product(dev_device *d, const dev_conv *c, cuda_conv_plan *p) {
  const dev_gemm g = product_of(c);
  bool taken = false;
  if (!is_product(c) || d->choice.search != CUDA_SEARCH_EXHAUSTIVE) return NULL;
  ox_status *st = cuda_gemm_prepare(d, &g, &taken);
  if (st || !taken) return st;
  float product = cuda_gemm_ms(d, &g), conv = time_of(d, p);
  p->product = product >= 0 && conv >= 0 && product < conv;
  return NULL;
}

/* ---- plans ---- */

static void drop_plan(const dev_device *d, cuda_conv_plan *p) {
  if (p->x) dnn.cudnnDestroyTensorDescriptor(p->x);
  if (p->y) dnn.cudnnDestroyTensorDescriptor(p->y);
  if (p->w) dnn.cudnnDestroyFilterDescriptor(p->w);
  if (p->conv) dnn.cudnnDestroyConvolutionDescriptor(p->conv);
  if (p->bias) dnn.cudnnDestroyTensorDescriptor(p->bias);
  if (p->relu) dnn.cudnnDestroyActivationDescriptor(p->relu);
  dev_drop(&d->host, p, sizeof *p);
}

static int describe_fused(cuda_conv_plan *p, const dev_conv *c) {
  int type = c->dtype == OX_F16 ? DNN_HALF : DNN_FLOAT;
  int code = dnn.cudnnCreateTensorDescriptor(&p->bias);
  if (!code) code = dnn.cudnnCreateActivationDescriptor(&p->relu);
  if (!code) code = dnn.cudnnSetTensor4dDescriptor(p->bias, DNN_NCHW, type, 1, (int)c->o, 1, 1);
  return code ? code : dnn.cudnnSetActivationDescriptor(p->relu, DNN_RELU, DNN_PROPAGATE_NAN, 0);
}

static ox_status *plan_of(dev_device *d, const dev_conv *c, const cuda_conv_plan **out);

/* Plans a fused convolution with the algorithm of the plain one. Whether the library supports that is found by trying.
 */
static ox_status *prepare_fused(dev_device *d, const dev_conv *c, cuda_conv_plan *p) {
  const cuda_conv_plan *plain;
  dev_conv without = *c;
  memset(&without.after, 0, sizeof without.after);
  ox_status *st = plan_of(d, &without, &plain);
  if (st || !plain->taken || plain->product) return st;
  p->algo = plain->algo, p->math = plain->math, p->bytes = plain->bytes;
  p->taken = !describe(d, p, c) && !describe_fused(p, c) && !dnn.cudnnSetConvolutionMathType(p->conv, p->math) &&
             !dnn.cudnnSetStream(d->libraries.dnn, d->copies) && time_of(d, p) >= 0;
  return NULL;
}

static ox_status *prepare_plain(dev_device *d, const dev_conv *c, cuda_conv_plan *p) {
  p->taken = !describe(d, p, c) && !dnn.cudnnSetStream(d->libraries.dnn, d->copies) && choose(d, p);
  return p->taken ? try_product(d, c, p) : NULL;
}

/* Finds or makes the plan; the caller holds the lock. */
static ox_status *plan_of(dev_device *d, const dev_conv *c, const cuda_conv_plan **out) {
  cuda_libraries *l = &d->libraries;
  shape key = key_of(c);
  cuda_conv_plan *p = find(l, &key);
  *out = p;
  if (p) return NULL;
  if (!(p = dev_new(&d->host, sizeof *p))) return dev_no_memory(&d->host);
  p->key = key;
  ox_status *st = key.fused ? prepare_fused(d, c, p) : prepare_plain(d, c, p);
  if (st) {
    drop_plan(d, p);
    return st;
  }
  if (p->taken && p->bytes > l->workspace_bytes) l->workspace_bytes = p->bytes;
  cuda_conv_plan **bucket = &l->convs[cuda_bucket(&key, sizeof key)];
  p->next = *bucket, *bucket = p;
  *out = p;
  return NULL;
}

/* The caller holds the lock. */
static ox_status *prepare(dev_device *d, const dev_conv *c, bool *out_taken) {
  cuda_libraries *l = &d->libraries;
  const cuda_conv_plan *p;
  if (l->has_dnn == CUDA_NOT_ASKED)
    l->has_dnn = cuda_load_dnn() && !dnn.cudnnCreate(&l->dnn) ? CUDA_PRESENT : CUDA_ABSENT;
  if (l->has_dnn == CUDA_ABSENT) return NULL;
  ox_status *st = plan_of(d, c, &p);
  *out_taken = !st && p->taken;
  return st;
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
  const dev_after *after = &c->after; /* the library fuses bias and Relu together, optionally with an addend */
  *out_taken = false;
  if (after->with_bias != after->relu || (after->with_add && !after->relu)) return NULL;
  if (!fits_int(c) || !is_large(c) || (c->dtype != OX_F32 && c->dtype != OX_F16)) return NULL;
  CUDA_WITHIN(d, takes_within(d, c, out_taken));
}

static ox_status *conv_within(dev_queue *q, const dev_conv *c) {
  dev_device *d = q->device;
  cuda_libraries *l = &d->libraries;
  const shape key = key_of(c);
  void *workspace;
  size_t bytes;
  cuda_record_recover(q);
  ox_status *st = cuda_workspace(q, &workspace, &bytes);
  if (st) return st;
  pthread_mutex_lock(&l->lock); /* a handle has one stream at a time */
  const cuda_conv_plan *p = find(l, &key);
  bool prepared = p && p->taken;
  int code = 0;
  if (prepared && p->product) {
    const dev_gemm g = product_of(c);
    code = cuda_gemm_put(d, &g, workspace, bytes, q->stream, &prepared);
  } else if (prepared) {
    code = dnn.cudnnSetStream(l->dnn, q->stream);
    if (!code) code = convolve(d, p, c, workspace, bytes);
  }
  pthread_mutex_unlock(&l->lock);
  if (!prepared) return dev_fail(&d->host, OX_INVALID_ARGUMENT, "CUDA: a convolution that nobody prepared");
  return code ? dev_fail(&d->host, OX_FAIL, "CUDA: a convolution of cuDNN: status %d", code) : NULL;
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

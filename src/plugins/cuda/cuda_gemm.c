/* SPDX-License-Identifier: Apache-2.0
 * cuda/cuda_gemm.c - products by cuBLASLt, which is column-major: a row-major C = A B is its C' = B' A', where a
 * row-major matrix and its column-major transpose are the same bytes. */
#include <string.h>

#include "plugins/cuda/cuda.h"

/* A product without its addresses; zeroed before it is filled, for it is compared as bytes. */
typedef struct shape {
  int64_t dtype, batch, m, n, k, trans_a, trans_b, stride_a, stride_b, stride_c, with_bias, with_add;
} shape;

struct cuda_gemm_plan {
  cuda_gemm_plan *next;
  shape key;
  bool taken;
  lt_object desc, first, second, result; /* first: B */
  lt_heuristic aligned, any;             /* algorithms for addresses that are multiples of 16, and for any */
};

static shape key_of(const dev_gemm *g) {
  return (shape){g->dtype,           g->batch,         g->m,        g->n,        g->k,
                 g->trans_a,         g->trans_b,       g->stride_a, g->stride_b, g->stride_c,
                 g->after.with_bias, g->after.with_add};
}

static cuda_gemm_plan *find(cuda_libraries *l, const shape *key) {
  cuda_gemm_plan *p = l->gemms[cuda_bucket(key, sizeof *key)];
  while (p && memcmp(&p->key, key, sizeof *key) != 0) p = p->next;
  return p;
}

/* Small products are bound by memory or launch overhead; our kernels, which fuse any tail, do those. */
static bool is_large(const dev_gemm *g) {
  double work = (double)g->batch * (double)g->m * (double)g->n * (double)g->k;
  return g->m >= 16 && g->n >= 16 && g->k >= 16 && work >= (g->dtype == OX_F16 ? 1 << 18 : 1 << 21);
}

static int matrix(lt_object *out, const dev_gemm *g, int64_t rows, int64_t columns, int64_t stride) {
  int32_t batch = (int32_t)g->batch;
  int code = lt.cublasLtMatrixLayoutCreate(out, g->dtype == OX_F16 ? LT_R_16F : LT_R_32F, (uint64_t)rows,
                                           (uint64_t)columns, rows);
  if (!code) code = lt.cublasLtMatrixLayoutSetAttribute(*out, LT_LAYOUT_BATCH_COUNT, &batch, sizeof batch);
  if (!code) code = lt.cublasLtMatrixLayoutSetAttribute(*out, LT_LAYOUT_BATCH_OFFSET, &stride, sizeof stride);
  return code;
}

static int describe(const dev_device *d, cuda_gemm_plan *p, const dev_gemm *g) {
  const int32_t first = g->trans_b, second = g->trans_a; /* CUBLAS_OP_N, CUBLAS_OP_T */
  bool tf32 = d->choice.tf32 && g->dtype == OX_F32;
  int code = lt.cublasLtMatmulDescCreate(&p->desc, tf32 ? LT_COMPUTE_32F_TF32 : LT_COMPUTE_32F, LT_R_32F);
  if (!code) code = lt.cublasLtMatmulDescSetAttribute(p->desc, LT_DESC_TRANS_A, &first, sizeof first);
  if (!code) code = lt.cublasLtMatmulDescSetAttribute(p->desc, LT_DESC_TRANS_B, &second, sizeof second);
  if (!code && g->after.with_bias) {
    const int32_t epilogue = LT_EPILOGUE_BIAS;
    code = lt.cublasLtMatmulDescSetAttribute(p->desc, LT_DESC_EPILOGUE, &epilogue, sizeof epilogue);
  }
  if (!code) code = matrix(&p->first, g, g->trans_b ? g->k : g->n, g->trans_b ? g->n : g->k, g->stride_b);
  if (!code) code = matrix(&p->second, g, g->trans_a ? g->m : g->k, g->trans_a ? g->k : g->m, g->stride_a);
  return code ? code : matrix(&p->result, g, g->n, g->m, g->stride_c);
}

/* The library's first choice within the workspace that NVIDIA recommends. False: it has none. */
static bool choose(const dev_device *d, const cuda_gemm_plan *p, uint32_t alignment, lt_heuristic *out) {
  lt_object preference = NULL;
  const uint64_t most = d->sm >= 90 ? 32u << 20 : 8u << 20;
  int n = 0, code = lt.cublasLtMatmulPreferenceCreate(&preference);
  if (code) return false;
  code = lt.cublasLtMatmulPreferenceSetAttribute(preference, LT_PREFERENCE_WORKSPACE, &most, sizeof most);
  for (int i = 0; i < 4 && !code; i++)
    code =
        lt.cublasLtMatmulPreferenceSetAttribute(preference, LT_PREFERENCE_ALIGNMENT + i, &alignment, sizeof alignment);
  if (!code)
    code = lt.cublasLtMatmulAlgoGetHeuristic(d->libraries.lt, p->desc, p->first, p->second, p->result, p->result,
                                             preference, 1, out, &n);
  lt.cublasLtMatmulPreferenceDestroy(preference);
  return !code && n > 0 && !out->state;
}

/* Enqueues a product. The bias address is stored in the plan's descriptor, so calls of one plan must be serialised. */
static int multiply(const dev_device *d, const cuda_gemm_plan *p, const dev_gemm *g, const lt_heuristic *how,
                    void *workspace, size_t bytes, cu_stream stream) {
  const float one = 1, beta = p->key.with_add ? 1 : 0;
  int code = 0;
  if (p->key.with_bias)
    code = lt.cublasLtMatmulDescSetAttribute(p->desc, LT_DESC_BIAS, &g->after.bias, sizeof g->after.bias);
  if (code) return code;
  return lt.cublasLtMatmul(d->libraries.lt, p->desc, &one, g->b, p->first, g->a, p->second, &beta,
                           p->key.with_add ? g->after.add : g->c, p->result, g->c, p->result, how->algo, workspace,
                           bytes, stream);
}

static void drop_plan(const dev_device *d, cuda_gemm_plan *p) {
  if (p->desc) lt.cublasLtMatmulDescDestroy(p->desc);
  if (p->first) lt.cublasLtMatrixLayoutDestroy(p->first);
  if (p->second) lt.cublasLtMatrixLayoutDestroy(p->second);
  if (p->result) lt.cublasLtMatrixLayoutDestroy(p->result);
  dev_drop(&d->host, p, sizeof *p);
}

static void need(cuda_libraries *l, size_t bytes) {
  if (bytes > l->workspace_bytes) l->workspace_bytes = bytes;
}

/* The caller holds the lock. What the library cannot do is left to our kernels, as is Relu, since the library's turns
 * NaN into 0. */
static ox_status *prepare(dev_device *d, const dev_gemm *g, bool *out_taken) {
  cuda_libraries *l = &d->libraries;
  shape key = key_of(g);
  if (l->has_lt == CUDA_NOT_ASKED)
    l->has_lt = cuda_load_lt(d->driver / 1000) && !lt.cublasLtCreate(&l->lt) ? CUDA_PRESENT : CUDA_ABSENT;
  if (l->has_lt == CUDA_ABSENT) return NULL;
  cuda_gemm_plan *p = find(l, &key);
  if (!p) {
    if (!(p = dev_new(&d->host, sizeof *p))) return dev_no_memory(&d->host);
    p->key = key;
    p->taken = !describe(d, p, g) && choose(d, p, 16, &p->aligned) && choose(d, p, g->dtype == OX_F16 ? 2 : 4, &p->any);
    if (p->taken) need(l, p->aligned.workspace_bytes), need(l, p->any.workspace_bytes);
    cuda_gemm_plan **bucket = &l->gemms[cuda_bucket(&key, sizeof key)];
    p->next = *bucket;
    *bucket = p;
  }
  *out_taken = p->taken;
  return NULL;
}

ox_status *cuda_gemm_prepare(dev_device *d, const dev_gemm *g, bool *out_taken) {
  *out_taken = false;
  if (!is_large(g) || g->after.relu || g->batch > INT32_MAX || (g->dtype != OX_F32 && g->dtype != OX_F16)) return NULL;
  return prepare(d, g, out_taken);
}

static ox_status *takes_within(dev_device *d, const dev_gemm *g, bool *out_taken) {
  pthread_mutex_lock(&d->libraries.lock);
  ox_status *st = cuda_gemm_prepare(d, g, out_taken);
  pthread_mutex_unlock(&d->libraries.lock);
  return st;
}

ox_status *cuda_gemm_takes(dev_device *d, const dev_gemm *g, bool *out_taken) {
  *out_taken = false;
  CUDA_WITHIN(d, takes_within(d, g, out_taken));
}

int cuda_gemm_put(dev_device *d, const dev_gemm *g, void *workspace, size_t bytes, cu_stream stream,
                  bool *out_prepared) {
  const shape key = key_of(g);
  const uintptr_t addresses = (uintptr_t)g->a | (uintptr_t)g->b | (uintptr_t)g->c |
                              (g->after.with_bias ? (uintptr_t)g->after.bias : 0) |
                              (g->after.with_add ? (uintptr_t)g->after.add : 0);
  const cuda_gemm_plan *p = find(&d->libraries, &key);
  *out_prepared = p && p->taken;
  return *out_prepared ? multiply(d, p, g, addresses & 15 ? &p->any : &p->aligned, workspace, bytes, stream) : 0;
}

static ox_status *gemm_within(dev_queue *q, const dev_gemm *g) {
  dev_device *d = q->device;
  bool prepared;
  void *workspace;
  size_t bytes;
  cuda_record_recover(q);
  ox_status *st = cuda_workspace(q, &workspace, &bytes);
  if (st) return st;
  pthread_mutex_lock(&d->libraries.lock);
  int code = cuda_gemm_put(d, g, workspace, bytes, q->stream, &prepared);
  pthread_mutex_unlock(&d->libraries.lock);
  if (!prepared) return dev_fail(&d->host, OX_INVALID_ARGUMENT, "CUDA: a product that nobody prepared");
  return code ? dev_fail(&d->host, OX_FAIL, "CUDA: cublasLtMatmul: status %d", code) : NULL;
}

ox_status *cuda_gemm(dev_queue *q, const dev_gemm *g) { CUDA_WITHIN(q->device, gemm_within(q, g)); }

/* ---- timing ---- */

enum { A, B, C, WORKSPACE };

static int attempt(const cuda_trial *t, const void *what) {
  const cuda_gemm_plan *p = what;
  const dev_gemm g = {.a = t->buffers[A], .b = t->buffers[B], .c = t->buffers[C]};
  return multiply(t->device, p, &g, &p->aligned, t->buffers[WORKSPACE], p->aligned.workspace_bytes, t->device->copies);
}

float cuda_gemm_ms(dev_device *d, const dev_gemm *g) {
  const shape key = key_of(g);
  const cuda_gemm_plan *p = find(&d->libraries, &key);
  const size_t each = g->dtype == OX_F16 ? 2 : 4, batches = (size_t)g->batch - 1;
  if (!p || !p->taken) return -1;
  const size_t bytes[] = {[A] = ((size_t)g->stride_a * batches + (size_t)(g->m * g->k)) * each,
                          [B] = ((size_t)g->stride_b * batches + (size_t)(g->k * g->n)) * each,
                          [C] = ((size_t)g->stride_c * batches + (size_t)(g->m * g->n)) * each,
                          [WORKSPACE] = p->aligned.workspace_bytes};
  cuda_trial t;
  float ms = cuda_trial_begin(d, bytes, WORKSPACE + 1, &t) ? cuda_trial_run(&t, attempt, p) : -1;
  cuda_trial_end(&t);
  return ms;
}

void cuda_gemm_release(dev_device *d) {
  cuda_libraries *l = &d->libraries;
  for (size_t i = 0; i < CUDA_BUCKETS; i++)
    for (cuda_gemm_plan *p = l->gemms[i], *next; p; p = next) {
      next = p->next;
      drop_plan(d, p);
    }
  if (l->lt) lt.cublasLtDestroy(l->lt);
}

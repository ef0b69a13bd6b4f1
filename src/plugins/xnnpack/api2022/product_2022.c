/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/api2022/product_2022.c - see xp_library.h: products of two inputs, which the library of 2022 lacks. Each one
 * is a fully connected operator that lives for one call, in memory of the call: its weights, the right factor, are
 * packed then, which takes the time of about 40 rows. For a few rows a loop of our own takes less. */
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "../xp_library.h"
#include "../xp_matrix.h"
#include "depth_2022.h"

enum {
  FEW = 12,          /* rows for which packing would cost more than the product */
  STRIP = 32,        /* columns that our loop sums up together */
  PANEL = 16,        /* the library packs whole panels of columns */
  OBJECTS = 1 << 13, /* bytes of an operator without its weights, generously */
  ALIGN = 64
};

/* |count| products of m x k by k x n. */
typedef struct products {
  const xp_call *call;
  size_t count, m, k, n;
  bool turned; /* the right factors are n x k */
  size_t room; /* bytes per thread */
  pthreadpool_t pool;
  _Atomic(enum xnn_status) answer; /* the first that is not success */
} products;

static size_t batch_of(const xp_dims *d) {
  size_t n = 1;
  for (int i = 0; i < d->rank - 2; i++) n *= (size_t)d->d[i];
  return n;
}

/* A right factor that all products share is multiplied by all rows at once. */
static void measure(const xp_step *s, const xp_call *c, products *p) {
  const xp_dims *a = c->in_dims[0], *b = c->in_dims[1];
  size_t m = (size_t)a->d[a->rank - 2], count = batch_of(c->out_dims);
  bool shared = batch_of(b) == 1 && batch_of(a) == count;
  p->call = c, p->k = (size_t)a->d[a->rank - 1], p->n = (size_t)xp_product_columns(s, b);
  p->turned = s->flags;
  p->count = shared ? 1 : count, p->m = shared ? m * count : m;
}

/* Products are computed side by side, or one after the other by all threads if they are fewer. */
static size_t at_once(const products *p) {
  uint32_t threads = p->call->ep->pool.threads;
  return p->count >= threads ? threads : 1;
}

/* The memory of one operator. A result that overflows is SIZE_MAX. */
static size_t operator_bytes(const products *p) {
  size_t k = (p->k + XP_DEPTH_GROUP - 1) / XP_DEPTH_GROUP * XP_DEPTH_GROUP + 1, n = (p->n + PANEL - 1) / PANEL * PANEL,
         bytes;
  if (__builtin_mul_overflow(k, n, &bytes) || bytes > (SIZE_MAX - OBJECTS) / (2 * sizeof(float))) return SIZE_MAX;
  return bytes * sizeof(float) + OBJECTS;
}

static enum xnn_status product_reshape(const xp_step *s, const xp_call *c, xnn_operator_t op, size_t *out_room) {
  products p = {0};
  (void)op;
  measure(s, c, &p);
  if (p.m > FEW && __builtin_mul_overflow(operator_bytes(&p), at_once(&p), out_room)) *out_room = SIZE_MAX;
  return xnn_status_success;
}

/* ---- one product ---- */

/* Element by element in the order of the inner dimension; the strip's columns of B stay in the cache for all rows. */
static void few_rows(const products *p, const float *restrict a, const float *restrict b, float *restrict y) {
  size_t m = p->m, k = p->k, n = p->n, j = 0;
  for (; j + STRIP <= n; j += STRIP)
    for (size_t i = 0; i < m; i++) {
      float sum[STRIP] = {0};
      for (size_t l = 0; l < k; l++)
        for (size_t q = 0; q < STRIP; q++) sum[q] += a[i * k + l] * b[l * n + j + q];
      memcpy(y + i * n + j, sum, sizeof sum);
    }
  for (size_t i = 0; i < m && j < n; i++) {
    float sum[STRIP] = {0};
    for (size_t l = 0; l < k; l++)
      for (size_t q = 0; q < n - j; q++) sum[q] += a[i * k + l] * b[l * n + j + q];
    memcpy(y + i * n + j, sum, (n - j) * sizeof *sum);
  }
}

/* The sum over the inner dimension is STRIP sums, added up in halves. */
static float dot(const float *restrict a, const float *restrict b, size_t k) {
  float sum[STRIP] = {0};
  size_t l = 0;
  for (; l + STRIP <= k; l += STRIP)
    for (size_t q = 0; q < STRIP; q++) sum[q] += a[l + q] * b[l + q];
  for (size_t q = 0; q < k - l; q++) sum[q] += a[l + q] * b[l + q];
  for (size_t half = STRIP / 2; half; half /= 2)
    for (size_t q = 0; q < half; q++) sum[q] += sum[q + half];
  return sum[0];
}

static void few_rows_turned(const products *p, const float *a, const float *b, float *y) {
  for (size_t j = 0; j < p->n; j++)
    for (size_t i = 0; i < p->m; i++) y[i * p->n + j] = dot(a + i * p->k, b + j * p->k, p->k);
}

static enum xnn_status many_rows(const products *p, char *room, const float *a, const float *b, float *y) {
  xp_loan loan = {room, room + p->room};
  xnn_operator_t op = NULL;
  xp_lend(&loan);
  enum xnn_status answer = xnn_create_fully_connected_nc_f32(p->k, p->n, p->k, p->n, b, NULL, -INFINITY, INFINITY,
                                                             p->turned ? 0 : XNN_FLAG_TRANSPOSE_WEIGHTS, &op);
  xp_lend(NULL); /* this thread may compute something else while it waits for others */
  if (answer == xnn_status_success)
    answer = xnn_setup_fully_connected_nc_f32(op, p->m, a, y, xp_setup_pool(p->k, p->pool));
  if (answer == xnn_status_success) answer = xnn_run_operator(op, p->pool);
  loan.at = room;
  xp_lend(&loan);
  xnn_delete_operator(op);
  xp_lend(NULL);
  return answer;
}

/* The offset of product |i| of the output in an input of |d|, in matrices. */
static size_t matrix_of(const xp_dims *d, const xp_dims *out, size_t i) {
  size_t at = 0, step = 1;
  for (int axis = out->rank - 3; axis >= 0; axis--) {
    int own = axis - (out->rank - d->rank);
    size_t index = i % (size_t)out->d[axis];
    i /= (size_t)out->d[axis];
    if (own < 0) continue;
    if (d->d[own] > 1) at += index * step;
    step *= (size_t)d->d[own];
  }
  return at;
}

static ox_status *compute(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  products *p = ctx;
  const xp_call *c = p->call;
  for (size_t i = (size_t)begin; i < (size_t)end; i++) {
    const float *a = (const float *)c->in[0] + matrix_of(c->in_dims[0], c->out_dims, i) * p->m * p->k;
    const float *b = (const float *)c->in[1] + matrix_of(c->in_dims[1], c->out_dims, i) * p->k * p->n;
    float *y = (float *)c->out + i * p->m * p->n;
    enum xnn_status answer = xnn_status_success, none = xnn_status_success;
    if (p->m <= FEW)
      p->turned ? few_rows_turned(p, a, b, y) : few_rows(p, a, b, y);
    else
      answer = many_rows(p, (char *)c->room + worker * p->room, a, b, y);
    if (answer != xnn_status_success) atomic_compare_exchange_strong(&p->answer, &none, answer);
  }
  return NULL;
}

static enum xnn_status product_setup(const xp_step *s, const xp_call *c, xnn_operator_t op) {
  products p = {0};
  struct pthreadpool pool = c->ep->pool;
  (void)op;
  measure(s, c, &p);
  p.room = operator_bytes(&p);
  if (at_once(&p) > 1) {
    xp_loop(c->ep, p.count, p.count * p.k * p.n * sizeof(float), compute, &p);
  } else {
    p.pool = c->ep->given ? &pool : NULL;
    (void)compute(&p, 0, (int64_t)p.count, 0); /* always NULL */
  }
  return atomic_load(&p.answer);
}

const xp_calls xp_lib_product = {NULL, product_reshape, product_setup};

/* SPDX-License-Identifier: Apache-2.0
 * ops/shared/topk_heap.h - TopK's heap of the best k elements so far; its root is the worst of them. */
#ifndef OX_OPS_SHARED_TOPK_HEAP_H
#define OX_OPS_SHARED_TOPK_HEAP_H

#include <string.h>

#include "graph/op_def.h"

typedef struct {
  uint64_t key; /* larger is better */
  int64_t at;   /* its index in the row */
} entry;

/* The key of a number, order-preserving: a float's bits, negative ones reversed; the two zeros are equal; NaN is above
 * infinity. */
static inline uint64_t key_f64(double v) {
  uint64_t u;
  v += 0.0; /* -0 becomes 0 */
  if (v != v) return UINT64_MAX;
  memcpy(&u, &v, sizeof u);
  return u >> 63 ? ~u : u | (uint64_t)1 << 63;
}

/* Worse: a smaller key, or an equal one at a larger index. */
static inline bool worse(entry a, entry b) { return a.key < b.key || (a.key == b.key && a.at > b.at); }

/* Puts |e| at |i| of a heap of |n|, or below it: worse elements are above better ones. */
static inline void sift_down(entry *h, int64_t n, int64_t i, entry e) {
  for (int64_t child; (child = 2 * i + 1) < n; i = child) {
    if (child + 1 < n && worse(h[child + 1], h[child])) child++;
    if (!worse(h[child], e)) break;
    h[i] = h[child];
  }
  h[i] = e;
}

/* Orders |k| elements as a heap. */
static inline void make_heap(const ox_kernel_ctx *c, entry *h, int64_t k) {
  for (int64_t j = k / 2 - 1; j >= 0 && !ox_ctx_stopped_each(c, j, 1024); j--) sift_down(h, k, j, h[j]);
}

/* Element |i| of a row: the first |k| make the heap, then a better one takes the root's place. */
static inline void offer(const ox_kernel_ctx *c, entry *h, int64_t k, int64_t i, entry e) {
  if (i < k) {
    h[i] = e;
    if (i == k - 1) make_heap(c, h, k);
  } else if (e.key > h[0].key) {
    sift_down(h, k, 0, e);
  }
}

/* Writes the heap from its worst element, the last result, on. |base|: of the elements, |step| apart. */
static inline void empty_heap(const ox_kernel_ctx *c, entry *h, int64_t k, const char *base, size_t size, int64_t pitch,
                              int64_t out, int64_t step) {
  for (int64_t left = k; left > 0 && !ox_ctx_stopped_each(c, left, 256); left--) {
    entry e = h[0];
    sift_down(h, left - 1, 0, h[left - 1]);
    size_t to = (size_t)(out + (left - 1) * step);
    if (ox_ctx_wants(c, 1)) ((int64_t *)c->out[1]->data)[to] = e.at;
    if (ox_ctx_wants(c, 0)) memcpy((char *)c->out[0]->data + to * size, base + (size_t)(e.at * pitch) * size, size);
  }
}

#endif

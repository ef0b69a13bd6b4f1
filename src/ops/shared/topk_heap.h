/* SPDX-License-Identifier: Apache-2.0
 * ops/shared/topk_heap.h - TopK's heap of the best k elements so far; its root is the worst of them. */
#ifndef OX_OPS_SHARED_TOPK_HEAP_H
#define OX_OPS_SHARED_TOPK_HEAP_H

#include "graph/op_def.h"

typedef struct {
  uint64_t key; /* larger is better */
  int64_t at;   /* its index in the row */
} entry;

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

#endif

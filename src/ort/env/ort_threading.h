/* SPDX-License-Identifier: Apache-2.0
 * ort/env/ort_threading.h - pools of threads: what an environment or a session wants of one. */
#ifndef OX_ORT_THREADING_H
#define OX_ORT_THREADING_H

#include "onyx/onyx.h"
#include "onyx/ort_abi.h"

/* Onyx has one pool where others have two: the threads between operators (inter-op) are those within them. */
struct OrtThreadingOptions {
  int intra_threads, inter_threads; /* 0: as many as there are processors */
  uint32_t spin_us;                 /* as in ox_pool_opts */
  bool denormal_as_zero;
  char *affinity; /* owned; NULL: none */
  OrtCustomCreateThreadFn create_thread;
  OrtCustomJoinThreadFn join_thread;
  void *create_thread_param;
};

/* A pool, and what its hooks need for as long as it is there. */
typedef struct ort_threads {
  ox_pool *pool;
  OrtCustomCreateThreadFn create_thread;
  OrtCustomJoinThreadFn join_thread;
  void *create_thread_param;
} ort_threads;

OX_NODISCARD OrtStatus *ort_threads_create(const OrtThreadingOptions *options, ort_threads **out);
void ort_threads_destroy(ort_threads *threads); /* joins them */

#endif

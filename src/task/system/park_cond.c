/* SPDX-License-Identifier: Apache-2.0
 * task/system/park_cond.c - any POSIX system: a word hashes to one of a few mutex and condition pairs.
 * No wake is lost: the sleeper compares under the mutex, and the waker, having changed the word, takes the same mutex
 * before it signals; so the sleeper either sees the new value or is already waiting. */
#if !defined(_WIN32)
#include "task/system/park.h"

#include <pthread.h>

enum { BUCKETS = 64 };
typedef struct bucket {
  pthread_mutex_t mutex;
  pthread_cond_t cond;
} bucket;

#define ONE \
  { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER }
#define FOUR ONE, ONE, ONE, ONE
#define SIXTEEN FOUR, FOUR, FOUR, FOUR
static bucket buckets[BUCKETS] = {SIXTEEN, SIXTEEN, SIXTEEN, SIXTEEN};

/* In the child of a fork: the mutexes may be held, and the conditions waited on, by threads that are not there. */
static void reset(void) {
  for (int i = 0; i < BUCKETS; i++) {
    (void)pthread_mutex_init(&buckets[i].mutex, NULL);
    (void)pthread_cond_init(&buckets[i].cond, NULL);
  }
}
static void install(void) { (void)pthread_atfork(NULL, NULL, reset); }

static bucket *bucket_of(const void *word) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  (void)pthread_once(&once, install);
  uintptr_t h = (uintptr_t)word >> 4;
  return &buckets[(h ^ h >> 6 ^ h >> 12) % BUCKETS];
}

void ox_park_cond_wait(atomic_uint *word, unsigned expected) {
  bucket *b = bucket_of(word);
  pthread_mutex_lock(&b->mutex);
  if (atomic_load_explicit(word, memory_order_seq_cst) == expected) pthread_cond_wait(&b->cond, &b->mutex);
  pthread_mutex_unlock(&b->mutex);
}

/* Always a broadcast: words share a bucket, so a single signal could reach the wrong one. */
void ox_park_cond_wake(atomic_uint *word, int all) {
  (void)all;
  bucket *b = bucket_of(word);
  pthread_mutex_lock(&b->mutex);
  pthread_cond_broadcast(&b->cond);
  pthread_mutex_unlock(&b->mutex);
}
#else
typedef int ox_park_cond_unused;
#endif

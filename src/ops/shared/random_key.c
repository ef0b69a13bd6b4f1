/* SPDX-License-Identifier: Apache-2.0
 * ops/shared/random_key.c - fresh keys: the clock at the first use, then a count. */
#include "ops/shared/random.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

static atomic_uint_fast64_t used;
static uint64_t origin;
static pthread_once_t started = PTHREAD_ONCE_INIT;

static void start(void) {
  struct timespec t = {0};
  clock_gettime(CLOCK_REALTIME, &t);
  origin = ox_random_mix((uint64_t)t.tv_sec * 1000000007u + (uint64_t)t.tv_nsec);
}

uint64_t ox_random_fresh_key(void) {
  pthread_once(&started, start);
  return origin + atomic_fetch_add_explicit(&used, 1, memory_order_relaxed); /* pairs with nothing: only distinct */
}

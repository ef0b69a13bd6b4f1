/* SPDX-License-Identifier: Apache-2.0
 * base/random_key.c - fresh keys: the clock at the first use, or a seed, then a count. */
#include "base/random_key.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

static atomic_uint_fast64_t next;
static pthread_once_t started = PTHREAD_ONCE_INIT;

static void start(void) {
  struct timespec t = {0};
  clock_gettime(CLOCK_REALTIME, &t);
  atomic_store(&next, ox_random_mix((uint64_t)t.tv_sec * 1000000007u + (uint64_t)t.tv_nsec));
}

uint64_t ox_random_fresh_key(void) {
  pthread_once(&started, start);
  return atomic_fetch_add_explicit(&next, 1, memory_order_relaxed); /* pairs with nothing: only distinct */
}

void ox_random_restart(uint64_t seed) {
  pthread_once(&started, start); /* so that it does not come later */
  atomic_store(&next, ox_random_mix(seed));
}

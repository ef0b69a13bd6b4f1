/* SPDX-License-Identifier: Apache-2.0
 * base/clock.c - see clock.h. */
#include "base/clock.h"

#include <time.h>

int64_t ox_clock_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

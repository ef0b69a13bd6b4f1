/* SPDX-License-Identifier: Apache-2.0
 * ops/shared/random.h - counter-based random numbers: number i is a hash of the key and i, so the result does not
 * depend on the order of tiles or the number of threads. The hash is the finalizer of a 64-bit Weyl sequence. */
#ifndef OX_OPS_SHARED_RANDOM_H
#define OX_OPS_SHARED_RANDOM_H

#include <math.h>

#include "base/random_key.h"

static inline uint64_t ox_random_bits(uint64_t key, uint64_t i) {
  return ox_random_mix(ox_random_mix(key + UINT64_C(0x9e3779b97f4a7c15)) + (i + 1) * UINT64_C(0x9e3779b97f4a7c15));
}

/* in [0, 1) */
static inline double ox_random_uniform(uint64_t key, uint64_t i) {
  return (double)(ox_random_bits(key, i) >> 11) * 0x1p-53;
}

/* mean 0, deviation 1 */
static inline double ox_random_normal(uint64_t key, uint64_t i) {
  double u = 1 - ox_random_uniform(key, 2 * i), v = ox_random_uniform(key, 2 * i + 1);
  return sqrt(-2 * log(u)) * cos(6.28318530717958647692 * v);
}

#endif

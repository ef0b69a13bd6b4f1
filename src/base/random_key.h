/* SPDX-License-Identifier: Apache-2.0
 * base/random_key.h - keys for random numbers of nodes without a seed, from one counter for the process. */
#ifndef OX_BASE_RANDOM_KEY_H
#define OX_BASE_RANDOM_KEY_H

#include <stdint.h>

/* A hash of 64 bits: the finalizer of splitmix64. */
static inline uint64_t ox_random_mix(uint64_t z) {
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}

/* A key that was not returned before. Any thread. */
uint64_t ox_random_fresh_key(void);
/* From now on keys follow from |seed|. */
void ox_random_restart(uint64_t seed);

#endif

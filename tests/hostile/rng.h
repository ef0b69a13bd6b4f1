/* SPDX-License-Identifier: Apache-2.0
 * hostile/rng.h - numbers that depend on the seed alone: splitmix64 (Steele, Lea, Flood 2014). */
#ifndef HOSTILE_RNG_H
#define HOSTILE_RNG_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
  uint64_t state;
  const uint8_t *data; /* a fuzzer's: they are the upper bits as long as they last; NULL: none */
  size_t n;
} rng;

static inline uint64_t rng_next(rng *r) {
  uint64_t upper = 0, taken = r->n >= 2 ? 16 : 0;
  if (taken) upper = (uint64_t)(r->data[0] << 8 | r->data[1]) << 48, r->data += 2, r->n -= 2;
  uint64_t z = r->state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return (z ^ (z >> 31)) >> taken | upper;
}
/* Below |n|, which is above 0. */
static inline uint32_t rng_below(rng *r, uint32_t n) { return (uint32_t)((rng_next(r) >> 32) * n >> 32); }

#endif

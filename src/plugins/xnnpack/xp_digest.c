/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/xp_digest.c - see xp_digest.h. */
#include "xp_digest.h"

#include <string.h>

static inline uint64_t rotate(uint64_t x, int bits) { return x << bits | x >> (64 - bits); }

static inline void rounds(uint64_t v[4], int n) {
  while (n--) {
    v[0] += v[1], v[1] = rotate(v[1], 13) ^ v[0], v[0] = rotate(v[0], 32);
    v[2] += v[3], v[3] = rotate(v[3], 16) ^ v[2];
    v[0] += v[3], v[3] = rotate(v[3], 21) ^ v[0];
    v[2] += v[1], v[1] = rotate(v[1], 17) ^ v[2], v[2] = rotate(v[2], 32);
  }
}

static inline void word(uint64_t v[4], uint64_t m) {
  v[3] ^= m;
  rounds(v, 2);
  v[0] ^= m;
}

void xp_digest_begin(xp_digest *d, const uint64_t key[2]) {
  d->v[0] = key[0] ^ 0x736f6d6570736575u, d->v[1] = key[1] ^ 0x646f72616e646f6du ^ 0xee;
  d->v[2] = key[0] ^ 0x6c7967656e657261u, d->v[3] = key[1] ^ 0x7465646279746573u;
  d->bytes = 0;
}

void xp_digest_add(xp_digest *d, const void *p, size_t n) {
  uint64_t v[4], m;
  memcpy(v, d->v, sizeof v);
  for (size_t i = 0; i + 8 <= n; i += 8) memcpy(&m, (const char *)p + i, 8), word(v, m);
  if (n % 8) {
    m = 0;
    memcpy(&m, (const char *)p + n / 8 * 8, n % 8);
    word(v, m);
  }
  memcpy(d->v, v, sizeof v);
  d->bytes += n;
}

void xp_digest_end(xp_digest *d, uint64_t out[2]) {
  word(d->v, d->bytes);
  d->v[2] ^= 0xee;
  rounds(d->v, 4);
  out[0] = d->v[0] ^ d->v[1] ^ d->v[2] ^ d->v[3];
  d->v[1] ^= 0xdd;
  rounds(d->v, 4);
  out[1] = d->v[0] ^ d->v[1] ^ d->v[2] ^ d->v[3];
}

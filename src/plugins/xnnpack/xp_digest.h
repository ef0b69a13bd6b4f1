/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/xp_digest.h - SipHash-2-4 with 128 bits (Aumasson and Bernstein, 2012). The key is random, so nobody can
 * construct two sets of weights with the same digest. */
#ifndef XP_DIGEST_H
#define XP_DIGEST_H

#include <stddef.h>
#include <stdint.h>

typedef struct xp_digest {
  uint64_t v[4];
  uint64_t bytes;
} xp_digest;

void xp_digest_begin(xp_digest *d, const uint64_t key[2]);
/* Each call is zero-padded to whole words, so the size of each piece must follow from the pieces before it. */
void xp_digest_add(xp_digest *d, const void *p, size_t n);
void xp_digest_end(xp_digest *d, uint64_t out[2]);

#endif

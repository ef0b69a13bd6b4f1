/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/xp_digest.h - SipHash-2-4 of 128 bits (Aumasson and Bernstein, 2012), keyed at random: nobody can make two
 * weights of the same digest. */
#ifndef XP_DIGEST_H
#define XP_DIGEST_H

#include <stddef.h>
#include <stdint.h>

typedef struct xp_digest {
  uint64_t v[4];
  uint64_t bytes;
} xp_digest;

void xp_digest_begin(xp_digest *d, const uint64_t key[2]);
/* Each call is padded to whole words, so what is added has to have its size from what was added before. */
void xp_digest_add(xp_digest *d, const void *p, size_t n);
void xp_digest_end(xp_digest *d, uint64_t out[2]);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * base/digest.h - 128 bits over a stream of bytes: names for caches. Well distributed, but not cryptographic. */
#ifndef OX_BASE_DIGEST_H
#define OX_BASE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

typedef struct ox_digest {
  uint64_t a, b;
} ox_digest;

ox_digest ox_digest_init(void);
/* The same sequence of calls gives the same digest on every machine; lengths are part of it. */
void ox_digest_bytes(ox_digest *h, const void *p, size_t n);
void ox_digest_u64(ox_digest *h, uint64_t v);
void ox_digest_text(ox_digest *h, const char *s); /* NULL counts as "" */

#endif

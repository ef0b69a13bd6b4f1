/* SPDX-License-Identifier: Apache-2.0
 * base/digest.c - two lanes, each a multiply and a rotation per word; each lane takes in the other at the end of a
 * call. */
#include "base/digest.h"

#include <string.h>

static const uint64_t odd[] = {0x9e3779b97f4a7c15, 0xc2b2ae3d27d4eb4f, 0xd6e8feb86659fd93};

static uint64_t rotated(uint64_t v, int by) { return v << by | v >> (64 - by); }

ox_digest ox_digest_init(void) { return (ox_digest){odd[1], odd[2]}; }

static void mix(ox_digest *h, uint64_t word) {
  h->a = rotated(h->a ^ word, 29) * odd[0];
  h->b = rotated(h->b + word * odd[2], 37) * odd[1];
}

/* Little-endian whatever the machine. */
static uint64_t word_at(const unsigned char *p, size_t n) {
  uint64_t w = 0;
  for (size_t i = 0; i < n; i++) w |= (uint64_t)p[i] << (8 * i);
  return w;
}

void ox_digest_u64(ox_digest *h, uint64_t v) {
  mix(h, v);
  uint64_t a = h->a;
  h->a ^= h->b >> 31, h->b ^= a >> 27;
}

void ox_digest_bytes(ox_digest *h, const void *bytes, size_t n) {
  const unsigned char *p = bytes;
  size_t whole = n / 8;
  for (size_t i = 0; i < whole; i++) mix(h, word_at(p + 8 * i, 8));
  if (n % 8) mix(h, word_at(p + 8 * whole, n % 8));
  ox_digest_u64(h, n);
}

void ox_digest_text(ox_digest *h, const char *s) { ox_digest_bytes(h, s ? s : "", s ? strlen(s) : 0); }

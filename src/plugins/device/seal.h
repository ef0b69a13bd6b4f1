/* SPDX-License-Identifier: Apache-2.0
 * device/seal.h - a header with a checksum before a driver's binary. Drivers trust the binaries they load, so damaged
 * ones must be caught before. */
#ifndef OX_DEVICE_SEAL_H
#define OX_DEVICE_SEAL_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef struct dev_seal {
  char magic[8]; /* the kind of binary */
  uint64_t bytes, sum;
} dev_seal;

/* FNV-1a. */
static inline uint64_t dev_seal_sum(const unsigned char *p, size_t n) {
  uint64_t h = 14695981039346656037u;
  for (size_t i = 0; i < n; i++) h = (h ^ p[i]) * 1099511628211u;
  return h;
}

/* Writes the header at |all| for the |n| bytes that follow it. |magic|: 8 characters. */
static inline void dev_seal_put(void *all, size_t n, const char *magic) {
  const unsigned char *content = (const unsigned char *)all + sizeof(dev_seal);
  dev_seal s = {.bytes = n, .sum = dev_seal_sum(content, n)};
  memcpy(s.magic, magic, sizeof s.magic);
  memcpy(all, &s, sizeof s);
}

/* Checks the |n| bytes at |all| and returns the content after the header; NULL: damaged, or of another kind. */
static inline const unsigned char *dev_seal_open(const void *all, size_t n, const char *magic, size_t *out_bytes) {
  dev_seal s;
  if (n <= sizeof s) return NULL;
  const unsigned char *content = (const unsigned char *)all + sizeof s;
  memcpy(&s, all, sizeof s);
  *out_bytes = n - sizeof s;
  bool whole = memcmp(s.magic, magic, sizeof s.magic) == 0 && s.bytes == *out_bytes &&
               s.sum == dev_seal_sum(content, *out_bytes);
  return whole ? content : NULL;
}

#endif

/* SPDX-License-Identifier: Apache-2.0
 * kern/move/sub_byte.h - elements of 2 and 4 bits, packed low bits first. */
#ifndef OX_KERN_MOVE_SUB_BYTE_H
#define OX_KERN_MOVE_SUB_BYTE_H

#include "kern/move/move.h"

/* Element |i| of an array of |bits|-wide elements. */
static inline unsigned ox_sub_byte_get(const uint8_t *p, unsigned bits, int64_t i) {
  unsigned per = 8 / bits;
  return p[i / per] >> (unsigned)(i % per) * bits & ((1U << bits) - 1);
}
static inline void ox_sub_byte_set(uint8_t *p, unsigned bits, int64_t i, unsigned v) {
  unsigned per = 8 / bits, at = (unsigned)(i % per) * bits, mask = ((1U << bits) - 1) << at;
  p[i / per] = (uint8_t)((p[i / per] & ~mask) | (v << at & mask));
}

/* Copies a region of packed elements one by one. The output's unused last bits become 0 if it is dense. */
void ox_sub_byte_copy(unsigned bits, const ox_region *r, const void *in, void *out);

#endif

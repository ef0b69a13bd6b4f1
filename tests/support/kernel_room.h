/* SPDX-License-Identifier: Apache-2.0
 * support/kernel_room.h - what tests of kernels compute with: numbers of one random sequence, and buffers whose bytes
 * are 0xff (floats: NaN) until they are written, so that what is read before, or written behind, shows. */
#ifndef OX_TEST_KERNEL_ROOM_H
#define OX_TEST_KERNEL_ROOM_H

#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "support/check.h"

static uint32_t seed = 1; /* set it to have the same numbers again */

/* In [-1, 1). */
static inline float rnd(void) {
  seed = seed * 1664525u + 1013904223u;
  return (float)(seed >> 8) * 0x1p-23f - 1.0f;
}

/* |bytes| and the bytes that may be read behind a buffer; for free(). */
static inline void *room(size_t bytes) {
  void *p = NULL;
  assert_int_equal(posix_memalign(&p, OX_ALIGN_BYTES, OX_ROUND_UP(bytes, OX_ALIGN_BYTES) + OX_PAD_BYTES), 0);
  memset(p, 0xff, bytes + OX_PAD_BYTES);
  return p;
}

#endif

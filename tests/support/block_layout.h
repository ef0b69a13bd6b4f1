/* SPDX-License-Identifier: Apache-2.0
 * support/block_layout.h - where elements lie in a tensor whose channels are in blocks: [batch][block][pixel][lane],
 * with 16 lanes. Written on its own, as tests compare the engine with it. */
#ifndef OX_TESTS_BLOCK_LAYOUT_H
#define OX_TESTS_BLOCK_LAYOUT_H

#include <stdint.h>

/* Of pixel |p| of channel |c| of image |n|. */
static inline int64_t block_place(int64_t n, int64_t c, int64_t p, int64_t channels, int64_t pixels) {
  return ((n * ((channels + 15) / 16) + c / 16) * pixels + p) * 16 + c % 16;
}

/* Of element |i| of the plain tensor [batch][channel][pixel]. */
static inline int64_t block_at(int64_t i, int64_t channels, int64_t pixels) {
  return block_place(i / pixels / channels, i / pixels % channels, i % pixels, channels, pixels);
}

#endif

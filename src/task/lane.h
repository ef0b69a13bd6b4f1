/* SPDX-License-Identifier: Apache-2.0
 * task/lane.h - the word of a lane (parallel.h): a range of blocks, and the gate of the loop. */
#ifndef OX_TASK_LANE_H
#define OX_TASK_LANE_H

#include <stdbool.h>
#include <stdint.h>

#include "task/gate.h"

/* {first:10, cap:10, end:22, begin:22} */
enum { END_SHIFT = 22, CAP_SHIFT = 44, FIRST_SHIFT = 54, BLOCK_MASK = (1 << 22) - 1, CAP_MASK = 1023 };
enum { MOST_BLOCKS = 1 << 21 }; /* begin + grain stays within 22 bits */
#define GATE_MASK (~(uint64_t)0 << CAP_SHIFT)

static inline uint64_t pack(uint64_t gate, uint32_t begin, uint32_t end) {
  return gate | (uint64_t)end << END_SHIFT | begin;
}
static inline uint32_t begin_of(uint64_t range) { return (uint32_t)range & BLOCK_MASK; }
static inline uint32_t end_of(uint64_t range) { return (uint32_t)(range >> END_SHIFT) & BLOCK_MASK; }
static inline bool is_empty(uint64_t range) { return begin_of(range) >= end_of(range); }

static inline ox_gate gate_of(uint64_t range) {
  return (ox_gate){(uint32_t)(range >> FIRST_SHIFT), (uint32_t)(range >> CAP_SHIFT) & CAP_MASK};
}
static inline uint64_t gate_bits(ox_gate gate) {
  return (uint64_t)gate.first << FIRST_SHIFT | (uint64_t)gate.cap << CAP_SHIFT;
}

#endif

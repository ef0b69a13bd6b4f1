/* SPDX-License-Identifier: Apache-2.0
 * task/gate.h - which workers may help in a loop or a graph with a cap on its threads. */
#ifndef OX_TASK_GATE_H
#define OX_TASK_GATE_H

#include <stdbool.h>

#include "base/macros.h"

/* Workers first + 1 .. first + cap - 1; cap 0: all. Both are below OX_POOL_MAX. */
typedef struct ox_gate {
  uint32_t first, cap;
} ox_gate;

static inline bool ox_gate_admits(ox_gate gate, uint32_t index) {
  return OX_LIKELY(!gate.cap) || (index > gate.first && index - gate.first < gate.cap);
}

/* Chooses the workers for at most |cap| threads, the owner included (0: all). The pool has |threads|, of which |open|,
 * at least |cap|, may be woken. Loops that run at the same time, so in different slots, get different workers while
 * there are enough. */
static inline ox_gate ox_gate_choose(uint32_t threads, uint32_t open, uint32_t slot_index, uint32_t cap) {
  uint32_t n_workers = open - 1, helpers = cap - 1;
  if (!cap || cap >= threads) return (ox_gate){0, 0};
  uint32_t first = slot_index % OX_CEIL_DIV(n_workers, helpers) * helpers;
  return (ox_gate){OX_MIN(first, n_workers - helpers), cap};
}

#endif

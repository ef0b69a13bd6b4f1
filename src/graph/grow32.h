/* SPDX-License-Identifier: Apache-2.0
 * graph/grow32.h - growth for arrays that are counted in 32 bits; OX_NONE is never an index. */
#ifndef OX_GRAPH_GROW32_H
#define OX_GRAPH_GROW32_H

#include "base/alloc.h"

static inline bool ox_grow32(ox_alloc a, void **items, uint32_t *capacity, uint32_t count, size_t item_bytes) {
  size_t cap = *capacity;
  if (count >= UINT32_MAX / 2 || !ox_grow(a, items, &cap, count, item_bytes)) return false;
  *capacity = (uint32_t)cap;
  return true;
}

#endif

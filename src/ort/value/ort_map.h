/* SPDX-License-Identifier: Apache-2.0
 * ort/value/ort_map.h - the order in which clients see a map: by its keys, each once. */
#ifndef OX_ORT_MAP_H
#define OX_ORT_MAP_H

#include "onyx/ort_abi.h"
#include "onyx/ep.h"
#include "onyx/status.h"

typedef struct ort_map_order {
  size_t n;
  size_t *at; /* element i is number at[i] of the map; NULL: they are in order */
} ort_map_order;

/* Of |keys|: 64-bit integers or strings, which are compared byte by byte. Of equal ones the first counts. */
OX_NODISCARD OrtStatus *ort_map_order_init(const ox_tensor *keys, ort_map_order *out);
void ort_map_order_deinit(ort_map_order *order);
/* A tensor in memory of |allocator| of the elements of |from|, keys or values, in that order. */
OX_NODISCARD OrtStatus *ort_map_order_copy(const ort_map_order *order, OrtAllocator *allocator, const ox_tensor *from,
                                           OrtValue **out);

#endif

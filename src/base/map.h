/* SPDX-License-Identifier: Apache-2.0
 * base/map.h - a map from names to 32-bit ids: open addressing, borrowed keys. Not thread-safe. */
#ifndef OX_BASE_MAP_H
#define OX_BASE_MAP_H

#include "base/alloc.h"

#define OX_NONE UINT32_MAX /* no id */

typedef struct ox_map {
  ox_alloc alloc;
  struct ox_map_slot *slots;
  size_t capacity, count;
} ox_map;

void ox_map_init(ox_map *m, ox_alloc alloc);
void ox_map_deinit(ox_map *m);
/* The id stored for |key|, or OX_NONE. */
uint32_t ox_map_find(const ox_map *m, const char *key);
/* Stores |id| for |key| (which must outlive the map), replacing an older one. False on out of memory. */
bool ox_map_put(ox_map *m, const char *key, uint32_t id);
void ox_map_remove(ox_map *m, const char *key);
/* 64-bit hash of a byte string (FNV-1a, finished by an avalanche step). */
uint64_t ox_hash(const void *p, size_t n, uint64_t seed);

#endif

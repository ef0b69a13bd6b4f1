/* SPDX-License-Identifier: Apache-2.0
 * base/map.c - linear probing, at most half full. Removal moves later entries back, so there are no tombstones. */
#include "base/map.h"

#include <string.h>

#include "base/macros.h"

struct ox_map_slot {
  const char *key; /* NULL: free */
  uint64_t hash;
  uint32_t id;
};

uint64_t ox_hash(const void *p, size_t n, uint64_t seed) {
  const unsigned char *b = p;
  uint64_t h = 0xcbf29ce484222325u ^ seed;
  for (size_t i = 0; i < n; i++) h = (h ^ b[i]) * 0x100000001b3u;
  h ^= h >> 32, h *= 0x9fb21c651e98df25u, h ^= h >> 29;
  return h;
}

void ox_map_init(ox_map *m, ox_alloc alloc) { *m = (ox_map){.alloc = alloc}; }

void ox_map_deinit(ox_map *m) {
  ox_delete(m->alloc, m->slots, m->capacity * sizeof *m->slots);
  *m = (ox_map){.alloc = m->alloc};
}

/* The slot of |key|, or the free slot where it belongs. */
static size_t seek(const ox_map *m, const char *key, uint64_t hash) {
  size_t i = hash & (m->capacity - 1);
  while (m->slots[i].key && (m->slots[i].hash != hash || strcmp(m->slots[i].key, key) != 0))
    i = (i + 1) & (m->capacity - 1);
  return i;
}

uint32_t ox_map_find(const ox_map *m, const char *key) {
  if (!m->count) return OX_NONE;
  size_t i = seek(m, key, ox_hash(key, strlen(key), 0));
  return m->slots[i].key ? m->slots[i].id : OX_NONE;
}

static bool rehash(ox_map *m) {
  size_t old_capacity = m->capacity;
  struct ox_map_slot *old = m->slots;
  size_t capacity = OX_MAX(old_capacity * 2, 16);
  struct ox_map_slot *slots = ox_new_zeroed(m->alloc, capacity * sizeof *slots);
  if (!slots) return false;
  m->slots = slots, m->capacity = capacity;
  for (size_t i = 0; i < old_capacity; i++)
    if (old[i].key) m->slots[seek(m, old[i].key, old[i].hash)] = old[i];
  ox_delete(m->alloc, old, old_capacity * sizeof *old);
  return true;
}

bool ox_map_put(ox_map *m, const char *key, uint32_t id) {
  if (m->count * 2 >= m->capacity && !rehash(m)) return false;
  uint64_t hash = ox_hash(key, strlen(key), 0);
  size_t i = seek(m, key, hash);
  m->count += m->slots[i].key == NULL;
  m->slots[i] = (struct ox_map_slot){key, hash, id};
  return true;
}

void ox_map_remove(ox_map *m, const char *key) {
  if (!m->count) return;
  size_t mask = m->capacity - 1, i = seek(m, key, ox_hash(key, strlen(key), 0));
  if (!m->slots[i].key) return;
  m->count--;
  for (size_t j = (i + 1) & mask; m->slots[j].key; j = (j + 1) & mask) {
    size_t home = m->slots[j].hash & mask;
    if (((j - home) & mask) >= ((j - i) & mask)) m->slots[i] = m->slots[j], i = j;
  }
  m->slots[i].key = NULL;
}

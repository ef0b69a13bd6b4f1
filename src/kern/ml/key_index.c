/* SPDX-License-Identifier: Apache-2.0
 * kern/ml/key_index.c - a hash table of positions, at most half full: open addressing, linear probing. */
#include "kern/ml/key_index.h"

#include <string.h>

#include "base/map.h"

/* Multiplicative hashing (Knuth): adjacent keys get distant slots. */
static uint64_t hash_bits(uint64_t x) {
  x *= UINT64_C(0x9e3779b97f4a7c15);
  return x ^ x >> 29;
}

static uint64_t hash_double(double d) {
  uint64_t bits = 0;
  if (d != d) return 1;
  if (d != 0) memcpy(&bits, &d, sizeof bits); /* -0 is 0 */
  return hash_bits(bits);
}

static bool same_double(double a, double b) { return a == b || (a != a && b != b); }
static bool same_str(ox_str a, ox_str b) { return a.n == b.n && (!a.n || !memcmp(a.p, b.p, a.n)); }

/* Searches the slots from |hash| on until |same| holds or a slot is free. */
#define PROBE(hash, same)                                      \
  for (size_t at = (hash)&x->mask;; at = (at + 1) & x->mask) { \
    if (!x->slots[at]) return -1;                              \
    size_t i = x->slots[at] - 1;                               \
    if (same) return (int64_t)i;                               \
  }

int64_t ox_key_index_int(const ox_key_index *x, int64_t key) { PROBE(hash_bits((uint64_t)key), x->ints[i] == key); }
int64_t ox_key_index_double(const ox_key_index *x, double key) {
  PROBE(hash_double(key), same_double(x->doubles[i], key));
}
int64_t ox_key_index_str(const ox_key_index *x, ox_str key) {
  PROBE(ox_hash(key.p, key.n, 0), same_str(x->strs[i], key));
}

static uint64_t hash_at(const ox_key_index *x, size_t i) {
  if (x->ints) return hash_bits((uint64_t)x->ints[i]);
  return x->doubles ? hash_double(x->doubles[i]) : ox_hash(x->strs[i].p, x->strs[i].n, 0);
}

static int64_t find_at(const ox_key_index *x, size_t i) {
  if (x->ints) return ox_key_index_int(x, x->ints[i]);
  return x->doubles ? ox_key_index_double(x, x->doubles[i]) : ox_key_index_str(x, x->strs[i]);
}

bool ox_key_index_build(ox_key_index *x, size_t n, ox_arena *arena) {
  size_t capacity = 4;
  while (capacity < 2 * n) capacity *= 2;
  x->slots = OX_ARENA_ARRAY(arena, uint32_t, capacity);
  x->mask = capacity - 1;
  if (!x->slots || n >= UINT32_MAX) return false;
  for (size_t i = 0; i < n; i++) {
    if (find_at(x, i) >= 0) continue;
    size_t at = hash_at(x, i) & x->mask;
    while (x->slots[at]) at = (at + 1) & x->mask;
    x->slots[at] = (uint32_t)i + 1;
  }
  return true;
}

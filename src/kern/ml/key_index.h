/* SPDX-License-Identifier: Apache-2.0
 * kern/ml/key_index.h - the position of a key in a list: integers, doubles (every NaN is one key) or strings. */
#ifndef OX_KERN_ML_KEY_INDEX_H
#define OX_KERN_ML_KEY_INDEX_H

#include "base/arena.h"

typedef struct ox_key_index {
  const int64_t *ints; /* the keys: one of these three is not NULL */
  const double *doubles;
  const ox_str *strs;
  uint32_t *slots; /* position + 1, or 0 */
  size_t mask;
} ox_key_index;

/* Indexes the |n| keys of |x| (whose list is set and outlives it); of equal keys the first counts. False: no memory. */
bool ox_key_index_build(ox_key_index *x, size_t n, ox_arena *arena);
/* The position of the key, or -1. */
int64_t ox_key_index_int(const ox_key_index *x, int64_t key);
int64_t ox_key_index_double(const ox_key_index *x, double key);
int64_t ox_key_index_str(const ox_key_index *x, ox_str key);

#endif

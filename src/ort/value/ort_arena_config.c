/* SPDX-License-Identifier: Apache-2.0
 * ort/value/ort_arena_config.c - OrtArenaCfg: four numbers, or keys with numbers. -1 is the default of each. */
#include <stdlib.h>
#include <string.h>

#include "ort/ort_api.h"
#include "ort/value/ort_arena.h"
#include "ort/ort_status.h"

/* Sets |key|; false: no such key. Numbers come as size_t, negative ones wrapped; |*ok|: this one can be. Of those that
 * are an int in the ABI the lower half counts. */
static bool set(OrtArenaCfg *c, const char *key, size_t number, bool *ok) {
  int small = (int)number;
  bool given = small != -1;
  *ok = small >= -1;
  if (strcmp(key, "max_mem") == 0) {
    *ok = true;
    if (number != 0) c->max_mem = number;
  } else if (strcmp(key, "arena_extend_strategy") == 0) {
    *ok = small >= -1 && small <= 1;
    if (given) c->strategy = small;
  } else if (strcmp(key, "initial_chunk_size_bytes") == 0) {
    if (given) c->initial_chunk = (size_t)small;
  } else if (strcmp(key, "max_dead_bytes_per_chunk") == 0) {
    if (given) c->max_dead_bytes = (size_t)small;
  } else if (strcmp(key, "initial_growth_chunk_size_bytes") == 0) {
    if (given) c->initial_growth_chunk = (size_t)small;
  } else if (strcmp(key, "max_power_of_two_extend_bytes") == 0) {
    *ok = (int64_t)number >= -1;
    if (number != SIZE_MAX) c->max_extend = number;
  } else {
    *ok = true; /* of CUDA's own pool, which is not ours */
    return strcmp(key, "use_cuda_mempool") == 0 || strcmp(key, "cuda_mempool_release_threshold") == 0 ||
           strcmp(key, "cuda_mempool_bytes_to_keep_on_shrink") == 0;
  }
  return true;
}

static OrtStatus *read_pair(const char *function, OrtArenaCfg *c, const char *key, size_t number) {
  bool ok;
  if (!set(c, key, number, &ok)) return ort_fail(ORT_INVALID_ARGUMENT, "%s: Invalid key found: %s", function, key);
  if (ok) return NULL;
  return ort_fail(ORT_INVALID_ARGUMENT, "%s: Invalid configuration value was provided: %s is %lld", function, key,
                  (long long)number);
}

static OrtStatus *give(const OrtArenaCfg *config, OrtArenaCfg **out) {
  *out = malloc(sizeof **out);
  if (*out == NULL) return ort_out_of_memory();
  **out = *config;
  return NULL;
}

OrtStatus *ort_CreateArenaCfg(size_t max_mem, int arena_extend_strategy, int initial_chunk_size_bytes,
                              int max_dead_bytes_per_chunk, OrtArenaCfg **out) {
  OrtArenaCfg c = ort_arena_config();
  ORT_NEED(out);
  *out = NULL;
  ORT_TRY(read_pair("CreateArenaCfg", &c, "max_mem", max_mem));
  ORT_TRY(read_pair("CreateArenaCfg", &c, "arena_extend_strategy", (size_t)arena_extend_strategy));
  ORT_TRY(read_pair("CreateArenaCfg", &c, "initial_chunk_size_bytes", (size_t)initial_chunk_size_bytes));
  if (max_dead_bytes_per_chunk >= 0) c.max_dead_bytes = (size_t)max_dead_bytes_per_chunk;
  return give(&c, out);
}

OrtStatus *ort_CreateArenaCfgV2(const char *const *keys, const size_t *values, size_t n, OrtArenaCfg **out) {
  OrtArenaCfg c = ort_arena_config();
  ORT_NEED(out);
  *out = NULL;
  if (n > 0) ORT_NEED(keys);
  if (n > 0) ORT_NEED(values);
  for (size_t i = 0; i < n; i++) {
    if (keys[i] == NULL) return ort_fail(ORT_INVALID_ARGUMENT, "CreateArenaCfgV2: 'keys' has NULL at %zu", i);
    ORT_TRY(read_pair("CreateArenaCfgV2", &c, keys[i], values[i]));
  }
  return give(&c, out);
}

void ort_ReleaseArenaCfg(OrtArenaCfg *config) { free(config); }

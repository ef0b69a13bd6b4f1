/* SPDX-License-Identifier: Apache-2.0
 * plan/memplan.h - offsets in one slab from lifetimes. */
#ifndef OX_PLAN_MEMPLAN_H
#define OX_PLAN_MEMPLAN_H

#include "base/alloc.h"
#include "base/status.h"

/* A buffer that is in use from step |first| to step |last|, both included. */
typedef struct ox_lifetime {
  size_t bytes;
  uint32_t first, last;
  size_t offset; /* the result, a multiple of OX_ALIGN_BYTES */
} ox_lifetime;

/* Sets the offsets; |items| must be sorted by |first|. *out_bytes is the slab's size. Places items by best fit in
 * order, O(n log n) for typical graphs, or, up to a thousand items, largest first, O(n^2), if that needs less. Errors:
 * OUT_OF_MEMORY; LIMIT if the slab's size overflows size_t. */
OX_NODISCARD ox_status *ox_memplan(ox_alloc alloc, ox_lifetime *items, size_t n, size_t *out_bytes);

#endif

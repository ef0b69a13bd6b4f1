/* SPDX-License-Identifier: Apache-2.0
 * exec/dynpool.h - buffers for values whose size only the run knows. Kept between runs: a repeated run allocates
 * nothing. */
#ifndef OX_EXEC_DYNPOOL_H
#define OX_EXEC_DYNPOOL_H

#include <stdbool.h>

#include "base/alloc.h"
#include "base/map.h"
#include "exec/workspace.h"

typedef struct ox_dynblock {
  void *data;
  size_t bytes;
  bool used;
  uint32_t next; /* free: the next free one, or OX_NONE */
} ox_dynblock;

typedef struct ox_dynpool {
  ox_alloc alloc;        /* for the list */
  ox_alloc data;         /* for the blocks; may be a device's memory */
  ox_workspace *account; /* that counts the blocks; NULL: none */
  ox_dynblock *blocks;
  size_t n, capacity;
  uint32_t first_free, n_free;
  uint32_t *index; /* of blocks by their data: open addressing, at most half full */
  size_t n_index;  /* a power of two, or 0 */
} ox_dynpool;

void ox_dynpool_init(ox_dynpool *p, ox_alloc alloc, ox_workspace *account);
void ox_dynpool_init_with(ox_dynpool *p, ox_alloc alloc, ox_alloc data);
void ox_dynpool_deinit(ox_dynpool *p);
/* At least |bytes| (plus OX_PAD_BYTES readable), aligned to OX_ALIGN_BYTES; NULL on out of memory, or if the account
 * does not allow it. */
void *ox_dynpool_take(ox_dynpool *p, size_t bytes);
void ox_dynpool_give(ox_dynpool *p, void *data); /* NULL and foreign pointers are ignored */
void ox_dynpool_give_all(ox_dynpool *p);
void ox_dynpool_trim(ox_dynpool *p); /* frees the blocks that are not in use */

#endif

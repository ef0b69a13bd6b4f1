/* SPDX-License-Identifier: Apache-2.0
 * exec/run_memory.h - memory that kernels take until the run's outputs are handed over: characters of strings, items of
 * sequences. Loops free what their iterations took and do not carry on. */
#ifndef OX_EXEC_RUN_MEMORY_H
#define OX_EXEC_RUN_MEMORY_H

#include "base/arena.h"
#include "exec/workspace.h"
#include "graph/control.h"

/* Arrays that the run may append to in place; the oldest makes room for a new one. */
enum { OX_GROWING_ARRAYS = 64 };

typedef struct ox_growing_array {
  const void *p;
  size_t used, capacity;
  size_t taken; /* by the run before it: an array is older than a loop if that had more */
} ox_growing_array;

typedef struct ox_run_memory {
  ox_arena arena;
  ox_arena spare;               /* while values move */
  const ox_run_mark *innermost; /* of the loops under way */
  size_t taken;                 /* bytes of |arena|, with what alignment adds */
  ox_growing_array growing[OX_GROWING_ARRAYS];
  uint32_t next_growing;
} ox_run_memory;

void ox_run_memory_init(ox_run_memory *m, ox_alloc alloc);
void ox_run_memory_deinit(ox_run_memory *m);
/* Before a run. */
void ox_run_memory_reset(ox_run_memory *m);
/* Frees the blocks that are not in use. */
void ox_run_memory_trim(ox_run_memory *m);

/* Zeroed; counted by |w| until the next run. NULL: out of memory, or more than |w| allows. */
void *ox_run_memory_take(ox_run_memory *m, ox_workspace *w, size_t bytes);
/* ox_ctx_host.extend_run */
void *ox_run_memory_extend(ox_run_memory *m, ox_workspace *w, const void *p, size_t used, size_t more);

/* Marks the beginning of an iteration: what is taken later belongs to it. */
void ox_run_memory_mark(ox_run_memory *m, const ox_workspace *w, ox_run_mark *mark);
/* After an iteration: if much was taken since |mark|, frees all of it except what the |n| values need, which moves.
 * Values must not share arrays of characters with values outside. Error: OUT_OF_MEMORY; the values are lost then. */
OX_NODISCARD ox_status *ox_run_memory_collect(ox_run_memory *m, ox_workspace *w, ox_run_mark *mark,
                                              ox_tensor *const *values, uint32_t n);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * exec/workspace.h - counts the host memory that a context and the contexts of its bodies have for values. What they
 * keep between runs counts, too, but is freed before a run is refused: a run is refused only for what it uses
 * itself. */
#ifndef OX_EXEC_WORKSPACE_H
#define OX_EXEC_WORKSPACE_H

#include <stdbool.h>

#include "base/alloc.h"
#include "base/status.h"

struct ox_step;

typedef struct ox_workspace {
  size_t limit;            /* 0: none */
  size_t held;             /* slabs, buffers in use or kept, and |of_run| */
  size_t of_run;           /* what kernels took until the end of the run (ox_ctx_run_alloc) */
  uint64_t turn;           /* counts runs: bodies that this one has not entered are idle */
  void (*trim)(void *ctx); /* frees all that is idle; also called when the system is out of memory */
  void *ctx;
  struct {      /* the last one */
    bool fresh; /* nobody has said yet who it was */
    size_t bytes, held;
    const struct ox_step *step;
    const char *what;
  } refusal;
} ox_workspace;

/* Counts |bytes| more; false if the limit does not allow it. */
bool ox_workspace_take(ox_workspace *w, size_t bytes);
void ox_workspace_give(ox_workspace *w, size_t bytes);
/* The same, until the next run begins. */
bool ox_workspace_take_for_run(ox_workspace *w, size_t bytes);
void ox_workspace_next_run(ox_workspace *w);

/* Calls get(from, bytes) for memory that is already counted; if the system has none, frees what is idle and tries
 * again. */
void *ox_workspace_get(ox_workspace *w, void *(*get)(void *from, size_t bytes), void *from, size_t bytes);
/* The same for |bytes| of |alloc|, aligned to OX_ALIGN_BYTES. |w| may be NULL: nothing is idle. */
void *ox_workspace_new(ox_workspace *w, ox_alloc alloc, size_t bytes);

/* If the limit, not the system, refused |step| memory for |what|, notes it, since all that a kernel sees is NULL. */
void ox_workspace_refused(ox_workspace *w, const struct ox_step *step, const char *what);
/* Returns |st|, with which |step| failed, or the LIMIT that caused it. */
OX_NODISCARD ox_status *ox_workspace_explain(ox_workspace *w, const struct ox_step *step, ox_status *st);

#endif

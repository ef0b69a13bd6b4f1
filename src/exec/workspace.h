/* SPDX-License-Identifier: Apache-2.0
 * exec/workspace.h - the account of host memory that a context and the contexts of its bodies have for values. What
 * they keep from run to run counts, too, but goes when a run would be refused because of it: a run is refused for what
 * it has in use itself. */
#ifndef OX_EXEC_WORKSPACE_H
#define OX_EXEC_WORKSPACE_H

#include <stdbool.h>

#include "base/alloc.h"
#include "base/status.h"

struct ox_step;

typedef struct ox_workspace {
  size_t limit;            /* 0: none */
  size_t held;             /* slabs, buffers in use or kept, and |of_run| */
  size_t of_run;           /* what kernels took for the length of the run (ox_ctx_run_alloc) */
  uint64_t turn;           /* counts runs: bodies that this one has not entered are idle */
  void (*trim)(void *ctx); /* gives back all that is idle; also when the system has no more */
  void *ctx;
  struct {      /* the last one */
    bool fresh; /* nobody has said yet who it was */
    size_t bytes, held;
    const struct ox_step *step;
    const char *what;
  } refusal;
} ox_workspace;

/* False if the limit does not allow |bytes| more. */
bool ox_workspace_take(ox_workspace *w, size_t bytes);
void ox_workspace_give(ox_workspace *w, size_t bytes);
/* The same, until the next run begins. */
bool ox_workspace_take_for_run(ox_workspace *w, size_t bytes);
void ox_workspace_next_run(ox_workspace *w);

/* get(from, bytes), which the account has room for; once more without what is idle if the system has no memory. */
void *ox_workspace_get(ox_workspace *w, void *(*get)(void *from, size_t bytes), void *from, size_t bytes);
/* The same for |bytes| of |alloc|, aligned to OX_ALIGN_BYTES. |w| may be NULL: nothing is idle. */
void *ox_workspace_new(ox_workspace *w, ox_alloc alloc, size_t bytes);

/* |step| got no memory for |what|. If it was the limit, not the system, that is noted: all that a kernel sees is NULL.
 */
void ox_workspace_refused(ox_workspace *w, const struct ox_step *step, const char *what);
/* |st|, with which |step| failed, or the LIMIT that it comes from. */
OX_NODISCARD ox_status *ox_workspace_explain(ox_workspace *w, const struct ox_step *step, ox_status *st);

#endif

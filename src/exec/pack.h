/* SPDX-License-Identifier: Apache-2.0
 * exec/pack.h - ox_ctx_host.pack: when a step is prepared, its constants are packed in the form that its shapes want,
 * or that is left to its runs. */
#ifndef OX_EXEC_PACK_H
#define OX_EXEC_PACK_H

#include "exec/crew.h"
#include "plan/plan_units.h"

/* The step whose constants are packed, and the threads that pack. */
typedef struct ox_pack_site {
  const ox_graph *graph;
  const ox_unit *unit;
  const ox_node *node;
  const ox_step_crew *crew;
} ox_pack_site;

/* Sets *out_data to the constants of the node's kernel in that form; the crew packs them if that was not done
 * before. */
OX_NODISCARD ox_status *ox_pack_constants(const ox_pack_site *at, const ox_pack *p, const void **out_data);
/* The same in two steps: the first takes all memory, from |prep| and for the form, so that packing *out_later takes
 * none. */
OX_NODISCARD ox_status *ox_pack_reserve(const ox_pack_site *at, const ox_pack *p, ox_arena *prep, void **out_later);
OX_NODISCARD ox_status *ox_pack_reserved(const ox_pack_site *at, void *later, const void **out_data);

/* ---- in runs ---- */

/* Where a context's first run packs: each step overwrites what the step before it read. So that run touches a few pages
 * again and again, instead of each page of the packed weights once. */
typedef struct ox_passing {
  ox_alloc alloc;
  size_t bytes;       /* 0: nothing passes */
  size_t most, total; /* of a step, of all */
  char *data;         /* NULL between runs */
  size_t touched;     /* of it: pages that are there */
  uint32_t n_late;    /* steps that have something to pack */
} ox_passing;

typedef struct ox_late ox_late; /* a form that a step's runs are to pack */

/* ox_ctx_host.pack_for_runs. A form that is not packed yet is added to |list|, with memory; |list| NULL: it is packed
 * now. What is allocated for it lives in |prep|. */
OX_NODISCARD ox_status *ox_pack_for_runs(const ox_pack_site *at, const ox_pack *p, ox_arena *prep, ox_late **list,
                                         const void *const **out_place);
/* Bytes of scratch on each thread. */
size_t ox_late_scratch(const ox_late *list);
/* Packs the forms of |list| before the first stage; drops from it those that are now kept. */
OX_NODISCARD ox_status *ox_late_pack(ox_late **list, const ox_step_crew *crew, char *scratch, size_t scratch_bytes);

void ox_passing_init(ox_passing *p, ox_alloc alloc);
void ox_passing_add(ox_passing *p, const ox_late *list);
/* After a run: from now on runs pack into memory that is kept. */
void ox_passing_end(ox_passing *p);

#endif

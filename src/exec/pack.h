/* SPDX-License-Identifier: Apache-2.0
 * exec/pack.h - ox_ctx_host.pack: a step that is prepared packs constants in the form that its shapes want. */
#ifndef OX_EXEC_PACK_H
#define OX_EXEC_PACK_H

#include "exec/crew.h"
#include "plan/unit.h"

/* Whose constants, and who packs. */
typedef struct ox_pack_site {
  const ox_graph *graph;
  const ox_unit *unit;
  const ox_node *node;
  const ox_step_crew *crew;
} ox_pack_site;

/* |*out_data| is that form of the constants of the node's kernel, packed by the crew if nobody has before. */
OX_NODISCARD ox_status *ox_pack_constants(const ox_pack_site *at, const ox_pack *p, const void **out_data);
/* The same in two: memory first, |prep|'s and that of the form, so that |*out_later| is packed without any. */
OX_NODISCARD ox_status *ox_pack_reserve(const ox_pack_site *at, const ox_pack *p, ox_arena *prep, void **out_later);
OX_NODISCARD ox_status *ox_pack_reserved(const ox_pack_site *at, void *later, const void **out_data);

#endif

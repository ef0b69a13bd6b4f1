/* SPDX-License-Identifier: Apache-2.0
 * exec/pack.h - ox_ctx_host.pack: a step that is prepared packs constants in the form that its shapes want. */
#ifndef OX_EXEC_PACK_H
#define OX_EXEC_PACK_H

#include "exec/step.h"

/* |*out_data| is that form of the constants of the step's kernel, packed by the step's crew if nobody has before. */
OX_NODISCARD ox_status *ox_step_pack(ox_step *s, const ox_pack *p, const void **out_data);

#endif

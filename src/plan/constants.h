/* SPDX-License-Identifier: Apache-2.0
 * plan/constants.h - constants once the kernels are made: packed ones are dropped, the others placed where their
 * readers want them. */
#ifndef OX_PLAN_CONSTANTS_H
#define OX_PLAN_CONSTANTS_H

#include "plan/plan_units.h"

/* Whether the data is aligned to its element's size, as kernels need it. */
bool ox_tensor_aligned(const ox_tensor *t);

/* Drops the pages of the mapped file that hold the raw constant |t|, which is no longer needed. Any thread. */
void ox_constant_drop(const ox_graph *g, const ox_tensor *t);

/* Whether the unit's kernel packs input |i|. */
bool ox_unit_consumes(const ox_unit *u, uint32_t i);

/* Sets |fixed| of every unit: aligns constants that kernels read by element, and copies to devices those that they
 * read. */
OX_NODISCARD ox_status *ox_constants_settle(ox_plan *p);
/* Frees the copies on devices. */
void ox_constants_release(ox_plan *p);

#endif

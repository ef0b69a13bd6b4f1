/* SPDX-License-Identifier: Apache-2.0
 * plan/constants.h - constants once the kernels are made: packed ones go, the others lie where their readers want them. */
#ifndef OX_PLAN_CONSTANTS_H
#define OX_PLAN_CONSTANTS_H

#include "plan/unit.h"

/* The data lies on a multiple of its element's size, as kernels need it. */
bool ox_tensor_aligned(const ox_tensor *t);

/* The raw constant |t| is no longer needed: its pages of the mapped file leave memory. Any thread. */
void ox_constant_drop(const ox_graph *g, const ox_tensor *t);

/* The unit's kernel has packed input |i|. */
bool ox_unit_consumes(const ox_unit *u, uint32_t i);

/* Fills in |fixed| of every unit and aligns what is read typed; copies to devices what they read of the rest. */
OX_NODISCARD ox_status *ox_constants_settle(ox_plan *p);
/* Gives back the copies on devices. */
void ox_constants_release(ox_plan *p);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * plan/twins.h - twins are nodes that can share packed weights: the same operator, attributes and constants, and other
 * inputs of the same types. Examples: the steps of an unrolled loop, and layers that share weights. */
#ifndef OX_PLAN_TWINS_H
#define OX_PLAN_TWINS_H

#include "plan/plan_units.h"

/* Makes the ox_packs of every kernel of |p|; twins use those of the first among them. */
OX_NODISCARD ox_status *ox_twins_join(ox_plan *p);

#endif

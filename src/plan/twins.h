/* SPDX-License-Identifier: Apache-2.0
 * plan/twins.h - nodes that are one kernel as far as weights go: the same operator and attributes on the same constants,
 * other inputs of the same types. Steps of an unrolled loop are some, and layers that share their weights. */
#ifndef OX_PLAN_TWINS_H
#define OX_PLAN_TWINS_H

#include "plan/unit.h"

/* Makes the packed forms of every kernel of |p|; twins have those of the first of them. */
OX_NODISCARD ox_status *ox_twins_join(ox_plan *p);

#endif

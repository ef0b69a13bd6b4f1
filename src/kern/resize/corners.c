/* SPDX-License-Identifier: Apache-2.0
 * kern/resize/corners.c - selects the variant for an instruction set. */
#include "kern/resize/corners.h"

#include "kern/variants.h"

OX_VARIANTS_SELECT(ox_corners_kernel, ox_corners__, ox_corners_select)
OX_VARIANTS_LIST(ox_corners_kernel, ox_corners__, ox_corners_list)

/* SPDX-License-Identifier: Apache-2.0
 * kern/norm/norm.c - selects the variant for an instruction set. */
#include "kern/norm/norm.h"
#include "kern/variants.h"

OX_VARIANTS_SELECT(ox_norm_table, ox_norm__, ox_norm_select)

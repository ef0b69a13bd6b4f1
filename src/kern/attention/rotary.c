/* SPDX-License-Identifier: Apache-2.0
 * kern/attention/rotary.c - selects the variant for an instruction set. */
#include "kern/attention/rotary.h"

#include "kern/variants.h"

OX_VARIANTS_SELECT(ox_rotary, ox_rotary__, ox_rotary_select)
OX_VARIANTS_LIST(ox_rotary, ox_rotary__, ox_rotary_list)

/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/blocks_select.c - picks the variant for an instruction set. */
#include "kern/blocks/blocks.h"
#include "kern/variants.h"

OX_VARIANTS_SELECT(ox_blocks_variant, ox_blocks_f32__, ox_blocks_select)
OX_VARIANTS_LIST(ox_blocks_variant, ox_blocks_f32__, ox_blocks_variants)

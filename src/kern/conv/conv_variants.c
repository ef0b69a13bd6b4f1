/* SPDX-License-Identifier: Apache-2.0
 * kern/conv/conv_variants.c - picks the tile functions for an instruction set. */
#include "kern/conv/conv.h"
#include "kern/variants.h"

OX_VARIANTS_SELECT(ox_conv_variant, ox_conv_f32__, ox_conv_select)
OX_VARIANTS_LIST(ox_conv_variant, ox_conv_f32__, ox_conv_variants)

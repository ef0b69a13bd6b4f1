/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/winograd_select.c - the transforms and products of Winograd's convolution for an instruction set. */
#include "kern/blocks/winograd.h"
#include "kern/variants.h"

OX_VARIANTS_SELECT(ox_wino_variant, ox_wino__, ox_wino_select)

/* SPDX-License-Identifier: Apache-2.0
 * kern/norm/channel_select.c - selects the variant for an instruction set. */
#include "kern/norm/channel.h"
#include "kern/variants.h"

OX_VARIANTS_SELECT(ox_channel_variant, ox_channel_f32__, ox_channel_select)

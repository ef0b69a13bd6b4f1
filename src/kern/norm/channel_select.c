/* SPDX-License-Identifier: Apache-2.0
 * kern/norm/channel_select.c - picks the variant for an instruction set. */
#include "kern/norm/channel.h"

#define OX_CHANNEL(suffix) extern const ox_channel_variant ox_channel_f32__##suffix;
#include "kern/norm/channel_variants.inc"
#undef OX_CHANNEL

const ox_channel_variant *ox_channel_select(ox_isa have) {
  static const ox_channel_variant *const table[] = {
#define OX_CHANNEL(suffix) &ox_channel_f32__##suffix,
#include "kern/norm/channel_variants.inc"
#undef OX_CHANNEL
  };
  size_t i = 0;
  while (table[i]->needs & ~have) i++; /* the last line needs nothing */
  return table[i];
}

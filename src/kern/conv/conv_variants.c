/* SPDX-License-Identifier: Apache-2.0
 * kern/conv/conv_variants.c - picks the tile functions for an instruction set. */
#include "kern/conv/conv.h"

#define OX_CONV(suffix) extern const ox_conv_variant ox_conv_f32__##suffix;
#include "kern/conv/conv_variants.inc"
#undef OX_CONV

static const ox_conv_variant *const table[] = {
#define OX_CONV(suffix) &ox_conv_f32__##suffix,
#include "kern/conv/conv_variants.inc"
#undef OX_CONV
};

const ox_conv_variant *ox_conv_select(ox_isa have) {
  size_t i = 0;
  while (table[i]->needs & ~have) i++; /* the last line needs nothing */
  return table[i];
}

const ox_conv_variant *const *ox_conv_variants(size_t *out_n) {
  *out_n = OX_COUNT(table);
  return table;
}

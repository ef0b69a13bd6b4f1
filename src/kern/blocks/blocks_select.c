/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/blocks_select.c - picks the variant for an instruction set. */
#include "kern/blocks/blocks.h"

#define OX_BLOCKS(suffix) extern const ox_blocks_variant ox_blocks_f32__##suffix;
#include "kern/blocks/blocks_variants.inc"
#undef OX_BLOCKS

static const ox_blocks_variant *const table[] = {
#define OX_BLOCKS(suffix) &ox_blocks_f32__##suffix,
#include "kern/blocks/blocks_variants.inc"
#undef OX_BLOCKS
};

const ox_blocks_variant *ox_blocks_select(ox_isa have) {
  size_t i = 0;
  while (table[i]->needs & ~have) i++; /* the last line needs nothing */
  return table[i];
}

const ox_blocks_variant *const *ox_blocks_variants(size_t *out_n) {
  *out_n = OX_COUNT(table);
  return table;
}

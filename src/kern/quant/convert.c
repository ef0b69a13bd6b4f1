/* SPDX-License-Identifier: Apache-2.0
 * kern/quant/convert.c - selects the conversions for an instruction set. */
#include "kern/quant/convert.h"

#define OX_CONVERT(isa, sym) extern const ox_convert sym;
#include "kern/quant/convert_variants.inc"
#undef OX_CONVERT

const ox_convert *ox_convert_select(ox_isa have) {
#define OX_CONVERT(isa, sym) \
  if (((isa) & ~have) == 0) return &sym;
#include "kern/quant/convert_variants.inc"
#undef OX_CONVERT
  return NULL;
}

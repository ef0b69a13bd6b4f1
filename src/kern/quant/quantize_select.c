/* SPDX-License-Identifier: Apache-2.0
 * kern/quant/quantize_select.c - picks the 8-bit quantization for an instruction set. */
#include "kern/quant/quantize.h"

#define OX_QUANTIZE(isa, suffix) extern const ox_quantize_table ox_quantize__##suffix;
#include "kern/quant/quantize_variants.inc"
#undef OX_QUANTIZE

const ox_quantize_table *ox_quantize_select(ox_isa have) {
#define OX_QUANTIZE(isa, suffix) \
  if (((isa) & ~have) == 0) return &ox_quantize__##suffix;
#include "kern/quant/quantize_variants.inc"
#undef OX_QUANTIZE
  return NULL;
}

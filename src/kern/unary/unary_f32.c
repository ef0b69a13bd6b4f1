/* SPDX-License-Identifier: Apache-2.0
 * kern/unary/unary_f32.c - selects the float functions for an instruction set. */
#include "kern/unary/unary_f32.h"

#define OX_UNARY_F32(isa, suffix) extern ox_unary_f32_fn *const ox_unary_f32__##suffix[OX_UN_COUNT];
#include "kern/unary/unary_variants.inc"
#undef OX_UNARY_F32

const ox_unary_f32 *ox_unary_f32_select(ox_isa have) {
  static const ox_unary_f32 variants[] = {
#define OX_UNARY_F32(isa, suffix) {isa, #suffix, ox_unary_f32__##suffix},
#include "kern/unary/unary_variants.inc"
#undef OX_UNARY_F32
  };
  const ox_unary_f32 *v = variants;
  while (v->needs & ~have) v++; /* the last row needs nothing */
  return v;
}

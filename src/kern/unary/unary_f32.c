/* SPDX-License-Identifier: Apache-2.0
 * kern/unary/unary_f32.c - selects the float functions for an instruction set; has those that call the C library. */
#include <math.h>

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

#define LIBM(name)                                                           \
  void ox_##name##_f32(const float *x, float *y, size_t n, const float *p) { \
    (void)p;                                                                 \
    for (size_t i = 0; i < n; i++) y[i] = name##f(x[i]);                     \
  }
LIBM(sin)
LIBM(cos)
LIBM(tan)

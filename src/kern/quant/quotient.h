/* SPDX-License-Identifier: Apache-2.0
 * kern/quant/quotient.h - rint(x / scale) in the SIMD vocabulary, for quantization. Include a simd/f32_<isa>.h first.
 */
#ifndef OX_KERN_QUANT_QUOTIENT_H
#define OX_KERN_QUANT_QUOTIENT_H

#include <math.h>

#include "base/macros.h"

typedef struct ox_divisor {
  vf32 scale, inverse;
} ox_divisor;

OX_INLINE ox_divisor ox_divisor_of(float scale) {
  float size = scale < 0 ? -scale : scale;
  return (ox_divisor){vf32_splat(scale), vf32_splat(size > 0x1p-120f && size < 0x1p120f ? 1 / scale : NAN)};
}

/* rint(x / scale). The product with 1 / scale is within 1.5 ulp of the quotient, so both round alike unless they are
 * close to a tie; then, and if 1 / scale is not a normal number, the division is done. Results beyond 512 (for 16 bits,
 * whose ulps are larger, beyond 2^16) are clamped anyway. */
OX_INLINE vf32 quotient_(vf32 x, const ox_divisor *d, const float near) {
  vf32 q = vf32_mul(x, d->inverse), r = vf32_round(q), off = vf32_abs(vf32_sub(q, r));
  if (OX_LIKELY(vm32_all(vf32_lt(off, vf32_splat(near))))) return r;
  return vf32_round(vf32_div(x, d->scale));
}
OX_INLINE vf32 ox_quotient(vf32 x, const ox_divisor *d) { return quotient_(x, d, 0.4999f); }
OX_INLINE vf32 ox_quotient_16(vf32 x, const ox_divisor *d) { return quotient_(x, d, 0.49f); }

/* The same for two vectors in place, with one common test for ties. */
OX_INLINE void ox_quotient2(vf32 *a, vf32 *b, const ox_divisor *d) {
  vf32 p = vf32_mul(*a, d->inverse), q = vf32_mul(*b, d->inverse), r = vf32_round(p), s = vf32_round(q);
  vf32 off = vf32_abs(vf32_sub(p, r)), off2 = vf32_abs(vf32_sub(q, s));
  vf32 near = vf32_splat(0.4999f);
  if (OX_UNLIKELY(!vm32_all(vm32_and(vf32_lt(off, near), vf32_lt(off2, near)))))
    r = vf32_round(vf32_div(*a, d->scale)), s = vf32_round(vf32_div(*b, d->scale));
  *a = r, *b = s;
}

#endif

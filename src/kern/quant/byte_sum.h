/* SPDX-License-Identifier: Apache-2.0
 * kern/quant/byte_sum.h - what com.microsoft's QLinearAdd makes of two bytes: rint(a x + (b y + rest)), each product
 * and sum rounded once together. That is ONNX Runtime's way, so that ties, which deep networks blow up, fall as there.
 * static inline only: ISA files include it, behind a vocabulary. */
#ifndef OX_KERN_QUANT_BYTE_SUM_H
#define OX_KERN_QUANT_BYTE_SUM_H

#include <math.h>

#include "kern/quant/quantize.h"

OX_INLINE vf32 ox_byte_fma(vf32 a, vf32 b, vf32 c) {
#if VF32_HAS_FMA
  return vf32_fma(a, b, c);
#else
  return fmaf(a, b, c); /* one lane */
#endif
}

typedef struct ox_byte_sum_lanes {
  vf32 a, b, rest;
} ox_byte_sum_lanes;

OX_INLINE ox_byte_sum_lanes ox_byte_sum_lanes_of(const ox_byte_sum *s) {
  return (ox_byte_sum_lanes){vf32_splat(s->a), vf32_splat(s->b), vf32_splat(s->rest)};
}

/* Not yet rounded to integers. */
OX_INLINE vf32 ox_byte_sum_at(vf32 a, vf32 b, const ox_byte_sum_lanes *l) {
  return ox_byte_fma(a, l->a, ox_byte_fma(b, l->b, l->rest));
}

#endif

/* SPDX-License-Identifier: Apache-2.0
 * kern/conv/conv_i8_body.h - one pixel of a depthwise convolution of bytes, channels in lanes. */
#include "kern/conv/conv_i8.h"
#include "kern/simd/math_f32.h"

OX_INLINE void pixel_as(const ox_conv_i8_pixel *p, bool x_signed) {
  vi32 zero = vi32_splat(p->x_zero);
  for (size_t c = 0; c < p->channels; c += VF32_LANES) {
    size_t n = vf32_lanes_at(c, p->channels);
    vi32 sum = p->bias ? vi32_load_n(p->bias + c, n) : vi32_zero();
    for (size_t t = 0; t < p->n_taps; t++) {
      vi32 x = x_signed ? vi32_load_i8_n((const int8_t *)p->x[t] + c, n) : vi32_load_u8_n(p->x[t] + c, n);
      sum = vi32_add(sum, vi32_mul(vi32_sub(x, zero), vi32_load_n(p->w[t] + c, n)));
    }
    if (p->type == OX_I32) {
      vi32_store_n((int32_t *)p->y + c, sum, n);
      continue;
    }
    /* as the 8-bit product stores: saturate, round, add the zero point */
    vf32 f = vf32_mul(vi32_to_f32(sum), vf32_load_n(p->scale + c, n));
    f = vf32_at_most(vf32_at_least(f, -0x1p24f), 0x1p24f);
    vi32 q = vi32_add(vf32_to_i32(f), vi32_splat(p->y_zero));
    if (p->type == OX_U8)
      vi32_store_u8_n((uint8_t *)p->y + c, q, n);
    else
      vi32_store_i8_n((int8_t *)p->y + c, q, n);
  }
}

static void pixel(const ox_conv_i8_pixel *p) {
  if (p->x_signed)
    pixel_as(p, true);
  else
    pixel_as(p, false);
}

extern const ox_conv_i8_variant OX_PASTE(ox_conv_i8__, CONV_ISA);
const ox_conv_i8_variant OX_PASTE(ox_conv_i8__, CONV_ISA) = {CONV_NEEDS, "conv_i8_" OX_QUOTE(CONV_ISA), pixel};

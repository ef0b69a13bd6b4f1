/* SPDX-License-Identifier: Apache-2.0
 * kern/conv/conv_i8_body.h - one pixel of a depthwise convolution of bytes, channels in lanes. */
#include "kern/conv/conv_i8.h"
#include "kern/simd/math_f32.h"

enum { L = VF32_LANES, MOST = 4 }; /* vectors at a time */

/* The n <= L bytes at |x|; |whole|: n is L. */
OX_INLINE vi32 bytes_at(const uint8_t *x, size_t n, const bool x_signed, const bool whole) {
  if (x_signed) return whole ? vi32_load_i8((const int8_t *)x) : vi32_load_i8_n((const int8_t *)x, n);
  return whole ? vi32_load_u8(x) : vi32_load_u8_n(x, n);
}
OX_INLINE vi32 ints_at(const int32_t *p, size_t n, const bool whole) {
  return whole ? vi32_load(p) : vi32_load_n(p, n);
}

/* As the 8-bit product stores: saturates, rounds, adds the zero point. */
OX_INLINE void put(const ox_conv_i8_pixel *p, size_t c, vi32 sum, size_t n, const bool whole) {
  if (p->type == OX_I32) {
    int32_t *y = (int32_t *)p->y + c;
    whole ? vi32_store(y, sum) : vi32_store_n(y, sum, n);
    return;
  }
  vf32 f = vf32_mul(vi32_to_f32(sum), vf32_load_n(p->scale + c, n));
  f = vf32_at_most(vf32_at_least(f, -0x1p24f), 0x1p24f);
  vi32 q = vi32_add(vf32_to_i32(f), vi32_splat(p->y_zero));
  if (p->type == OX_U8)
    vi32_store_u8_n((uint8_t *)p->y + c, q, n);
  else
    vi32_store_i8_n((int8_t *)p->y + c, q, n);
}

/* |nv| vectors of channels from |c| on: whole ones, or one of n. */
OX_INLINE void channels(const ox_conv_i8_pixel *p, size_t c, size_t n, const int nv, const bool x_signed,
                        const bool whole) {
  vi32 zero = vi32_splat(p->x_zero), sum[MOST];
  OX_UNROLL for (int v = 0; v < nv; v++) sum[v] = p->bias ? ints_at(p->bias + c + v * L, n, whole) : vi32_zero();
  for (size_t t = 0; t < p->n_taps; t++) {
    const uint8_t *x = p->x[t] + c;
    const int32_t *w = p->w[t] + c;
    OX_UNROLL for (int v = 0; v < nv; v++) {
      vi32 d = vi32_sub(bytes_at(x + v * L, n, x_signed, whole), zero);
      sum[v] = vi32_add(sum[v], vi32_mul(d, ints_at(w + v * L, n, whole)));
    }
  }
  OX_UNROLL for (int v = 0; v < nv; v++) put(p, c + (size_t)(v * L), sum[v], n, whole);
}

OX_INLINE void pixel_as(const ox_conv_i8_pixel *p, const bool x_signed) {
  size_t c = 0;
  for (; c + MOST * L <= p->channels; c += MOST * L) channels(p, c, L, MOST, x_signed, true);
  for (; c + L <= p->channels; c += L) channels(p, c, L, 1, x_signed, true);
  if (c < p->channels) channels(p, c, p->channels - c, 1, x_signed, false);
}

static void pixel(const ox_conv_i8_pixel *p) {
  if (p->x_signed)
    pixel_as(p, true);
  else
    pixel_as(p, false);
}

extern const ox_conv_i8_variant OX_PASTE(ox_conv_i8__, CONV_ISA);
const ox_conv_i8_variant OX_PASTE(ox_conv_i8__, CONV_ISA) = {CONV_NEEDS, "conv_i8_" OX_QUOTE(CONV_ISA), pixel};

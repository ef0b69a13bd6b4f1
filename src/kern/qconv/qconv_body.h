/* SPDX-License-Identifier: Apache-2.0
 * kern/qconv/qconv_body.h - the micro-kernels of direct convolution of bytes, with requantization. Parameters:
 * QCONV_ISA, QCONV_NEEDS, QCONV_MR; include simd/i8_<isa>.h and simd/bytes_<isa>.h first. */
#include <string.h>

#include "kern/qconv/qconv.h"
#include "kern/quant/byte_sum.h"
#include "kern/simd/math_f32.h"

enum { L = VF32_LANES, NV = 2, NR = NV * L, MR = QCONV_MR };

/* Scaled and rounded sums. Above 2^24 every byte saturates anyway; far below, to_i32 gives INT32_MIN, which saturates,
 * too. */
OX_INLINE vi32 scaled(vi32 sum, vf32 scale, const bool small) {
  vf32 f = vf32_mul(vi32_to_f32(sum), scale);
  return vf32_to_i32(small ? f : vf32_at_most(f, 0x1p24f));
}

/* The parameters for turning rounded results into bytes. */
typedef struct ends {
  vi32 zero, least, flip;
} ends;
OX_INLINE ends ends_of(const ox_qconv_out *o) {
  return (ends){vi16_splat(o->zero), vi8_splat(o->least), vi8_splat(o->flip)};
}
OX_INLINE vi32 ended(vi32 bytes, const ends *e) { return vi32_xor(vi8_max_u8(bytes, e->least), e->flip); }

/* ---- residuals ---- */

typedef struct add_lanes {
  vi32 flip;        /* of single bytes */
  vf32 least, most; /* of the result less its zero point */
  vf32 y_zero;
  ox_byte_sum_lanes sum;
  bool z_first;
} add_lanes;

OX_INLINE add_lanes add_lanes_of(const ox_qconv_out *out) {
  const ox_qconv_add *a = out->add;
  return (add_lanes){vi32_splat(out->flip),
                     vf32_splat((float)-a->y_zero),
                     vf32_splat((float)(255 - a->y_zero)),
                     vf32_splat((float)(a->y_zero - out->flip)),
                     ox_byte_sum_lanes_of(&a->sum),
                     a->z_first};
}

/* |q|: rounded, without zero point; NaN becomes the least. |z|: bytes. The sum in quanta of the result. */
OX_INLINE vi32 add(vf32 q, vi32 z, const add_lanes *l) {
  vf32 y = vf32_add(vf32_min(vf32_max(q, l->least), l->most), l->y_zero);
  vf32 other = vi32_to_f32(vi32_sub(vi32_xor(z, l->flip), l->flip));
  vf32 sum = l->z_first ? ox_byte_sum_at(other, y, &l->sum) : ox_byte_sum_at(y, other, &l->sum);
  return vf32_to_i32(vf32_at_most(sum, 0x1p24f));
}

/* Bytes [i, i + L) of |n|, as far as there are. */
OX_INLINE vi32 bytes_at(const uint8_t *p, size_t i, size_t n) {
  return i + L <= n ? vi32_load_u8(p + i) : i < n ? vi32_load_u8_n(p + i, n - i) : vi32_zero();
}

static void finish(uint8_t *y, const uint8_t *z, size_t n, const ox_qconv_out *out) {
  static const ox_qconv_add none = {0};
  ox_qconv_out all = *out;
  if (!all.add) all.add = &none, all.zero = 0;
  add_lanes l = add_lanes_of(&all);
  ends e = ends_of(&all);
  vi32 y_zero = vi32_splat(all.add->y_zero);
  for (size_t i = 0; i < n; i += 2 * L) {
    vi32 v[4] = {vi32_sub(vi32_xor(bytes_at(y, i, n), l.flip), y_zero),
                 vi32_sub(vi32_xor(bytes_at(y, i + L, n), l.flip), y_zero), vi32_zero(), vi32_zero()};
    if (out->add) {
      v[0] = add(vi32_to_f32(v[0]), bytes_at(z, i, n), &l);
      v[1] = add(vi32_to_f32(v[1]), bytes_at(z, i + L, n), &l);
    }
    vi8_store_low_n(y + i, ended(vi8_pack22(v, e.zero), &e), OX_MIN(n - i, (size_t)2 * L));
  }
}

/* ---- products ---- */

/* The sums of one strip, in a function of its own: together with the code that stores them, compilers run out of
 * registers. Three rows of X share a base address: base, base + step, base + 2 step. All loops run at least once, so
 * that accumulators stay in their registers. */
OX_INLINE void strip(const ox_qconv_rows *r, const uint8_t *x, int32_t *restrict sums, const int m, const int nv) {
  const int8_t *w = r->w;
  const ptrdiff_t *segment = r->segment, *end = segment + r->n_segments;
  size_t step = r->x_step, quads = r->quads;
  vi32 acc[MR][NV];
  OX_UNROLL for (int j = 0; j < nv; j++) {
    vi32 b = vi32_load(r->bias + j * L);
    OX_UNROLL for (int i = 0; i < m; i++) acc[i][j] = b;
  }
  do {
    const uint8_t *base[(MR + 2) / 3];
    OX_UNROLL for (int i = 0; i < m; i += 3) base[i / 3] = x + *segment + (size_t)i * step;
    size_t q = quads;
    do {
      vi32 wv[NV];
      OX_UNROLL for (int j = 0; j < nv; j++) wv[j] = vi32_load((const int32_t *)(const void *)(w + 4 * j * L));
      OX_UNROLL for (int i = 0; i < m; i++) {
        int32_t quad;
        memcpy(&quad, base[i / 3] + (size_t)(i % 3) * step, 4);
        vi32 xi = vi32_splat(quad);
        OX_UNROLL for (int j = 0; j < nv; j++) acc[i][j] = vi32_dot_u8s8(acc[i][j], xi, wv[j]);
      }
      OX_UNROLL for (int i = 0; i < m; i += 3) base[i / 3] += 4;
      w += 4 * NR;
    } while (--q);
  } while (++segment != end);
  OX_UNROLL for (int i = 0; i < m; i++) OX_UNROLL for (int j = 0; j < nv; j++)
      vi32_store(sums + i * NR + j * L, acc[i][j]);
}

#define QCONV_STRIP(m)                                                                              \
  static OX_NOINLINE void strip_##m(const ox_qconv_rows *r, const uint8_t *x, int32_t *sums) {      \
    strip(r, x, sums, m, NV);                                                                       \
  }                                                                                                 \
  static OX_NOINLINE void half_strip_##m(const ox_qconv_rows *r, const uint8_t *x, int32_t *sums) { \
    strip(r, x, sums, m, 1);                                                                        \
  }
#define QCONV_STRIPS(m) \
  { strip_##m, half_strip_##m }
QCONV_STRIP(1)
QCONV_STRIP(2)
QCONV_STRIP(3)
QCONV_STRIP(4)
#if QCONV_MR >= 6
QCONV_STRIP(5)
QCONV_STRIP(6)
#endif
#if QCONV_MR >= 8
QCONV_STRIP(7)
QCONV_STRIP(8)
#endif
#if QCONV_MR >= 12
QCONV_STRIP(9)
QCONV_STRIP(10)
QCONV_STRIP(11)
QCONV_STRIP(12)
#endif
static void (*const strips[MR][2])(const ox_qconv_rows *r, const uint8_t *x, int32_t *sums) = {
    QCONV_STRIPS(1), QCONV_STRIPS(2),  QCONV_STRIPS(3),  QCONV_STRIPS(4),
#if QCONV_MR >= 6
    QCONV_STRIPS(5), QCONV_STRIPS(6),
#endif
#if QCONV_MR >= 8
    QCONV_STRIPS(7), QCONV_STRIPS(8),
#endif
#if QCONV_MR >= 12
    QCONV_STRIPS(9), QCONV_STRIPS(10), QCONV_STRIPS(11), QCONV_STRIPS(12),
#endif
};

/* Rounded results of one pixel. */
OX_INLINE void row_of(const int32_t *sums, const uint8_t *z, const vf32 *scale, const add_lanes *l, const size_t n,
                      const bool adds, const bool small, vi32 *v) {
  vi32 x = vi32_load(sums), y = vi32_load(sums + L);
  if (!adds) {
    v[0] = scaled(x, scale[0], small), v[1] = scaled(y, scale[1], small);
    return;
  }
  vf32 a = vf32_round(vf32_mul(vi32_to_f32(x), scale[0])), b = vf32_round(vf32_mul(vi32_to_f32(y), scale[1]));
  v[0] = add(a, bytes_at(z, 0, n), l), v[1] = add(b, bytes_at(z, L, n), l);
}

/* Stores two pixels at a time; for an odd number, the result computed beside the last one is discarded. */
OX_INLINE void store(const ox_qconv_rows *r, const int32_t *sums, size_t at, const size_t n, const bool adds,
                     const bool small) {
  ends e = ends_of(&r->out);
  vf32 scale[NV] = {vf32_load(r->scale), vf32_load(r->scale + L)};
  add_lanes l = adds ? add_lanes_of(&r->out) : (add_lanes){0};
  size_t step = r->y_step;
  uint8_t *y = r->y + at;
  const uint8_t *z = adds ? r->z + at : NULL;
  for (size_t i = 0; i < r->m; i += 2, sums += 2 * NR, y += 2 * step) {
    vi32 v[4];
    row_of(sums, z, scale, &l, n, adds, small, v);
    row_of(sums + NR, i + 1 < r->m && adds ? z + step : z, scale, &l, n, adds, small, v + 2);
    vi32 bytes = ended(vi8_pack22(v, e.zero), &e);
    vi8_store_low_n(y, bytes, n);
    if (i + 1 < r->m) vi8_store_high_n(y + step, bytes, n);
    if (adds) z += 2 * step;
  }
}

static void rows(const ox_qconv_rows *r) {
  _Alignas(64) int32_t sums[(MR + 1) * NR] = {0};
  const uint8_t *x = r->x;
  size_t n = r->n;
  for (size_t i = 0, at = 0; i < r->strips; i++, x += r->m * r->x_step, at += r->m * r->y_step) {
    strips[r->m - 1][n <= L](r, x, sums);
    if (r->out.add && n == NR)
      store(r, sums, at, NR, true, false);
    else if (r->out.add)
      store(r, sums, at, n, true, false);
    else if (r->out.small && n == NR)
      store(r, sums, at, NR, false, true);
    else
      store(r, sums, at, n, false, false);
  }
}

/* ---- depthwise ---- */

static void depthwise(const ox_qconv_lanes *d) {
  const uint8_t *x = d->x;
  uint8_t *y = d->y;
  size_t n = d->n, x_step = d->x_step, y_step = d->y_step, groups = d->groups;
  ends e = ends_of(&d->out);
  for (size_t p = d->pixels; p > 0; p--, x += x_step, y += y_step) {
    const int8_t *w = d->w;
    const ptrdiff_t *t = d->tap;
    vi32 acc[4];
    OX_UNROLL for (int v = 0; v < 4; v++) acc[v] = vi32_load(d->bias + v * L);
    for (size_t g = 0; g < groups; g++, t += 4, w += 4 * VI8_LANES) {
      vi32 q[4];
      vi8_quads(x + t[0], x + t[1], x + t[2], x + t[3], q);
      OX_UNROLL for (int v = 0; v < 4; v++) acc[v] =
          vi32_dot_u8s8(acc[v], q[v], vi32_load((const int32_t *)(const void *)(w + 4 * v * L)));
    }
    OX_UNROLL for (int v = 0; v < 4; v++) acc[v] = scaled(acc[v], vf32_load(d->scale + v * L), false);
    vi8_store_n(y, ended(vi8_pack4(acc, e.zero), &e), n);
  }
}

static size_t lane_at(size_t i) { return vi8_at(i / L, i % L); }

/* ---- weights and images ---- */

static void sums(const int8_t *w, size_t n, size_t count, int32_t *to) {
  const vi32 ones = vi32_splat(0x01010101);
  for (size_t j = 0; j < n; j += L) {
    vi32 total = vi32_zero();
    for (size_t i = 0; i < count; i++)
      total = vi32_dot_u8s8(total, ones, vi32_load((const int32_t *)(const void *)(w + 4 * (i * n + j))));
    vi32_store(to + j, total);
  }
}

static void copy(uint8_t *to, const uint8_t *from, size_t n, uint8_t flip) {
  vi32 f = vi8_splat(flip);
  size_t i = 0;
  for (; i + VI8_LANES <= n; i += VI8_LANES)
    vi32_store((int32_t *)(void *)(to + i), vi32_xor(vi32_load((const int32_t *)(const void *)(from + i)), f));
  for (; i < n; i++) to[i] = from[i] ^ flip;
}

extern const ox_qconv_variant OX_PASTE(ox_qconv__, QCONV_ISA);
const ox_qconv_variant OX_PASTE(ox_qconv__, QCONV_ISA) = {
    QCONV_NEEDS, MR, NR, VI8_LANES, rows, depthwise, finish, lane_at, sums, copy, "qconv_" OX_QUOTE(QCONV_ISA)};

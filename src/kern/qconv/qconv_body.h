/* SPDX-License-Identifier: Apache-2.0
 * kern/qconv/qconv_body.h - the micro-kernels of direct convolution of bytes, with requantization. Parameters:
 * QCONV_ISA, QCONV_NEEDS, QCONV_MR, QCONV_NV (vectors of a panel, 2 or 4); include a simd/i8_<isa>.h,
 * simd/bytes_<isa>.h, simd/i8_kept*.h and simd/i8_taps*.h first. */
#include <string.h>

#include "kern/qconv/qconv.h"
#include "kern/quant/byte_sum.h"
#include "kern/simd/i8_rows.h"
#include "kern/simd/math_f32.h"

enum { L = VF32_LANES, NV = QCONV_NV, NR = NV * L, MR = QCONV_MR };

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

/* Adds the products of |m| rows' quads with the weights at |w|; three rows share one of |base|. */
OX_INLINE void add_quad(const uint8_t *const *base, size_t step, const int8_t *w, vi32 (*acc)[NV], const int m,
                        const int nv, const bool pairs) {
  OX_UNROLL for (int i = 0; i < m; i++) i8_add_row(acc[i], base[i / 3] + (size_t)(i % 3) * step, w, nv, pairs);
}

/* The sums of one strip, in a function of its own: together with the code that stores them, compilers run out of
 * registers. Three rows of X share a base address: base, base + step, base + 2 step. All loops run at least once, so
 * that accumulators stay in their registers. */
OX_INLINE void strip(const ox_qconv_rows *r, const uint8_t *x, int32_t *restrict sums, const int m, const int nv,
                     const bool pairs) {
  const int8_t *w = r->w;
  const ptrdiff_t *segment = r->segment, *end = segment + r->n_segments;
  size_t step = r->x_step, quads = r->quads;
  const uint8_t *base[(MR + 2) / 3];
  vi32 acc[MR][NV];
  OX_UNROLL for (int j = 0; j < nv; j++) {
    vi32 b = vi32_load(r->bias + j * L);
    OX_UNROLL for (int i = 0; i < m; i++) acc[i][j] = b;
  }
  do {
    OX_UNROLL for (int i = 0; i < m; i += 3) base[i / 3] = x + *segment + (size_t)i * step;
    size_t q = quads;
    do {
      add_quad(base, step, w, acc, m, nv, pairs);
      OX_UNROLL for (int i = 0; i < m; i += 3) base[i / 3] += 4;
      w += 4 * (pairs ? 1 : I8_KEPT) * NR;
    } while (--q);
  } while (++segment != end);
  for (size_t e = 0; pairs && e < r->n_extra; e++, w += 4 * NR) {
    const uint8_t *at = x + r->segment[r->extra[e].segment] + r->extra[e].at;
    OX_UNROLL for (int i = 0; i < m; i += 3) base[i / 3] = at + (size_t)i * step;
    add_quad(base, step, w, acc, m, nv, pairs);
  }
  OX_UNROLL for (int i = 0; i < m; i++) OX_UNROLL for (int j = 0; j < nv; j++)
      vi32_store(sums + i * NR + j * L, acc[i][j]);
}

#define QCONV_STRIP(name, m, nv, pairs)                                                                \
  static OX_NOINLINE void name##_##m##_##nv(const ox_qconv_rows *r, const uint8_t *x, int32_t *sums) { \
    strip(r, x, sums, m, nv, pairs);                                                                   \
  }
#if QCONV_NV == 4
#define QCONV_STRIPS(name, m, pairs) \
  QCONV_STRIP(name, m, 1, pairs)     \
  QCONV_STRIP(name, m, 2, pairs) QCONV_STRIP(name, m, 3, pairs) QCONV_STRIP(name, m, 4, pairs)
#define QCONV_ROW(name, m) {name##_##m##_1, name##_##m##_2, name##_##m##_3, name##_##m##_4},
#else
#define QCONV_STRIPS(name, m, pairs) QCONV_STRIP(name, m, 1, pairs) QCONV_STRIP(name, m, 2, pairs)
#define QCONV_ROW(name, m) {name##_##m##_1, name##_##m##_2},
#endif
#define QCONV_TO_3(each) each(1) each(2) each(3)
#define QCONV_TO_4(each) QCONV_TO_3(each) each(4)
#define QCONV_TO_6(each) QCONV_TO_4(each) each(5) each(6)
#define QCONV_TO_8(each) QCONV_TO_6(each) each(7) each(8)
#define QCONV_TO_12(each) QCONV_TO_8(each) each(9) each(10) each(11) each(12)
#define QCONV_EACH_M OX_PASTE(QCONV_TO_, QCONV_MR)
typedef void (*strip_fn)(const ox_qconv_rows *r, const uint8_t *x, int32_t *sums);
#define QCONV_KEPT(m) QCONV_STRIPS(strip, m, false)
#define QCONV_KEPT_ROW(m) QCONV_ROW(strip, m)
QCONV_EACH_M(QCONV_KEPT)
static const strip_fn strips[MR][NV] = {QCONV_EACH_M(QCONV_KEPT_ROW)};
#if I8_PAIRS
#define QCONV_PAIRS(m) QCONV_STRIPS(pairs_strip, m, true)
#define QCONV_PAIRS_ROW(m) QCONV_ROW(pairs_strip, m)
QCONV_EACH_M(QCONV_PAIRS)
static const strip_fn pairs_strips[MR][NV] = {QCONV_EACH_M(QCONV_PAIRS_ROW)};
#define QCONV_PAIRS_STRIPS pairs_strips
#else
#define QCONV_PAIRS_STRIPS strips
#endif

/* Rounded results of one pixel. */
OX_INLINE void row_of(const int32_t *sums, const uint8_t *z, const vf32 *scale, const add_lanes *l, const size_t n,
                      const bool adds, const bool small, vi32 *v) {
  OX_UNROLL for (int j = 0; j < NV; j++) {
    vi32 sum = vi32_load(sums + j * L);
    v[j] = adds ? add(vf32_round(vf32_mul(vi32_to_f32(sum), scale[j])), bytes_at(z, (size_t)(j * L), n), l)
                : scaled(sum, scale[j], small);
  }
}

/* Panels of two vectors: stores two pixels at a time; for an odd number, the result computed beside the last one is
 * discarded. */
OX_INLINE void store(const ox_qconv_rows *r, const int32_t *sums, size_t at, const size_t n, const bool adds,
                     const bool small) {
  ends e = ends_of(&r->out);
  vf32 scale[NV];
  OX_UNROLL for (int j = 0; j < NV; j++) scale[j] = vf32_load(r->scale + j * L);
  add_lanes l = adds ? add_lanes_of(&r->out) : (add_lanes){0};
  size_t step = r->y_step;
  uint8_t *y = r->y + at;
  const uint8_t *z = adds ? r->z + at : NULL;
  for (size_t i = 0; NV == 4 && i < r->m; i++, sums += NR, y += step) {
    vi32 v[4];
    row_of(sums, z, scale, &l, n, adds, small, v);
    vi8_store_n(y, ended(vi8_pack22(v, e.zero), &e), n);
    if (adds) z += step;
  }
  for (size_t i = 0; NV == 2 && i < r->m; i += 2, sums += 2 * NR, y += 2 * step) {
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
  size_t m = r->m - 1, nv = (n - 1) / L;
  strip_fn fn = r->pairs ? QCONV_PAIRS_STRIPS[m][nv] : strips[m][nv];
  for (size_t i = 0, at = 0; i < r->strips; i++, x += r->m * r->x_step, at += r->m * r->y_step) {
    fn(r, x, sums);
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
    for (size_t g = 0; g < groups; g++, t += I8_TAPS, w += 4 * VI8_LANES) vi8_add_taps(acc, x, t, w);
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

static void keep(const int8_t *w, size_t quads, int8_t *to) { i8_keep_quads(w, quads, to); }
static bool split(int8_t *quads, int8_t *rest) { return vi32_split_pairs(quads, rest, NV); }

static void keep_taps(const int8_t *w, size_t groups, int8_t *to) {
  for (size_t g = 0; g < groups; g++)
    for (size_t i = 0; i < VI8_LANES; i++, to += 4)
      vi8_keep_taps(w + 4 * (g * I8_TAPS / 4 * VI8_LANES + i) + g * I8_TAPS % 4, to);
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
    QCONV_NEEDS, MR,      NR,   VI8_LANES, I8_KEPT, I8_TAPS,   rows, depthwise,
    finish,      lane_at, sums, keep,      split,   keep_taps, copy, "qconv_" OX_QUOTE(QCONV_ISA)};

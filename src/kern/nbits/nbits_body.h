/* SPDX-License-Identifier: Apache-2.0
 * kern/nbits/nbits_body.h - the micro-kernels for few-bit weights. Parameters: NBITS_RUN, NBITS_QUANTIZE,
 * NBITS_ABREAST, NBITS_SPLIT, NBITS_RUN_SPLIT, NBITS_UNPACK, the symbols; NBITS_ROWS, the most rows of floats: they
 * share the unpacking of weights, and their sums stay in registers. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/pages.h"
#include "kern/nbits/nbits.h"

enum { L = VF32_LANES, MOST_ROWS = NBITS_ROWS, BYTE_ROWS = 4, ABREAST = OX_NBITS_ABREAST };

/* Prefetch distances, of panels that are read in turns the second (docs/products.md), and cache line, in bytes */
enum { FETCH_AHEAD = 8192, TURN_AHEAD = 1024, LINE = 64 };

/* Prefetches one line ahead if vector |v| of a record begins a line. */
OX_INLINE void fetch(const ox_nbits_tile *t, const uint8_t *w, size_t v) {
  if (v * 4 * L % LINE) return;
  if (!t->streams) {
    OX_PREFETCH(w + FETCH_AHEAD);
    return;
  }
  OX_PREFETCH_L2(w + FETCH_AHEAD);
  ox_prefetch_pages(w + FETCH_AHEAD, LINE);
}

/* The same of one of several panels that are read in turns. */
OX_INLINE void fetch_in_turn(const ox_nbits_tile *t, const uint8_t *w, size_t v) {
  if (t->streams || 4 * L < LINE)
    fetch(t, w, v);
  else
    OX_PREFETCH_L2(w + TURN_AHEAD);
}

OX_INLINE vi32 load_words(const uint8_t *p) { return vi32_load((const int32_t *)(const void *)p); }
OX_INLINE vf32 load_floats(const uint8_t *p) { return vf32_load((const float *)(const void *)p); }

/* Reads the zero points of a record and advances |*p|. */
OX_INLINE vf32 zeros_of(const ox_nbits_format *f, const uint8_t **p) {
  vf32 z = vf32_splat(f->middle);
  if (f->zero == OX_NBITS_BYTES) z = vi32_to_f32(vi32_load_u8(*p)), *p += L;
  if (f->zero == OX_NBITS_FLOATS) z = load_floats(*p), *p += 4 * L;
  return z;
}

OX_INLINE vi32 splat_quad(const int8_t *q) {
  int32_t quad;
  memcpy(&quad, q, sizeof quad);
  return vi32_splat(quad);
}

enum { PAIRS_VECTORS = 4 /* whose sums of pairs fit */ };

#if !VI32_HAS_PAIRS
enum { PAIRS = 0 };
OX_INLINE vi32 products(vi32 acc, vi32 w, vi32 q) { return vi32_dot_u8s8(acc, w, q); }
OX_INLINE vi32 products_sum(vi32 acc) { return acc; }
#else
enum { PAIRS = 1 };
OX_INLINE vi32 products(vi32 acc, vi32 w, vi32 q) { return vi32_pairs_u8s8(acc, w, q); }
OX_INLINE vi32 products_sum(vi32 acc) { return vi32_pairs_sum(acc); }

/* Weights of up to four bits. Returns the sum of |vectors| vectors of a block and |m| rows. */
OX_INLINE const uint8_t *add_pairs(const ox_nbits_tile *t, const uint8_t *w, const int8_t *q, vi32 *sum, const int m,
                                   const int bits) {
  const size_t vectors = t->f.block * (size_t)bits / 32;
  for (size_t first = 0; first < vectors; first += PAIRS_VECTORS) {
    vi32 pairs[BYTE_ROWS];
    OX_UNROLL for (int r = 0; r < m; r++) pairs[r] = vi32_zero();
    for (size_t v = first; v < vectors && v < first + PAIRS_VECTORS; v++, w += 4 * L) {
      fetch(t, w, v);
      vi32 x = load_words(w);
      OX_UNROLL for (int i = 0; i < 8 / bits; i++) {
        vi32 u = vi32_and(vi32_shr(x, i * bits), vi32_splat(((1 << bits) - 1) * 0x01010101));
        OX_UNROLL for (int r = 0; r < m; r++) pairs[r] =
            vi32_pairs_u8s8(pairs[r], u, splat_quad(q + (size_t)r * t->q_rs + (v + (size_t)i * vectors) * 4));
      }
    }
    OX_UNROLL for (int r = 0; r < m; r++) sum[r] = vi32_add(sum[r], vi32_pairs_sum(pairs[r]));
  }
  return w;
}
#endif

/* Quantized rows: sum (w - z) a = sum w a - z sum a, exact before scaling. |m| and |bits| are constants after inlining.
 */
OX_INLINE void quantized(const ox_nbits_tile *t, vf32 *total, const int m, const int bits) {
  const size_t vectors = t->f.block * (size_t)bits / 32;
  const uint8_t *w = t->w;
  for (size_t b = 0; b < t->f.blocks; b++) {
    const int8_t *q = t->q + b * t->f.block;
    vi32 sum[BYTE_ROWS];
    OX_UNROLL for (int r = 0; r < m; r++) sum[r] = vi32_zero();
#if VI32_HAS_PAIRS
    if (bits <= 4) w = add_pairs(t, w, q, sum, m, bits);
#endif
    for (size_t v = 0; v < vectors && !(PAIRS && bits <= 4); v++, w += 4 * L) {
      fetch(t, w, v);
      vi32 x = load_words(w);
      OX_UNROLL for (int i = 0; i < 8 / bits; i++) {
        vi32 u = bits == 8 ? x : vi32_and(vi32_shr(x, i * bits), vi32_splat(((1 << bits) - 1) * 0x01010101));
        OX_UNROLL for (int r = 0; r < m; r++) {
          const int8_t *quad = q + (size_t)r * t->q_rs + (v + (size_t)i * vectors) * 4;
          sum[r] = vi32_dot_u8s8(sum[r], u, splat_quad(quad));
        }
      }
    }
    fetch(t, w, 0);
    vf32 scale = load_floats(w);
    w += 4 * L;
    if (t->f.zero != OX_NBITS_MIDDLE) fetch(t, w, 0);
    vf32 zero = zeros_of(&t->f, &w);
    OX_UNROLL for (int r = 0; r < m; r++) {
      size_t at = (size_t)r * t->s_rs + b;
      vf32 s = vf32_fnma(zero, vf32_splat(t->q_sum[at]), vi32_to_f32(sum[r]));
      total[r] = vf32_fma(s, vf32_mul(scale, vf32_splat(t->q_scale[at])), total[r]);
    }
  }
}

/* What codes stand for but for the scale; |table| is a constant after inlining. */
OX_INLINE vf32 values_of(const ox_nbits_format *f, vi32 codes, vf32 zero, const bool table) {
  return table ? vf32_pick16(f->table, codes) : vf32_sub(vi32_to_f32(codes), zero);
}

/* Float rows: weights are converted to floats in registers. For few rows the sum of each block is scaled; for more, the
 * weights are, which the rows share, so that each row needs only one sum. One row and two have interleaved sums: one
 * would wait for each FMA's latency. */
OX_INLINE void floats(const ox_nbits_tile *t, vf32 *total, const int m, const int bits, const bool table) {
  const size_t vectors = t->f.block * (size_t)bits / 32;
  const bool scaled = m > BYTE_ROWS;
  const int ku = m == 1 ? 4 : m == 2 ? 2 : 1;
  const uint8_t *w = t->w;
  for (size_t b = 0; b < t->f.blocks; b++) {
    const float *a = t->a + b * t->f.block;
    const uint8_t *tail = w + vectors * 4 * L + 4 * L;
    vf32 zero = zeros_of(&t->f, &tail), scale = load_floats(w + vectors * 4 * L), sum[MOST_ROWS][4];
    OX_UNROLL for (int r = 0; r < m; r++) OX_UNROLL for (int u = 0; u < ku; u++) sum[r][u] =
        scaled ? total[r] : vf32_zero();
    for (size_t v = 0; v < vectors; v++, w += 4 * L) {
      vi32 x = load_words(w);
      OX_UNROLL for (int i = 0; i < 8 / bits; i++) OX_UNROLL for (int e = 0; e < 4; e++) {
        vi32 u = vi32_and(vi32_shr(x, i * bits + 8 * e), vi32_splat((1 << bits) - 1));
        vf32 f = values_of(&t->f, u, zero, table);
        if (scaled) f = vf32_mul(f, scale);
        OX_UNROLL for (int r = 0; r < m; r++) sum[r][e % ku] =
            vf32_fma(f, vf32_splat(a[(size_t)r * t->a_rs + (v + (size_t)i * vectors) * 4 + (size_t)e]), sum[r][e % ku]);
      }
    }
    w = tail;
    OX_UNROLL for (int r = 0; r < m; r++) {
      OX_UNROLL for (int u = ku / 2; u; u /= 2) OX_UNROLL for (int j = 0; j < u; j++) sum[r][j] =
          vf32_add(sum[r][j], sum[r][j + u]);
      total[r] = scaled ? sum[r][0] : vf32_fma(sum[r][0], scale, total[r]);
    }
  }
}

OX_INLINE void rows(const ox_nbits_tile *t, const int m, const int bits, const bool table) {
  vf32 total[MOST_ROWS];
  vf32 start = t->bias ? vf32_load_n(t->bias, t->n) : vf32_zero();
  OX_UNROLL for (int r = 0; r < m; r++) total[r] = vf32_zero();
  if (t->a || table)
    floats(t, total, m, bits, table);
  else if (m <= BYTE_ROWS)
    quantized(t, total, m, bits);
  OX_UNROLL for (int r = 0; r < m; r++) vf32_store_n(t->c + (size_t)r * t->c_rs, vf32_add(total[r], start), t->n);
}

#define NBITS_CASE(m, bits, table) \
  case m:                          \
    rows(t, m, bits, table);       \
    break;
#if NBITS_ROWS >= 12
#define NBITS_MORE(bits, table) \
  NBITS_CASE(5, bits, table)    \
  NBITS_CASE(6, bits, table)    \
  NBITS_CASE(7, bits, table)    \
  NBITS_CASE(8, bits, table)    \
  NBITS_CASE(9, bits, table) NBITS_CASE(10, bits, table) NBITS_CASE(11, bits, table) NBITS_CASE(12, bits, table)
#else
#define NBITS_MORE(bits, table)
#endif
#define NBITS_SWITCH(bits, table) \
  switch (t->m) {                 \
    NBITS_CASE(1, bits, table)    \
    NBITS_CASE(2, bits, table)    \
    NBITS_CASE(3, bits, table)    \
    NBITS_CASE(4, bits, table)    \
    NBITS_MORE(bits, table)       \
  }

void NBITS_RUN(const ox_nbits_tile *t) {
  if (t->f.table) {
    NBITS_SWITCH(4, true)
  } else if (t->f.bits == 4) {
    NBITS_SWITCH(4, false)
  } else if (t->f.bits == 8) {
    NBITS_SWITCH(8, false)
  } else {
    NBITS_SWITCH(2, false)
  }
}

/* Rows [lo, hi) of the block whose record is at |w|. |bits| and |table| are constants after inlining. */
OX_INLINE void unpack_block(const ox_nbits_format *f, const uint8_t *w, size_t lo, size_t hi, float *to, size_t ld,
                            const int bits, const bool table) {
  const size_t vectors = f->block * (size_t)bits / 32;
  const uint8_t *tail = w + vectors * 4 * L + 4 * L;
  vf32 zero = zeros_of(f, &tail), scale = load_floats(w + vectors * 4 * L);
  for (size_t v = 0; v < vectors; v++, w += 4 * L) {
    vi32 x = load_words(w);
    OX_UNROLL for (int i = 0; i < 8 / bits; i++) OX_UNROLL for (int e = 0; e < 4; e++) {
      size_t row = (v + (size_t)i * vectors) * 4 + (size_t)e;
      vi32 u = vi32_and(vi32_shr(x, i * bits + 8 * e), vi32_splat((1 << bits) - 1));
      vf32 y = vf32_mul(values_of(f, u, zero, table), scale);
      if (row >= lo && row < hi) vf32_store(to + (row - lo) * ld, y);
    }
  }
}

void NBITS_UNPACK(const ox_nbits_format *f, const uint8_t *w, size_t k0, size_t kn, float *to, size_t ld) {
  const size_t record = ox_nbits_record(f, L), end = k0 + kn;
  for (size_t k = k0, next; k < end; to += (next - k) * ld, k = next) {
    size_t b = k / f->block, lo = k - b * f->block, hi;
    next = (b + 1) * f->block < end ? (b + 1) * f->block : end, hi = next - b * f->block;
    if (f->table)
      unpack_block(f, w + b * record, lo, hi, to, ld, 4, true);
    else if (f->bits == 4)
      unpack_block(f, w + b * record, lo, hi, to, ld, 4, false);
    else if (f->bits == 8)
      unpack_block(f, w + b * record, lo, hi, to, ld, 8, false);
    else
      unpack_block(f, w + b * record, lo, hi, to, ld, 2, false);
  }
}

/* The largest magnitude; NaN if an element is not finite. */
OX_INLINE float largest(const float *a, size_t n) {
  vf32 most = vf32_zero(), odd = vf32_zero(); /* odd: 0, or NaN */
  for (size_t i = 0; i < n; i += L) {
    vf32 x = vf32_load_n(a + i, vf32_lanes_at(i, n));
    most = vf32_max(vf32_abs(x), most), odd = vf32_add(odd, vf32_sub(x, x));
  }
  return vf32_sum(odd) != 0 ? NAN : vf32_hmax(most);
}

void NBITS_QUANTIZE(const float *a, size_t block, size_t blocks, int8_t *q, float *scale, float *sum) {
  for (size_t b = 0; b < blocks; b++, a += block, q += block) {
    float top = largest(a, block);
    if (isnan(top)) { /* bytes cannot express that: a NaN scale makes the row's products NaN */
      memset(q, 0, block);
      scale[b] = NAN, sum[b] = 0;
      continue;
    }
    scale[b] = top / 127.0f;
    vf32 inverse =
        vf32_splat(top > 0x1p-120f ? 127.0f / top : 0.0f); /* below, the quotient could overflow: use zeros */
    vi32 total = vi32_zero();
    for (size_t i = 0; i < block; i += L) {
      size_t n = vf32_lanes_at(i, block);
      vi32 x = vf32_to_i32(vf32_mul(vf32_load_n(a + i, n), inverse));
      vi32_store_i8_n(q + i, x, n);
      total = vi32_add(total, x);
    }
    sum[b] = (float)vi32_sum(total);
  }
}

#include "kern/nbits/nbits_abreast_body.h"
#include "kern/nbits/nbits_split_body.h"

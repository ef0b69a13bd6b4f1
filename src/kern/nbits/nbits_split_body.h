/* SPDX-License-Identifier: Apache-2.0
 * kern/nbits/nbits_split_body.h - a row of floats as a sum of rows of bytes, and its products with panels; the end of
 * nbits_body.h. */

/* x = first * 2^14 + second * 2^7 + third, in [-127, 127], [-64, 64], [-64, 63]. */
OX_INLINE void split_block(const float *a, size_t block, float inverse, const ox_nbits_parts *o, size_t b) {
  vi32 high = vi32_zero(), low = vi32_zero();
  for (size_t i = 0; i < block; i += L) {
    size_t n = vf32_lanes_at(i, block);
    vi32 x = vf32_to_i32(vf32_mul(vf32_load_n(a + i, n), vf32_splat(inverse)));
    vi32 first = vi32_sar(vi32_add(x, vi32_splat(1 << 13)), 14), rest = vi32_sub(x, vi32_shl(first, 14));
    vi32 second = vi32_sar(vi32_add(rest, vi32_splat(1 << 6)), 7);
    int8_t *q = o->q + b * block + i;
    vi32_store_i8_n(q, first, n), vi32_store_i8_n(q + o->q_rs, second, n);
    vi32_store_i8_n(q + 2 * o->q_rs, vi32_sub(rest, vi32_shl(second, 7)), n);
    high = vi32_add(high, first), low = vi32_add(low, rest);
  }
  o->sum[2 * b] = (float)vi32_sum(high), o->sum[2 * b + 1] = (float)vi32_sum(low);
}

bool NBITS_SPLIT(const float *a, size_t block, size_t blocks, const ox_nbits_parts *out) {
  const float most = 127 << 14;
  for (size_t b = 0; b < blocks; b++, a += block) {
    const float top = largest(a, block), unit = top / most;
    if (!(top > 0x1p-80f || top == 0)) return false;
    out->scale[2 * b] = unit * (1 << 14), out->scale[2 * b + 1] = unit;
    split_block(a, block, top > 0 ? most / top : 0, out, b);
  }
  return true;
}

typedef struct part_sums {
  vi32 of[OX_NBITS_PARTS];
} part_sums;

/* The compiler is kept from adding products of pairs up in another order (docs/products.md). */
OX_INLINE vi32 products_kept(vi32 acc, vi32 w, vi32 q) {
#if VI32_HAS_PAIRS
  return vi32_pairs_kept(products(acc, w, q));
#else
  return products(acc, w, q);
#endif
}

/* Adds the products of a vector of |w| and quads |q| of the parts. */
OX_INLINE void add_parts(part_sums *s, vi32 w, const int8_t *q, size_t q_rs) {
  OX_UNROLL for (int p = 0; p < OX_NBITS_PARTS; p++) s->of[p] =
      products_kept(s->of[p], w, splat_quad(q + (size_t)p * q_rs));
}

/* Vectors [first, first + count) of a block; |n|, |bits| and |count| are constants after inlining. */
OX_INLINE void parts_vectors(const ox_nbits_tile *t, const ox_nbits_parts *x, const int8_t *q, size_t first,
                             const uint8_t **w, part_sums *sum, const int n, const int bits, const size_t count) {
  const size_t vectors = t->f.block * (size_t)bits / 32;
  part_sums some[OX_NBITS_SPLIT_ABREAST];
  OX_UNROLL for (int i = 0; i < n; i++) some[i] = (part_sums){{vi32_zero(), vi32_zero(), vi32_zero()}};
  OX_UNROLL for (size_t v = 0; v < count; v++) OX_UNROLL for (int i = 0; i < n; i++) {
    const vi32 words = load_words(w[i] + v * 4 * L);
    if (!PAIRS) fetch_in_turn(t, w[i] + v * 4 * L, v);
    OX_UNROLL for (int k = 0; k < 8 / bits; k++) add_parts(
        &some[i], bits == 8 ? words : vi32_and(vi32_shr(words, k * bits), vi32_splat(((1 << bits) - 1) * 0x01010101)),
        q + (first + v + (size_t)k * vectors) * 4, x->q_rs);
  }
  OX_UNROLL for (int i = 0; i < n; i++) {
    w[i] += count * 4 * L;
    OX_UNROLL for (int p = 0; p < OX_NBITS_PARTS; p++) sum[i].of[p] =
        vi32_add(sum[i].of[p], products_sum(some[i].of[p]));
  }
}

/* Block |b| of |n| panels; |n| and |bits| are constants after inlining. */
OX_INLINE void parts_block(const ox_nbits_tile *t, const ox_nbits_parts *x, size_t b, const uint8_t **w, vf32 *total,
                           const int n, const int bits) {
  const size_t vectors = t->f.block * (size_t)bits / 32;
  const int8_t *q = x->q + b * t->f.block;
  part_sums sum[OX_NBITS_SPLIT_ABREAST];
  size_t v = 0;
  OX_UNROLL for (int i = 0; i < n; i++) sum[i] = (part_sums){{vi32_zero(), vi32_zero(), vi32_zero()}};
  for (; v + PAIRS_VECTORS <= vectors; v += PAIRS_VECTORS) parts_vectors(t, x, q, v, w, sum, n, bits, PAIRS_VECTORS);
  for (; v < vectors; v++) parts_vectors(t, x, q, v, w, sum, n, bits, 1);
  OX_UNROLL for (int i = 0; i < n; i++) {
    const vf32 scale = load_floats(w[i]), high = vi32_to_f32(sum[i].of[0]);
    const vf32 low = vi32_to_f32(vi32_add(vi32_shl(sum[i].of[1], 7), sum[i].of[2]));
    w[i] += 4 * L;
    const vf32 zero = zeros_of(&t->f, &w[i]);
    vf32 s = vf32_mul(vf32_fnma(zero, vf32_splat(x->sum[2 * b]), high), vf32_splat(x->scale[2 * b]));
    s = vf32_fma(vf32_fnma(zero, vf32_splat(x->sum[2 * b + 1]), low), vf32_splat(x->scale[2 * b + 1]), s);
    total[i] = vf32_fma(s, scale, total[i]);
  }
}

OX_INLINE void parts_of_panels(const ox_nbits_tile *t, const ox_nbits_parts *x, const int n, const int bits) {
  const uint8_t *w[OX_NBITS_SPLIT_ABREAST];
  vf32 total[OX_NBITS_SPLIT_ABREAST];
  OX_UNROLL for (int i = 0; i < n; i++) w[i] = t[i].w, total[i] = vf32_zero();
  for (size_t b = 0; b < t->f.blocks; b++) parts_block(t, x, b, w, total, n, bits);
  OX_UNROLL for (int i = 0; i < n; i++) {
    vf32 start = t[i].bias ? vf32_load_n(t[i].bias, t[i].n) : vf32_zero();
    vf32_store_n(t[i].c, vf32_add(total[i], start), t[i].n);
  }
}

#define NBITS_PANELS(bits)          \
  if (n == 1)                       \
    parts_of_panels(t, x, 1, bits); \
  else                              \
    parts_of_panels(t, x, OX_NBITS_SPLIT_ABREAST, bits);

void NBITS_RUN_SPLIT(const ox_nbits_tile *t, size_t n, const ox_nbits_parts *x) {
  if (t->f.bits == 4) {
    NBITS_PANELS(4)
  } else if (t->f.bits == 2) {
    NBITS_PANELS(2)
  } else if (!PAIRS) {
    NBITS_PANELS(8)
  }
}

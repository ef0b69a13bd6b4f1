/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/compressed_body.h - the kernels of compressed.h. Cannot fail, cannot allocate, touch no global. Parameters:
 * COMPRESSED_NAME, COMPRESSED_FORM, COMPRESSED_MR (most rows in registers). Include simd/f32_<isa>.h first; define
 *   fields: what turns codes into exponent fields; fields fields_from(uint8_t base)
 *   vf32 weights_at(const uint8_t *p, vi32 codes, fields f): a vector of weights; the low four bits of a lane of
 *     |codes| are its code. Reads 4 L bytes.
 *   void store_24(uint8_t *p, vi32 x): the low three bytes of each lane; writes no more. */
#include <string.h>

#include "base/pages.h"
#include "kern/gemm/compressed.h"

enum { NR = 2 * VF32_LANES, MR = COMPRESSED_MR };
#include "kern/gemm/gemm_f32_store.h"

enum { GROUP = OX_COMPRESSED_GROUP, VECTORS = GROUP * NV, SEGMENT = OX_COMPRESSED_ROWS, GROUP_BYTES = 28 * L };
enum { SEGMENT_BYTES = sizeof(ox_compressed_head) + SEGMENT / GROUP * GROUP_BYTES };

/* ---- compressing ---- */

/* The largest exponent field of a group, less 15, but at least 0. */
OX_INLINE int32_t base_of(const float *rows) {
  const vi32 field = vi32_splat(0xff);
  vi32 most = vi32_splat(15);
  OX_UNROLL for (int v = 0; v < VECTORS; v++)
      most = vi32_max(most, vi32_and(vi32_shr(vf32_bits(vf32_load(rows + v * L)), 23), field));
  return (int32_t)vf32_hmax(vi32_to_f32(most)) - 15;
}

/* Lists the weights of a group that are out of range, |first| being the place of the group's first one. */
static OX_NOINLINE void list(ox_compressed_head *h, const float *rows, size_t first, uint32_t base) {
  size_t n = 0;
  while (n < OX_COMPRESSED_LISTED && h->at[n] != OX_COMPRESSED_NONE) n++;
  for (size_t i = 0; i < GROUP * NR; i++) {
    uint32_t bits, e;
    memcpy(&bits, rows + i, sizeof bits);
    e = bits >> 23 & 0xff;
    if (e == 0 || e > base) continue;
    if (n == OX_COMPRESSED_LISTED || h->at[0] == OX_COMPRESSED_TOO_MANY) {
      h->at[0] = OX_COMPRESSED_TOO_MANY;
      return;
    }
    h->at[n] = (uint16_t)(first + i), h->bits[n++] = bits;
  }
}

/* Returns whether all weights are in range. */
OX_INLINE bool compress_group(const float *rows, uint8_t base, uint8_t *to) {
  const vi32 field = vi32_splat(0xff), zero = vi32_zero();
  vi32 codes = zero, low = vi32_splat(base);
  vm32 out = vi32_lt(zero, zero);
  OX_UNROLL for (int v = 0; v < VECTORS; v++) {
    vi32 bits = vf32_bits(vf32_load(rows + v * L)), e = vi32_and(vi32_shr(bits, 23), field);
    vm32 above = vi32_lt(low, e);
    out = vm32_or(out, vm32_and(vm32_not(above), vi32_lt(zero, e)));
    codes = vi32_or(codes, vi32_shl(vi32_select(above, vi32_sub(e, low), zero), 4 * v));
    vi32 sign = vi32_and(vi32_shr(bits, 8), vi32_splat(0x800000));
    store_24(to + 4 * L + 3 * L * v, vi32_or(vi32_and(bits, vi32_splat(0x7fffff)), sign));
  }
  vi32_store((int32_t *)(void *)to, codes);
  return !vm32_any(out);
}

static void compress(const float *rows, size_t k, void *segment) {
  ox_compressed_head h = {.base = {0}};
  memset(h.at, 0xff, sizeof h.at);
  uint8_t *to = (uint8_t *)segment + sizeof h;
  for (size_t i = 0; i < k; i += GROUP, to += GROUP_BYTES) {
    float last[GROUP * NR];
    const float *from = rows + i * NR;
    if (k - i < GROUP) {
      memset(last, 0, sizeof last);
      memcpy(last, from, (k - i) * NR * sizeof *last);
      from = last;
    }
    uint8_t base = h.base[i / GROUP] = (uint8_t)base_of(from);
    if (!compress_group(from, base, to)) list(&h, from, i * NR, base);
  }
  memcpy(segment, &h, sizeof h);
}

/* ---- multiplying ---- */

OX_INLINE void expand_group(const uint8_t *p, uint8_t base, vf32 w[VECTORS]) {
  const fields f = fields_from(base);
  const vi32 codes = vi32_load((const int32_t *)(const void *)p);
  OX_UNROLL for (int v = 0; v < VECTORS; v++) w[v] = weights_at(p + 4 * L + 3 * L * v, vi32_shr(codes, 4 * v), f);
}

/* Writes a group, whose first row is |p|'s row |k0|, but no more than its |k| rows. */
static void expand_any(const ox_compressed_panel *p, size_t k0, size_t k, float *to) {
  const uint8_t *segment = (const uint8_t *)p->data + k0 / SEGMENT * SEGMENT_BYTES;
  const ox_compressed_head *h = (const ox_compressed_head *)(const void *)segment;
  const size_t g = k0 % SEGMENT / GROUP;
  if (h->at[0] == OX_COMPRESSED_TOO_MANY) {
    const ox_gemm_src *s = p->whole;
    memset(to, 0, GROUP * NR * sizeof *to);
    for (size_t i = 0; i < k; i++)
      for (size_t j = 0; j < p->n; j++)
        to[i * NR + j] = ((const ox_f32u *)s->p)[(ptrdiff_t)(k0 + i) * s->ks + (ptrdiff_t)(p->col + j) * s->ns];
    return;
  }
  vf32 w[VECTORS];
  expand_group(segment + sizeof *h + g * GROUP_BYTES, h->base[g], w);
  OX_UNROLL for (int v = 0; v < VECTORS; v++) vf32_store(to + v * L, w[v]);
  for (size_t i = 0; i < OX_COMPRESSED_LISTED; i++)
    if (h->at[i] / (GROUP * NR) == g) memcpy(to + h->at[i] % (GROUP * NR), &h->bits[i], sizeof *to);
}

static void expand(const ox_compressed_panel *p, size_t k0, size_t kn, float *to) {
  float rows[GROUP * NR];
  for (size_t end = k0 + kn, n; k0 < end; k0 += n, to += n * NR) {
    const size_t first = k0 / GROUP * GROUP, k = OX_MIN(p->k - first, (size_t)GROUP);
    n = OX_MIN(first + GROUP, end) - k0;
    expand_any(p, first, k, n == GROUP ? to : rows);
    if (n != GROUP) memcpy(to, rows + (k0 - first) * NR, n * NR * sizeof *to);
  }
}

/* Adds a group's products. Row r of it goes to sum r % ku, as in gemm_f32_body.h. */
OX_INLINE void multiply_group(vf32 acc[4][MR][NV], const vf32 w[VECTORS], const float *a, ptrdiff_t rs, ptrdiff_t ks,
                              const int m, const int ku) {
  OX_UNROLL for (int r = 0; r < GROUP; r++) OX_UNROLL for (int i = 0; i < m; i++) {
    vf32 ai = vf32_splat(a[i * rs + r * ks]);
    OX_UNROLL for (int j = 0; j < NV; j++) acc[r % ku][i][j] = vf32_fma(ai, w[NV * r + j], acc[r % ku][i][j]);
  }
}

/* Of a segment of |n| groups, those before the first one from |g| on that has listed weights. */
OX_INLINE size_t exact_until(const ox_compressed_head *h, size_t g, size_t n) {
  for (size_t i = 0; i < OX_COMPRESSED_LISTED; i++) {
    size_t group = h->at[i] / (GROUP * NR);
    if (group >= g) return OX_MIN(group, n); /* the end of the list is beyond all groups */
  }
  return n;
}

/* Memory is read from one end to the other, and the hardware prefetches it: on Zen, prefetching by instructions made it
 * slower. Sapphire Rapids reads 1.3 times as much if they prefetch to L2 (to L1 1.15 times, 2 KB ahead 1.13). */
OX_INLINE void fetch_group(const uint8_t *p) {
  enum { AHEAD = 8192 };
  OX_UNROLL for (size_t i = 0; i < GROUP_BYTES; i += 64) OX_PREFETCH_L2(p + AHEAD + i);
  ox_prefetch_pages(p + AHEAD, GROUP_BYTES);
}

/* |m| and |ku| are constants after inlining. */
OX_INLINE void multiply_rows(const ox_gemm_tile *t, const int m, const int ku) {
  const ptrdiff_t rs = t->a_rs, ks = t->a_ks;
  const float *a = t->a;
  const ox_compressed_panel panel = {t->b, t->k, t->col, t->n, t->whole};
  _Alignas(64) float rows[GROUP * NR];
  vf32 acc[4][MR][NV], w[VECTORS];
  OX_UNROLL for (int u = 0; u < ku; u++) OX_UNROLL for (int i = 0; i < m; i++) OX_UNROLL for (int j = 0; j < NV; j++)
      acc[u][i][j] = vf32_zero();
  const uint8_t *segment = t->b;
  for (size_t k0 = 0; k0 < t->k; k0 += SEGMENT, segment += SEGMENT_BYTES) {
    const ox_compressed_head *h = (const ox_compressed_head *)(const void *)segment;
    const uint8_t *group = segment + sizeof *h;
    const size_t n = OX_MIN(t->k - k0, (size_t)SEGMENT) / GROUP;
    const bool is_void = h->at[0] == OX_COMPRESSED_TOO_MANY;
    for (size_t g = 0; g < n; g++, group += GROUP_BYTES, a += GROUP * ks) {
      const size_t end = is_void ? g : exact_until(h, g, n);
      for (; g < end; g++, group += GROUP_BYTES, a += GROUP * ks) {
        if (t->streams) fetch_group(group);
        expand_group(group, h->base[g], w);
        multiply_group(acc, w, a, rs, ks, m, ku);
      }
      if (g == n) break;
      expand(&panel, k0 + g * GROUP, GROUP, rows);
      OX_UNROLL for (int v = 0; v < VECTORS; v++) w[v] = vf32_load(rows + v * L);
      multiply_group(acc, w, a, rs, ks, m, ku);
    }
  }
  const size_t rest = t->k % GROUP;
  if (rest) expand(&panel, t->k - rest, rest, rows);
  for (size_t r = 0; r < rest; r++, a += ks) /* to the sums that the plain kernel adds them to */
    OX_UNROLL for (int i = 0; i < m; i++) OX_UNROLL for (int j = 0; j < NV; j++) {
      vf32 *sum = &acc[ku == 2 && r == 1][i][j];
      *sum = vf32_fma(vf32_splat(a[i * rs]), vf32_load(rows + r * NR + (size_t)j * L), *sum);
    }
  OX_UNROLL for (int i = 0; i < m; i++) OX_UNROLL for (int j = 0; j < NV; j++) OX_UNROLL for (int u = 1; u < ku; u++)
      acc[0][i][j] = vf32_add(acc[0][i][j], acc[u][i][j]);
  if (is_common(t)) {
    finish_common(t, acc[0], m);
    return;
  }
  _Alignas(64) float sums[MR * NR];
  OX_UNROLL for (int i = 0; i < m; i++) OX_UNROLL for (int j = 0; j < NV; j++)
      vf32_store(sums + i * NR + j * L, acc[0][i][j]);
  finish(t, sums);
}

/* Few rows have interleaved sums, as many as in gemm_f32_body.h. */
#define COMPRESSED_ROWS(m, ku) \
  case m:                      \
    multiply_rows(t, m, ku);   \
    break;

static void multiply(const ox_gemm_tile *t) {
  switch (t->m) {
    COMPRESSED_ROWS(1, 4)
    COMPRESSED_ROWS(2, 2)
    COMPRESSED_ROWS(3, 2)
    COMPRESSED_ROWS(4, 1)
    COMPRESSED_ROWS(5, 1)
    COMPRESSED_ROWS(6, 1)
#if COMPRESSED_MR >= 12
    COMPRESSED_ROWS(7, 1)
    COMPRESSED_ROWS(8, 1)
    COMPRESSED_ROWS(9, 1)
    COMPRESSED_ROWS(10, 1)
    COMPRESSED_ROWS(11, 1)
    COMPRESSED_ROWS(12, 1)
#endif
  }
}

const ox_compressed_kernels COMPRESSED_NAME = {
    .nr = NR, .form = COMPRESSED_FORM, .compress = compress, .multiply = multiply, .expand = expand};

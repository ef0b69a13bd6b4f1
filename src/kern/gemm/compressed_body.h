/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/compressed_body.h - the kernels of compressed.h. Cannot fail, cannot allocate, touch no global. Parameters:
 * COMPRESSED_NAME, COMPRESSED_FORM, COMPRESSED_MR (most rows in registers), COMPRESSED_MOST_BASE (largest base of a
 * group), COMPRESSED_BITS (of a weight), COMPRESSED_PANELS (how many panels are multiplied at a time). Include
 * simd/f32_<isa>.h first; define how a group holds its weights:
 *
 *     bool compress_group(const float *rows, uint8_t base, uint8_t *to); whether all weights are in range
 *     bool is_in_range(uint32_t bits, uint32_t base);
 *     void expand_group(const uint8_t *p, uint8_t base, vf32 *w); */
#include <string.h>

#include "base/pages.h"
#include "kern/gemm/compressed.h"

enum { NR = 2 * VF32_LANES, MR = COMPRESSED_MR };
#include "kern/gemm/gemm_f32_store.h"

enum {
  GROUP = OX_COMPRESSED_GROUP,
  VECTORS = GROUP * NV,
  SEGMENT = OX_COMPRESSED_ROWS,
  GROUP_BYTES = COMPRESSED_BITS * L
};
enum { SEGMENT_BYTES = sizeof(ox_compressed_head) + SEGMENT / GROUP * GROUP_BYTES };

/* ---- compressing ---- */

/* The largest exponent field of a group, less 15, but at least 0 and at most COMPRESSED_MOST_BASE. */
OX_INLINE int32_t base_of(const float *rows) {
  const vi32 field = vi32_splat(0xff);
  vi32 most = vi32_splat(15);
  OX_UNROLL for (int v = 0; v < VECTORS; v++) most =
      vi32_max(most, vi32_and(vi32_shr(vf32_bits(vf32_load(rows + v * L)), 23), field));
  return OX_MIN((int32_t)vf32_hmax(vi32_to_f32(most)) - 15, COMPRESSED_MOST_BASE);
}

/* Lists the weights of a group that are out of range, |first| being the place of the group's first one. */
static OX_NOINLINE void list(ox_compressed_head *h, const float *rows, size_t first, uint32_t base) {
  size_t n = 0;
  while (n < OX_COMPRESSED_LISTED && h->at[n] != OX_COMPRESSED_NONE) n++;
  for (size_t i = 0; i < GROUP * NR; i++) {
    uint32_t bits;
    memcpy(&bits, rows + i, sizeof bits);
    if (is_in_range(bits, base)) continue;
    if (n == OX_COMPRESSED_LISTED || h->at[0] == OX_COMPRESSED_TOO_MANY) {
      h->at[0] = OX_COMPRESSED_TOO_MANY;
      return;
    }
    h->at[n] = (uint16_t)(first + i), h->bits[n++] = bits;
  }
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

/* ---- expanding and multiplying ---- */

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

/* Writes the groups of a segment that begin in row |k0| and end before |end|, if no weight of it is listed. Returns
 * their rows. */
OX_INLINE size_t expand_whole(const ox_compressed_panel *p, size_t k0, size_t end, float *to) {
  const uint8_t *segment = (const uint8_t *)p->data + k0 / SEGMENT * SEGMENT_BYTES;
  const ox_compressed_head *h = (const ox_compressed_head *)(const void *)segment;
  if (k0 % GROUP || h->at[0] != OX_COMPRESSED_NONE) return 0;
  const size_t first = k0 % SEGMENT / GROUP, last = (OX_MIN(end - k0 + k0 % SEGMENT, (size_t)SEGMENT)) / GROUP;
  for (size_t g = first; g < last; g++, to += GROUP * NR) {
    vf32 w[VECTORS];
    expand_group(segment + sizeof *h + g * GROUP_BYTES, h->base[g], w);
    OX_UNROLL for (int v = 0; v < VECTORS; v++) vf32_store(to + v * L, w[v]);
  }
  return (last - first) * GROUP;
}

static void expand(const ox_compressed_panel *p, size_t k0, size_t kn, float *to) {
  float rows[GROUP * NR];
  for (size_t end = k0 + kn, n; k0 < end; k0 += n, to += n * NR) {
    if ((n = expand_whole(p, k0, end, to))) continue;
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

/* Memory is read from one end to the other, and the hardware prefetches it: on Zen, prefetching by instructions made it
 * slower. Sapphire Rapids reads 1.3 times as much if they prefetch to L2 (to L1 1.15 times, 2 KB ahead 1.13). |bytes|
 * are read at a time. */
OX_INLINE void fetch_ahead(const uint8_t *p, const size_t bytes) {
  enum { AHEAD = 8192 };
  OX_UNROLL for (size_t i = 0; i < bytes; i += 64) OX_PREFETCH_L2(p + AHEAD + i);
  ox_prefetch_pages(p + AHEAD, bytes);
}

/* Adds the last rows, fewer than a group, to the sums that the plain kernel adds them to, and stores one panel's sums.
 * |a| is at the column of the first of these rows. */
OX_INLINE void finish_panel(const ox_gemm_tile *t, const float *a, vf32 acc[4][MR][NV], const int m, const int ku) {
  const ox_compressed_panel panel = {t->b, t->k, t->col, t->n, t->whole};
  const size_t rest = t->k % GROUP;
  float rows[GROUP * NR];
  if (rest) expand(&panel, t->k - rest, rest, rows);
  for (size_t r = 0; r < rest; r++, a += t->a_ks)
    OX_UNROLL for (int i = 0; i < m; i++) OX_UNROLL for (int j = 0; j < NV; j++) {
      vf32 *sum = &acc[ku == 2 && r == 1][i][j];
      *sum = vf32_fma(vf32_splat(a[i * t->a_rs]), vf32_load(rows + r * NR + (size_t)j * L), *sum);
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

extern const ox_compressed_kernels COMPRESSED_NAME;

#if COMPRESSED_PANELS > 1
#include "kern/gemm/compressed_abreast.h"
#else
#include "kern/gemm/compressed_one.h"
#endif

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

const ox_compressed_kernels COMPRESSED_NAME = {.nr = NR,
                                               .panels = COMPRESSED_PANELS,
                                               .bits = COMPRESSED_BITS,
                                               .form = COMPRESSED_FORM,
                                               .compress = compress,
                                               .multiply = multiply,
                                               .expand = expand};

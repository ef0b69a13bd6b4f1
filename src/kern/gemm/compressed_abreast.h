/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/compressed_abreast.h - multiplies by several compressed panels at a time, in turns: each is a stream of
 * memory of its own. The hardware of Zen 3 prefetches four streams 1.45 times as fast as one (28 GB/s a core, small
 * pages or huge ones), if turns have 512 bytes or less; prefetching one by instructions gains a tenth. Included by
 * compressed_body.h. */

enum { TURN = 2 /* groups */, MOST_SUMS = 6 * NR /* floats of a panel: rows times interleaved sums, times NR */ };

/* Which groups of a segment have listed weights, as bits. */
OX_INLINE uint32_t listed_groups(const ox_compressed_head *h) {
  if (OX_LIKELY(h->at[0] == OX_COMPRESSED_NONE)) return 0;
  if (h->at[0] == OX_COMPRESSED_TOO_MANY) return UINT32_MAX;
  uint32_t groups = 0;
  for (size_t i = 0; i < OX_COMPRESSED_LISTED && h->at[i] != OX_COMPRESSED_NONE; i++)
    groups |= (uint32_t)1 << h->at[i] / (GROUP * NR);
  return groups;
}

/* Adds the products of |n| groups of a segment, from |g| on. The sums are kept in memory between turns. */
OX_INLINE void multiply_turn(const ox_gemm_tile *t, const uint8_t *segment, size_t g, const float *a, float *sums,
                             const int n, const int m, const int ku) {
  const ox_compressed_head *h = (const ox_compressed_head *)(const void *)segment;
  const uint8_t *group = segment + sizeof *h + g * GROUP_BYTES;
  vf32 acc[4][MR][NV], w[VECTORS];
  float *at = sums;
  OX_UNROLL for (int u = 0; u < ku; u++) OX_UNROLL for (int i = 0; i < m; i++) OX_UNROLL for (int j = 0; j < NV; j++)
      acc[u][i][j] = vf32_load(at),
      at += L;
  OX_UNROLL for (int i = 0; i < n; i++) {
    expand_group(group + i * GROUP_BYTES, h->base[g + (size_t)i], w);
    multiply_group(acc, w, a + i * GROUP * t->a_ks, t->a_rs, t->a_ks, m, ku);
  }
  at = sums;
  OX_UNROLL for (int u = 0; u < ku; u++) OX_UNROLL for (int i = 0; i < m; i++) OX_UNROLL for (int j = 0; j < NV; j++)
      vf32_store(at, acc[u][i][j]),
      at += L;
}

/* The same for one group, row |k0| and those after it, that may have listed weights. */
OX_INLINE void multiply_listed(const ox_gemm_tile *t, const ox_compressed_panel *p, size_t k0, const float *a,
                               float *sums, const int m, const int ku) {
  float rows[GROUP * NR];
  expand_any(p, k0, GROUP, rows);
  OX_UNROLL for (int r = 0; r < GROUP; r++) OX_UNROLL for (int i = 0; i < m; i++)
      OX_UNROLL for (int j = 0; j < NV; j++) {
    float *sum = sums + ((r % ku * m + i) * NV + j) * L;
    vf32_store(sum,
               vf32_fma(vf32_splat(a[i * t->a_rs + r * t->a_ks]), vf32_load(rows + (r * NV + j) * L), vf32_load(sum)));
  }
}

/* |m| and |ku| are constants after inlining. */
OX_INLINE void multiply_rows(const ox_gemm_tile *t, const int m, const int ku) {
  const size_t panels = OX_CEIL_DIV(t->n, (size_t)NR), panel_bytes = ox_compressed_panel_bytes(&COMPRESSED_NAME, t->k);
  const ptrdiff_t ks = t->a_ks;
  const float *a = t->a;
  _Alignas(64) float sums[COMPRESSED_PANELS][MOST_SUMS];
  memset(sums, 0, sizeof sums);
  const uint8_t *first = t->b; /* segment of the first panel */
  for (size_t k0 = 0; k0 < t->k; k0 += SEGMENT, first += SEGMENT_BYTES) {
    uint32_t listed[COMPRESSED_PANELS];
    for (size_t q = 0; q < panels; q++) {
      listed[q] = listed_groups((const ox_compressed_head *)(const void *)(first + q * panel_bytes));
    }
    const size_t groups = OX_MIN(t->k - k0, (size_t)SEGMENT) / GROUP;
    for (size_t g = 0, n; g < groups; g += n, a += (ptrdiff_t)(n * GROUP) * ks) {
      n = OX_MIN(groups - g, (size_t)TURN);
      for (size_t q = 0; q < panels; q++) {
        const uint8_t *segment = first + q * panel_bytes;
        if (t->streams) fetch_ahead(segment + g * GROUP_BYTES, TURN * GROUP_BYTES);
        if (OX_LIKELY((listed[q] >> g & ((1 << TURN) - 1)) == 0)) {
          if (n == TURN)
            multiply_turn(t, segment, g, a, sums[q], TURN, m, ku);
          else
            multiply_turn(t, segment, g, a, sums[q], 1, m, ku);
          continue;
        }
        const ox_compressed_panel panel = {(const uint8_t *)t->b + q * panel_bytes, t->k, t->col + q * NR,
                                           OX_MIN(t->n - q * NR, (size_t)NR), t->whole};
        for (size_t i = 0; i < n; i++)
          multiply_listed(t, &panel, k0 + (g + i) * GROUP, a + (ptrdiff_t)(i * GROUP) * ks, sums[q], m, ku);
      }
    }
  }
  for (size_t q = 0; q < panels; q++) {
    ox_gemm_tile one = *t;
    vf32 acc[4][MR][NV];
    const float *at = sums[q];
    one.b = (const uint8_t *)t->b + q * panel_bytes, one.col = t->col + q * NR;
    one.n = OX_MIN(t->n - q * NR, (size_t)NR), one.c = (char *)t->c + q * NR * (t->c_type == OX_F32 ? 4 : 2);
    if (t->part) one.part = t->part + q * NR;
    OX_UNROLL for (int u = 0; u < ku; u++) OX_UNROLL for (int i = 0; i < m; i++) OX_UNROLL for (int j = 0; j < NV; j++)
        acc[u][i][j] = vf32_load(at),
        at += L;
    finish_panel(&one, a, acc, m, ku);
  }
}

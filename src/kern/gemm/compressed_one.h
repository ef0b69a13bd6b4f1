/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/compressed_one.h - multiplies by one compressed panel after the other, from end to end. Included by
 * compressed_body.h. */

/* Of a segment of |n| groups, those before the first one from |g| on that has listed weights. */
OX_INLINE size_t exact_until(const ox_compressed_head *h, size_t g, size_t n) {
  for (size_t i = 0; i < OX_COMPRESSED_LISTED; i++) {
    size_t group = h->at[i] / (GROUP * NR);
    if (group >= g) return OX_MIN(group, n); /* the end of the list is beyond all groups */
  }
  return n;
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
        if (t->streams) fetch_ahead(group, GROUP_BYTES);
        expand_group(group, h->base[g], w);
        multiply_group(acc, w, a, rs, ks, m, ku);
      }
      if (g == n) break;
      expand(&panel, k0 + g * GROUP, GROUP, rows);
      OX_UNROLL for (int v = 0; v < VECTORS; v++) w[v] = vf32_load(rows + v * L);
      multiply_group(acc, w, a, rs, ks, m, ku);
    }
  }
  finish_panel(t, a, acc, m, ku);
}

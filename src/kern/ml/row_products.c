/* SPDX-License-Identifier: Apache-2.0
 * kern/ml/row_products.c - packing, the choice of the variant and the loop over panels. */
#include "kern/ml/row_products.h"

#include <string.h>

#include "base/macros.h"

enum { MR = 8 };

static const struct {
  ox_isa needs;
  ox_row_products_fn *fn;
} variants[] = {
#if OX_BUILD_AVX512
    {OX_AVX512, ox_row_products__avx512},
#endif
#if OX_BUILD_AVX2
    {OX_AVX2, ox_row_products__avx2},
#endif
#if OX_BUILD_NEON
    {OX_NEON, ox_row_products__neon},
#endif
    {0, ox_row_products__scalar},
};

bool ox_row_panels_build(ox_row_panels *out, const float *m, int64_t n, int64_t k, ox_arena *arena) {
  int64_t panels = OX_CEIL_DIV(n, OX_PANEL_ROWS);
  float *p = ox_arena_array(arena, (size_t)OX_MAX(panels * k, 1), OX_PANEL_ROWS * sizeof(float));
  *out = (ox_row_panels){p, n, k};
  for (int64_t i = 0; p && i < n; i++)
    for (int64_t e = 0; e < k; e++) p[(i / OX_PANEL_ROWS * k + e) * OX_PANEL_ROWS + i % OX_PANEL_ROWS] = m[i * k + e];
  return p != NULL;
}

void ox_row_products_run(const ox_row_panels *m, ox_isa isa, bool distance, const float *x, int64_t rows, float *y,
                         int64_t ldy) {
  float block[MR * OX_PANEL_ROWS];
  size_t v = 0;
  while (variants[v].needs & ~isa) v++; /* the last line needs nothing */
  for (int64_t r = 0; r < rows; r += MR)
    for (int64_t i = 0; i < m->n; i += OX_PANEL_ROWS) {
      int live = (int)OX_MIN(rows - r, MR);
      variants[v].fn(m->p + i * m->k, m->k, distance, x + r * m->k, live, block);
      if (m->n == 1) { /* the usual regressor */
        for (int s = 0; s < live; s++) y[(r + s) * ldy] = block[s * OX_PANEL_ROWS];
        continue;
      }
      for (int s = 0; s < live; s++)
        memcpy(y + (r + s) * ldy + i, block + s * OX_PANEL_ROWS,
               (size_t)OX_MIN(m->n - i, OX_PANEL_ROWS) * sizeof(float));
    }
}

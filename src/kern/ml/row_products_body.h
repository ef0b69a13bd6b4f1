/* SPDX-License-Identifier: Apache-2.0
 * kern/ml/row_products_body.h - up to eight rows of x with the rows of one panel. ROW_PRODUCTS_RUN names the function.
 */
#include "kern/ml/row_products.h"

enum { PV = OX_PANEL_ROWS / VF32_LANES };

OX_INLINE void panel_block(const int rows, bool distance, const float *panel, int64_t k, const float *x, float *y) {
  for (int j = 0; j < PV; j++, panel += VF32_LANES, y += VF32_LANES) {
    vf32 acc[8];
    OX_UNROLL for (int r = 0; r < rows; r++) acc[r] = vf32_zero();
    for (int64_t e = 0; e < k; e++) {
      vf32 m = vf32_load(panel + e * OX_PANEL_ROWS);
      OX_UNROLL for (int r = 0; r < rows; r++) {
        vf32 v = vf32_splat(x[r * k + e]);
        if (distance)
          v = vf32_sub(v, m), acc[r] = vf32_fma(v, v, acc[r]);
        else
          acc[r] = vf32_fma(v, m, acc[r]);
      }
    }
    OX_UNROLL for (int r = 0; r < rows; r++) vf32_store(y + r * OX_PANEL_ROWS, acc[r]);
  }
}

void ROW_PRODUCTS_RUN(const float *panel, int64_t k, bool distance, const float *x, int rows, float *y) {
  if (rows == 8 && distance)
    panel_block(8, true, panel, k, x, y);
  else if (rows == 8)
    panel_block(8, false, panel, k, x, y);
  else
    for (int r = 0; r < rows; r++) {
      if (distance)
        panel_block(1, true, panel, k, x + r * k, y + r * OX_PANEL_ROWS);
      else
        panel_block(1, false, panel, k, x + r * k, y + r * OX_PANEL_ROWS);
    }
}

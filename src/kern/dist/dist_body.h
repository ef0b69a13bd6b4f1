/* SPDX-License-Identifier: Apache-2.0
 * kern/dist/dist_body.h - lanes are rows of y, so nothing is summed across lanes; four rows of x share the loads of y.
 * DIST_NAME: the name of the function. */
#include "kern/dist/dist.h"

/* Columns [j, j + V * lanes) or, at the end, |have| of one vector. */
#define DIST_BLOCK(V, load, store)                                                                       \
  do {                                                                                                   \
    vf32 sum[X][V];                                                                                      \
    OX_UNROLL for (int i = 0; i < X; i++) OX_UNROLL for (int v = 0; v < V; v++) sum[i][v] = vf32_zero(); \
    for (int64_t k = 0; k < n; k++) {                                                                    \
      vf32 b[V];                                                                                         \
      OX_UNROLL for (int v = 0; v < V; v++) b[v] = load(yt + k * rows + j + v * L);                      \
      OX_UNROLL for (int i = 0; i < X; i++) {                                                            \
        vf32 a = vf32_splat(row[i][k]);                                                                  \
        OX_UNROLL for (int v = 0; v < V; v++) {                                                          \
          vf32 d = vf32_sub(a, b[v]);                                                                    \
          sum[i][v] = vf32_fma(d, d, sum[i][v]);                                                         \
        }                                                                                                \
      }                                                                                                  \
    }                                                                                                    \
    for (int i = 0; i < n_x; i++)                                                                        \
      OX_UNROLL for (int v = 0; v < V; v++)                                                              \
          store(out + i * rows + j + v * L, root ? vf32_sqrt(sum[i][v]) : sum[i][v]);                    \
  } while (0)
#define LOAD_PART(p) vf32_load_n(p, have)
#define STORE_PART(p, v) vf32_store_n(p, v, have)

void DIST_NAME(const float *x, int n_x, const float *yt, float *out, int64_t rows, int64_t n, bool root) {
  enum { X = OX_DIST_ROWS, L = VF32_LANES };
  const float *row[X];
  int64_t j = 0;
  for (int i = 0; i < X; i++) row[i] = x + OX_MIN(i, n_x - 1) * n;
  for (; j + 2 * L <= rows; j += 2 * L) DIST_BLOCK(2, vf32_load, vf32_store);
  for (; j < rows; j += L) {
    size_t have = (size_t)OX_MIN(rows - j, L);
    DIST_BLOCK(1, LOAD_PART, STORE_PART);
  }
}

/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/winograd_filter_body.h - U = G g G^T of filters in double, rounded once, by plain loops that the compiler
 * vectorises for its file's instruction set; and single rows of U in floats. Part of winograd_body.h. */

typedef double lanes[OX_BLOCK];

/* G g of |n| points along one axis: o[point] of |r| taps. */
OX_INLINE void filter_points(int n, int r, lanes *taps, size_t step, lanes *o) {
  const ox_wino_points *pt = ox_wino_points_of(n);
  const double *last = taps[(size_t)(r - 1) * step];
  double first = 1 / (double)pt->q[0];
  for (int l = 0; l < OX_BLOCK; l++) o[0][l] = taps[0][l] * first, o[n - 1][l] = last[l];
  for (int i = 0; i < n / 2 - 1; i++) {
    double p = (double)pt->p[i], power = 1 / ox_wino_norm(n, i), odd[OX_BLOCK] = {0}, *even = o[2 * i + 1];
    for (int l = 0; l < OX_BLOCK; l++) even[l] = 0;
    for (int t = 0; t < r; t++, power *= p) {
      double *sum = t % 2 ? odd : even;
      for (int l = 0; l < OX_BLOCK; l++) sum[l] += taps[(size_t)t * step][l] * power;
    }
    for (int l = 0; l < OX_BLOCK; l++) o[2 * i + 2][l] = even[l] - odd[l], even[l] += odd[l];
  }
}

/* U along one axis: o[weight] of the taps. */
OX_INLINE void filter_axis(ox_wino_kind k, lanes *taps, size_t step, lanes *o) {
  const int n = ox_wino_interpolated(k);
  if (k == OX_WINO_F2_STRIDE2) {
    const double *a = taps[0], *b = taps[step], *c = taps[2 * step];
    for (int l = 0; l < OX_BLOCK; l++) o[0][l] = a[l], o[1][l] = a[l] + c[l], o[2][l] = c[l], o[3][l] = b[l];
  } else if (ox_wino_stride(k) == 2) {
    filter_points(n, 2, taps, 2 * step, o);
    for (int l = 0; l < OX_BLOCK; l++) o[n][l] = taps[step][l];
  } else {
    filter_points(n, ox_wino_taps(k), taps, step, o);
  }
}

/* One input channel of |width| filters: |f| is [taps][width], u[point][width]. */
OX_INLINE void filter_as(ox_wino_kind kind, const float *f, size_t width, float *u, size_t u_point) {
  const int n = ox_wino_weights(kind), taps = ox_wino_window_taps(kind), rows = ox_wino_rows_weights(kind);
  for (size_t at = 0; at < width; at += OX_BLOCK) {
    lanes g[9], half[3 * OX_WINO_MAX_N], row[OX_WINO_MAX_N];
    for (int k = 0; k < taps; k++)
      for (size_t l = 0; l < OX_BLOCK; l++) g[k][l] = (double)f[(size_t)k * width + at + l];
    for (int b = 0; b < 3 && rows > 1; b++) filter_axis(kind, g + b, 3, half + b * n); /* [tap along the row][point] */
    for (int r = 0; r < rows; r++) {
      filter_axis(kind, rows > 1 ? half + r : g, rows > 1 ? (size_t)n : 1, row);
      for (int c = 0; c < n; c++)
        for (size_t l = 0; l < OX_BLOCK; l++) u[(size_t)(r * n + c) * u_point + at + l] = (float)row[c][l];
    }
  }
}

/* ---- U row by row, in floats ---- */

/* G g at point |i| of an axis without its scale: then the coefficients of G are 1, p and p^2, which are exact. */
OX_INLINE vf32 unscaled(int m, int i, vf32 a, vf32 b, vf32 c) {
  if (i == 0 || i == m + 1) return i ? c : a;
  float p = ox_wino_points_of(m + 2)->p[(i - 1) / 2];
  return vf32_fma(vf32_splat(i % 2 ? p : -p), b, vf32_fma(vf32_splat(p * p), c, a));
}

OX_INLINE double scale_of(int m, int i) {
  if (i == 0) return 1 / (double)ox_wino_points_of(m + 2)->q[0];
  return i == m + 1 ? 1 : 1 / ox_wino_norm(m + 2, (i - 1) / 2);
}

OX_INLINE void filter_row_as(int m, int row, const float *f, size_t ic, size_t width, float *u) {
  const bool inner = row > 0 && row <= m;
  const size_t first = row > m ? 6 * width : 0, second = inner ? 3 * width : first, third = inner ? 6 * width : first;
  vf32 scale[OX_WINO_MAX_N];
  OX_UNROLL for (int i = 0; i < m + 2; i++) scale[i] = vf32_splat((float)(scale_of(m, row) * scale_of(m, i)));
  for (size_t c = 0; c < ic; c++, f += 9 * width, u += (size_t)(m + 2) * width)
    OX_UNROLL for (size_t at = 0; at < width; at += (size_t)L) {
      vf32 g[3];
      OX_UNROLL for (size_t k = 0; k < 3; k++) {
        const float *from = f + k * width + at;
        g[k] = unscaled(m, row, vf32_load(from + first), vf32_load(from + second), vf32_load(from + third));
      }
      OX_UNROLL for (int i = 0; i < m + 2; i++)
          vf32_store(u + (size_t)i * width + at, vf32_mul(scale[i], unscaled(m, i, g[0], g[1], g[2])));
    }
}

static void filter_row4(const float *f, size_t ic, size_t width, int row, float *u) {
  switch (row) { /* a loop for each */
#define FILTER_ROW(r)                                                         \
  case r:                                                                     \
    if (width == OX_WINO_PAIR)                                                \
      filter_row_as(4, r, f, ic, OX_WINO_PAIR, u); /* with constant widths */ \
    else                                                                      \
      filter_row_as(4, r, f, ic, OX_BLOCK, u);                                \
    break;
    FILTER_ROW(0)
    FILTER_ROW(1)
    FILTER_ROW(2)
    FILTER_ROW(3)
    FILTER_ROW(4)
    FILTER_ROW(5)
#undef FILTER_ROW
  }
}

/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/winograd_filter_body.h - U = G g G^T of filters, in double and rounded once: plain loops that the
 * compiler vectorises at its file's instruction set. Part of winograd_body.h. */

typedef double lanes[OX_BLOCK];

/* G g along one axis: o[point] of the three taps. */
OX_INLINE void filter_axis(ox_wino_kind k, lanes *taps, size_t step, lanes *o) {
  const double *a = taps[0], *b = taps[step], *c = taps[2 * step];
  if (k == OX_WINO_F2_STRIDE2) {
    for (int l = 0; l < OX_BLOCK; l++) o[0][l] = a[l], o[1][l] = a[l] + c[l], o[2][l] = c[l], o[3][l] = b[l];
    return;
  }
  const int m = ox_wino_m(k);
  const ox_wino_points *pt = ox_wino_points_of(m);
  double first = 1 / (double)pt->q[0];
  for (int l = 0; l < OX_BLOCK; l++) o[0][l] = a[l] * first, o[m + 1][l] = c[l];
  OX_UNROLL for (int i = 0; i < m / 2; i++) {
    double p = (double)pt->p[i], scale = 1 / ox_wino_norm(m, i);
    for (int l = 0; l < OX_BLOCK; l++) {
      double even = (a[l] + c[l] * (p * p)) * scale, odd = b[l] * (p * scale);
      o[2 * i + 1][l] = even + odd, o[2 * i + 2][l] = even - odd;
    }
  }
}

/* One input channel of |width| filters: |f| is [9][width], u[point][width]. */
OX_INLINE void filter_as(ox_wino_kind kind, const float *f, size_t width, float *u, size_t u_point) {
  const int n = ox_wino_weights(kind);
  for (size_t at = 0; at < width; at += OX_BLOCK) {
    lanes g[9], half[3 * OX_WINO_MAX_N], row[OX_WINO_MAX_N];
    for (int k = 0; k < 9; k++)
      for (size_t l = 0; l < OX_BLOCK; l++) g[k][l] = (double)f[(size_t)k * width + at + l];
    for (int b = 0; b < 3; b++) filter_axis(kind, g + b, 3, half + b * n); /* [tap along the row][point] */
    for (int r = 0; r < n; r++) {
      filter_axis(kind, half + r, (size_t)n, row);
      for (int c = 0; c < n; c++)
        for (size_t l = 0; l < OX_BLOCK; l++) u[(size_t)(r * n + c) * u_point + at + l] = (float)row[c][l];
    }
  }
}

/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/winograd_points.h - the points of F(2) and F(4) and what follows from them.
 *
 * With Q(x) = prod (x^2 - p_j^2) and Q_i the same without p_i, the rows of B^T are the coefficients of Q (point 0),
 * x (x +- p_i) Q_i (points +-p_i) and x Q (infinity). Those of G are (1, p, p^2) / N(p), where N(p) is the row's
 * polynomial at its own point; those of A^T the powers of the points. All numbers of B^T and A^T are exact as floats.
 *
 * Why these points: with them the largest error of F(4), relative to the sum of magnitudes, on 64 channels of normally
 * distributed numbers, is 2.7e-7; that of plain sums is 2e-7, and that of F(4) with +-1, +-2 is 1.5e-6. F(6) has 2e-6
 * at best (+-1/2, +-1, +-7/4) and saved only 5 % of the time, so it is not provided. */
#ifndef OX_KERN_BLOCKS_WINOGRAD_POINTS_H
#define OX_KERN_BLOCKS_WINOGRAD_POINTS_H

enum { OX_WINO_PAIRS = 2 /* at most: p and -p */ };

typedef struct ox_wino_points {
  float p[OX_WINO_PAIRS];
  float q[OX_WINO_PAIRS + 1];                  /* Q: coefficients of x^0, x^2, ... */
  float without[OX_WINO_PAIRS][OX_WINO_PAIRS]; /* Q_i */
} ox_wino_points;

static inline const ox_wino_points *ox_wino_points_of(int m) {
  static const ox_wino_points f2 = {{1}, {-1, 1}, {{1}}};
  static const ox_wino_points f4 = {{0.75f, 1.5f}, {1.265625f, -2.8125f, 1}, {{-2.25f, 1}, {-0.5625f, 1}}};
  return m == 2 ? &f2 : &f4;
}

/* N at point p_i, and at -p_i. */
static inline double ox_wino_norm(int m, int i) {
  const ox_wino_points *pt = ox_wino_points_of(m);
  double p2 = (double)pt->p[i] * (double)pt->p[i], sum = 0;
  for (int k = m / 2; k-- > 0;) sum = sum * p2 + (double)pt->without[i][k];
  return 2 * p2 * sum;
}

#endif

/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/winograd_points.h - the interpolation points of Winograd's algorithm and what follows from them.
 *
 * With Q(x) = prod (x^2 - p_j^2) and Q_i the same without p_i, the rows of B^T are the coefficients of Q (point 0),
 * x (x +- p_i) Q_i (points +-p_i) and x Q (infinity). Those of G are (1, p, p^2, ...) / N(p), where N(p) is the row's
 * polynomial at its own point; those of A^T the powers of the points.
 *
 * Why these points: with them the largest error of F(4) of 3 x 3, relative to the sum of magnitudes, on 64 channels of
 * normally distributed numbers, is 2.7e-7; that of plain sums is 2e-7, and that of F(4) with +-1, +-2 is 1.5e-6. F(6)
 * of 3 x 3 has 2e-6 at best (+-1/2, +-1, +-7/4) and saved only 5 % of the time, so it is not provided. Along one axis
 * only, errors are smaller: 5e-7 with 8 points and 6 outputs, 6e-7 with 10 and 6 or 4 (lognormal inputs: 1e-6, 3.5e-6).
 * 12 points have twice that, for a sixth fewer products.
 */
#ifndef OX_KERN_BLOCKS_WINOGRAD_POINTS_H
#define OX_KERN_BLOCKS_WINOGRAD_POINTS_H

enum { OX_WINO_PAIRS = 4 /* at most: p and -p */ };

typedef struct ox_wino_points {
  float p[OX_WINO_PAIRS];
  float q[OX_WINO_PAIRS + 1];                  /* Q: coefficients of x^0, x^2, ... */
  float without[OX_WINO_PAIRS][OX_WINO_PAIRS]; /* Q_i */
} ox_wino_points;

/* The coefficients of prod (x^2 - a^2) for a, b, ..., which are exact as floats: sums of short binary fractions. */
#define OX_WINO_SQ(a) ((a) * (a))
#define OX_WINO_Q1(a) \
  { -OX_WINO_SQ(a), 1 }
#define OX_WINO_Q2(a, b) \
  { OX_WINO_SQ((a) * (b)), -(OX_WINO_SQ(a) + OX_WINO_SQ(b)), 1 }
#define OX_WINO_Q3(a, b, c)                                                                              \
  {                                                                                                      \
    -OX_WINO_SQ((a) * (b) * (c)), OX_WINO_SQ((a) * (b)) + OX_WINO_SQ((a) * (c)) + OX_WINO_SQ((b) * (c)), \
        -(OX_WINO_SQ(a) + OX_WINO_SQ(b) + OX_WINO_SQ(c)), 1                                              \
  }
#define OX_WINO_Q4(a, b, c, d)                                                                          \
  {                                                                                                     \
    OX_WINO_SQ((a) * (b) * (c) * (d)),                                                                  \
        -(OX_WINO_SQ((a) * (b) * (c)) + OX_WINO_SQ((a) * (b) * (d)) + OX_WINO_SQ((a) * (c) * (d)) +     \
          OX_WINO_SQ((b) * (c) * (d))),                                                                 \
        OX_WINO_SQ((a) * (b)) + OX_WINO_SQ((a) * (c)) + OX_WINO_SQ((a) * (d)) + OX_WINO_SQ((b) * (c)) + \
            OX_WINO_SQ((b) * (d)) + OX_WINO_SQ((c) * (d)),                                              \
        -(OX_WINO_SQ(a) + OX_WINO_SQ(b) + OX_WINO_SQ(c) + OX_WINO_SQ(d)), 1                             \
  }

/* Of a transform of |n| points. */
static inline const ox_wino_points *ox_wino_points_of(int n) {
  static const ox_wino_points p4 = {{1}, OX_WINO_Q1(1.0f), {{1}}};
  static const ox_wino_points p6 = {{0.75f, 1.5f}, OX_WINO_Q2(0.75f, 1.5f), {OX_WINO_Q1(1.5f), OX_WINO_Q1(0.75f)}};
  static const ox_wino_points p8 = {{0.5f, 1, 1.75f},
                                    OX_WINO_Q3(0.5f, 1.0f, 1.75f),
                                    {OX_WINO_Q2(1.0f, 1.75f), OX_WINO_Q2(0.5f, 1.75f), OX_WINO_Q2(0.5f, 1.0f)}};
  static const ox_wino_points p10 = {{0.375f, 0.875f, 1.25f, 2.5f},
                                     OX_WINO_Q4(0.375f, 0.875f, 1.25f, 2.5f),
                                     {OX_WINO_Q3(0.875f, 1.25f, 2.5f), OX_WINO_Q3(0.375f, 1.25f, 2.5f),
                                      OX_WINO_Q3(0.375f, 0.875f, 2.5f), OX_WINO_Q3(0.375f, 0.875f, 1.25f)}};
  return n == 4 ? &p4 : n == 6 ? &p6 : n == 8 ? &p8 : &p10;
}

/* N at point p_i, and at -p_i. */
static inline double ox_wino_norm(int n, int i) {
  const ox_wino_points *pt = ox_wino_points_of(n);
  double p2 = (double)pt->p[i] * (double)pt->p[i], sum = 0;
  for (int k = (n - 2) / 2; k-- > 0;) sum = sum * p2 + (double)pt->without[i][k];
  return 2 * p2 * sum;
}

#endif

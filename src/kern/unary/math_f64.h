/* SPDX-License-Identifier: Apache-2.0
 * kern/unary/math_f64.h - functions of doubles without branches or calls, so that loops over them become vectors. Sums
 * and products only, in one order: the same bits on every instruction set. static inline only: ISA files include it. */
#ifndef OX_KERN_UNARY_MATH_F64_H
#define OX_KERN_UNARY_MATH_F64_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/macros.h"

/* The sum of this and a number below 2^51 has the nearest integer in its low bits. */
#define OX_F64_SHIFT 0x1.8p52

OX_INLINE uint64_t ox_f64_bits(double x) {
  uint64_t u;
  memcpy(&u, &x, 8);
  return u;
}
OX_INLINE double ox_f64_of(uint64_t u) {
  double x;
  memcpy(&x, &u, 8);
  return x;
}
OX_INLINE double ox_f64_nearest(double x) { return (x + OX_F64_SHIFT) - OX_F64_SHIFT; }
/* 2^n of a whole n from -1022 to 1023 */
OX_INLINE double ox_f64_power(double n) { return ox_f64_of((ox_f64_bits(n + OX_F64_SHIFT) + 1023) << 52); }
OX_INLINE double ox_f64_at_least(double x, double least) { return x < least ? least : x; }
OX_INLINE double ox_f64_at_most(double x, double most) { return x > most ? most : x; }

/* e^r - 1 for |r| <= log(2) / 2: the series, cut off below 2^-57. */
OX_INLINE double ox_f64_expm1_near(double r) {
  double q = 1.0 / 6227020800;
  q = q * r + 1.0 / 479001600, q = q * r + 1.0 / 39916800, q = q * r + 1.0 / 3628800;
  q = q * r + 1.0 / 362880, q = q * r + 1.0 / 40320, q = q * r + 1.0 / 5040, q = q * r + 1.0 / 720;
  q = q * r + 1.0 / 120, q = q * r + 1.0 / 24, q = q * r + 1.0 / 6, q = q * r + 0.5;
  return q * (r * r) + r;
}

/* x = n log(2) + r. The product with the first part of log(2) is exact. */
OX_INLINE double ox_f64_split_log2(double x, double *n) {
  *n = ox_f64_nearest(x * 0x1.71547652b82fep0);
  return (x - *n * 0x1.62e42feep-1) - *n * 0x1.a39ef35793c76p-33;
}

/* 2^n in two factors: denormal results are rounded once, and 2^1024 does not overflow early. */
OX_INLINE double ox_f64_exp(double x) {
  double n, r = ox_f64_split_log2(ox_f64_at_most(ox_f64_at_least(x, -746), 710), &n);
  double half = ox_f64_nearest(n * 0.5);
  return (1 + ox_f64_expm1_near(r)) * ox_f64_power(half) * ox_f64_power(n - half);
}

/* x <= 700 */
OX_INLINE double ox_f64_expm1(double x) {
  double n, p = ox_f64_expm1_near(ox_f64_split_log2(ox_f64_at_least(x, -50), &n)), two = ox_f64_power(n);
  return two * p + (two - 1);
}

OX_INLINE double ox_f64_sigmoid(double x) {
  double e = ox_f64_exp(-fabs(x));
  return (x < 0 ? e : 1) / (1 + e);
}

/* From 20 on it is 1. */
OX_INLINE double ox_f64_tanh(double x) {
  double t = ox_f64_expm1(ox_f64_at_most(2 * fabs(x), 40));
  return copysign(t / (t + 2), x);
}

/* tanh(log(1 + e)) = ((1 + e)^2 - 1) / ((1 + e)^2 + 1) of e = e^x. From 40 on it is 1. */
OX_INLINE double ox_f64_tanh_softplus(double x) {
  double e = ox_f64_exp(ox_f64_at_most(x, 40)), t = e * (e + 2);
  return t / (t + 2);
}

/* For larger numbers the products with the parts of pi / 2 are not exact. */
#define OX_F64_TRIG_LIMIT 0x1p20

/* sin(x + quarter pi / 2), |x| <= OX_F64_TRIG_LIMIT: x = n pi / 2 + r + rest, then fdlibm's polynomials for sine and
 * cosine of r + rest, of which n selects one. */
OX_INLINE double ox_f64_trig(double x, uint64_t quarter) {
  double n = ox_f64_nearest(x * 0x1.45f306dc9c883p-1), a = x - n * 0x1.921fb544p0, w = n * 0x1.0b4611a6p-34, t = a - w;
  double back = a - t, off = (a - (t + back)) + (back - w), tail = n * 0x1.3198a2e037073p-69 - off;
  double r = t - tail, rest = (t - r) - tail, z = r * r, v = z * r;
  double s = 1.58969099521155010221e-10;
  s = s * z - 2.50507602534068634195e-08, s = s * z + 2.75573137070700676789e-06;
  s = s * z - 1.98412698298579493134e-04, s = s * z + 8.33333333332248946124e-03;
  s = r - ((z * (0.5 * rest - v * s) - rest) + v * 1.66666666666666324348e-01);
  double c = -1.13596475577881948265e-11;
  c = c * z + 2.08757232129817482790e-09, c = c * z - 2.75573143513906633035e-07;
  c = c * z + 2.48015872894767294178e-05, c = c * z - 1.38888888888741095749e-03;
  c = (c * z + 4.16666666666666019037e-02) * z;
  double half = 0.5 * z, one = 1 - half;
  c = one + (((1 - one) - half) + (z * c - r * rest));
  uint64_t q = ox_f64_bits(n + OX_F64_SHIFT) + quarter;
  return ox_f64_of(ox_f64_bits(q & 1 ? c : s) ^ (q & 2) << 62);
}

#endif

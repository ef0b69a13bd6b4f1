/* SPDX-License-Identifier: Apache-2.0
 * kern/signal/fft_body.h - the transform for one type, REAL; FFT_PLAN, FFT_INIT, FFT_RUN are its names. */
#include <math.h>
#include <string.h>

#include "base/macros.h"
#include "kern/signal/fft.h"

static const double two_pi = 6.283185307179586476925;

/* One pass of radix |r| over sub-transforms of length |n| = r * m, |s| of them interleaved: decimation in frequency,
 * self-sorting. x: input, y: output; w: the table of |len| roots of unity, of which every |s|-th is used. A piece of a
 * pass has p in [p0, p1) and q in [q0, q1); a whole pass has code of its own, so that pieces do not slow it down. */
typedef struct pass {
  const REAL *xr, *xi, *wr, *wi;
  REAL *yr, *yi;
  int64_t m, s, len, p0, p1, q0, q1;
} pass;

OX_INLINE void pass2(const pass *t, const bool whole) {
  for (int64_t p = whole ? 0 : t->p0; p < (whole ? t->m : t->p1); p++) {
    REAL c = t->wr[p * t->s], d = t->wi[p * t->s];
    const REAL *xr = t->xr + t->s * p, *xi = t->xi + t->s * p;
    REAL *yr = t->yr + t->s * 2 * p, *yi = t->yi + t->s * 2 * p;
    int64_t far = t->s * t->m;
    for (int64_t q = whole ? 0 : t->q0; q < (whole ? t->s : t->q1); q++) {
      REAL ar = xr[q], ai = xi[q], br = xr[q + far], bi = xi[q + far], dr = ar - br, di = ai - bi;
      yr[q] = ar + br, yi[q] = ai + bi;
      yr[q + t->s] = dr * c - di * d, yi[q + t->s] = dr * d + di * c;
    }
  }
}

OX_INLINE void pass4(const pass *t, const bool whole) {
  int64_t s = t->s, far = s * t->m;
  for (int64_t p = whole ? 0 : t->p0; p < (whole ? t->m : t->p1); p++) {
    REAL c1 = t->wr[p * s], d1 = t->wi[p * s], c2 = t->wr[2 * p * s], d2 = t->wi[2 * p * s];
    REAL c3 = t->wr[3 * p * s], d3 = t->wi[3 * p * s];
    const REAL *xr = t->xr + s * p, *xi = t->xi + s * p;
    REAL *restrict yr = t->yr + s * 4 * p, *restrict yi = t->yi + s * 4 * p;
    for (int64_t q = whole ? 0 : t->q0; q < (whole ? t->s : t->q1); q++) {
      REAL ar = xr[q] + xr[q + 2 * far], ai = xi[q] + xi[q + 2 * far];
      REAL br = xr[q] - xr[q + 2 * far], bi = xi[q] - xi[q + 2 * far];
      REAL er = xr[q + far] + xr[q + 3 * far], ei = xi[q + far] + xi[q + 3 * far];
      REAL fr = xi[q + far] - xi[q + 3 * far], fi = xr[q + 3 * far] - xr[q + far]; /* times -i */
      REAL r1 = br + fr, i1 = bi + fi, r2 = ar - er, i2 = ai - ei, r3 = br - fr, i3 = bi - fi;
      yr[q] = ar + er, yi[q] = ai + ei;
      yr[q + s] = r1 * c1 - i1 * d1, yi[q + s] = r1 * d1 + i1 * c1;
      yr[q + 2 * s] = r2 * c2 - i2 * d2, yi[q + 2 * s] = r2 * d2 + i2 * c2;
      yr[q + 3 * s] = r3 * c3 - i3 * d3, yi[q + 3 * s] = r3 * d3 + i3 * c3;
    }
  }
}

/* Any small odd radix: each output is a sum over the inputs times r-th roots of unity. */
OX_INLINE void pass_any(const pass *t, int r, const bool whole) {
  int64_t s = t->s, far = s * t->m, root = t->len / r;
  for (int64_t p = whole ? 0 : t->p0; p < (whole ? t->m : t->p1); p++)
    for (int k = 0; k < r; k++) {
      REAL c = t->wr[p * k * s], d = t->wi[p * k * s];
      const REAL *xr = t->xr + s * p, *xi = t->xi + s * p;
      REAL *yr = t->yr + s * (r * p + k), *yi = t->yi + s * (r * p + k);
      for (int64_t q = whole ? 0 : t->q0; q < (whole ? t->s : t->q1); q++) yr[q] = xr[q], yi[q] = xi[q];
      for (int j = 1; j < r; j++) {
        REAL e = t->wr[j * k % r * root], f = t->wi[j * k % r * root];
        for (int64_t q = whole ? 0 : t->q0; q < (whole ? t->s : t->q1); q++) {
          REAL ar = xr[q + j * far], ai = xi[q + j * far];
          yr[q] += ar * e - ai * f, yi[q] += ar * f + ai * e;
        }
      }
      for (int64_t q = whole ? 0 : t->q0; q < (whole ? t->s : t->q1) && p && k; q++) {
        REAL ar = yr[q], ai = yi[q];
        yr[q] = ar * c - ai * d, yi[q] = ar * d + ai * c;
      }
    }
}

static bool is_over(const ox_stop *stop) { return stop && ox_stop_asked(stop); }

/* Values that are copied or multiplied between two checks of |stop|. */
enum { MOVED = 1 << 14 };
#define ALL(i, n)                                                               \
  for (int64_t i##0 = 0; i##0 < (n) && !(i##0 && is_over(stop)); i##0 += MOVED) \
    for (int64_t i = i##0, i##1 = OX_MIN((n), i##0 + MOVED); i < i##1; i++)

OX_INLINE void run_piece(const pass *t, int r, const bool whole) {
  if (r == 4)
    pass4(t, whole);
  else if (r == 2)
    pass2(t, whole);
  else
    pass_any(t, r, whole);
}

/* Long passes run in pieces of about PIECE values, with checks of |stop| in between. */
static void run_pass(pass *t, int r, const ox_stop *stop) {
  enum { PIECE = 8192 };
  if (t->len <= PIECE) {
    run_piece(t, r, true);
    return;
  }
  int64_t ps = OX_MAX(PIECE / (t->s * r), 1), qs = OX_MAX(PIECE / r, 1);
  for (t->p0 = 0; t->p0 < t->m; t->p0 = t->p1) {
    t->p1 = OX_MIN(t->p0 + ps, t->m);
    for (t->q0 = 0; t->q0 < t->s; t->q0 = t->q1) {
      t->q1 = OX_MIN(t->q0 + qs, t->s);
      if (is_over(stop)) return;
      run_piece(t, r, false);
    }
  }
}

/* The mixed-radix transform of length |inner|; |work| has room for one more copy. */
static void mixed(const FFT_PLAN *f, REAL *re, REAL *im, REAL *work, const ox_stop *stop) {
  int64_t len = f->shape.inner, n = len, s = 1;
  REAL *xr = re, *xi = im, *yr = work, *yi = work + len;
  for (int i = 0; i < f->shape.n_factors; i++) {
    int r = f->shape.factor[i];
    pass t = {
        .xr = xr, .xi = xi, .wr = f->table, .wi = f->table + len, .yr = yr, .yi = yi, .m = n / r, .s = s, .len = len};
    run_pass(&t, r, stop);
    REAL *swap_r = xr, *swap_i = xi;
    xr = yr, xi = yi, yr = swap_r, yi = swap_i;
    n /= r, s *= r;
  }
  for (int64_t i = 0; xr != re && i < len && !(i && is_over(stop)); i += MOVED) {
    size_t bytes = (size_t)OX_MIN(len - i, MOVED) * sizeof *re;
    memcpy(re + i, xr + i, bytes), memcpy(im + i, xi + i, bytes);
  }
}

/* Bluestein: kn = (k^2 + n^2 - (k-n)^2) / 2 turns the transform into a convolution with a chirp. */
static void chirp(const FFT_PLAN *f, REAL *re, REAL *im, REAL *work, const ox_stop *stop) {
  int64_t n = f->shape.n, m = f->shape.inner;
  const REAL *cr = f->table + 2 * m, *ci = cr + n, *sr = ci + n, *si = sr + m;
  REAL *ar = work, *ai = work + m;
  ALL(i, n)
  ar[i] = re[i] * cr[i] - im[i] * ci[i], ai[i] = re[i] * ci[i] + im[i] * cr[i];
  memset(ar + n, 0, (size_t)(m - n) * sizeof *ar);
  memset(ai + n, 0, (size_t)(m - n) * sizeof *ai);
  mixed(f, ar, ai, work + 2 * m, stop);
  ALL(i, m) {
    REAL r = ar[i] * sr[i] - ai[i] * si[i], j = ar[i] * si[i] + ai[i] * sr[i];
    ar[i] = r, ai[i] = j;
  }
  mixed(f, ai, ar, work + 2 * m, stop); /* the inverse; 1/m is in the spectrum */
  ALL(i, n)
  re[i] = ar[i] * cr[i] - ai[i] * ci[i], im[i] = ar[i] * ci[i] + ai[i] * cr[i];
}

#undef ALL

void FFT_RUN(const FFT_PLAN *p, REAL *re, REAL *im, REAL *work, const ox_stop *stop) {
  if (p->shape.inner == p->shape.n)
    mixed(p, re, im, work, stop);
  else
    chirp(p, re, im, work, stop);
}

void FFT_INIT(FFT_PLAN *p, const ox_fft_shape *s, REAL *table, REAL *work, const ox_stop *stop) {
  enum { SINES = 512 }; /* computed between two checks of |stop| */
  int64_t n = s->n, m = s->inner;
  p->shape = *s, p->table = table;
  for (int64_t i = 0; i < m && !(i % SINES == SINES - 1 && is_over(stop)); i++) {
    double angle = -two_pi * (double)i / (double)m;
    table[i] = (REAL)cos(angle), table[m + i] = (REAL)sin(angle);
  }
  if (m == n) return;
  REAL *cr = table + 2 * m, *ci = cr + n, *sr = ci + n, *si = sr + m;
  memset(sr, 0, 2 * (size_t)m * sizeof *sr);
  for (int64_t i = 0, square = 0; i < n && !(i % SINES == SINES - 1 && is_over(stop));
       i++) { /* i^2 modulo 2n, so that the angle stays exact */
    double angle = -two_pi * (double)square / (double)(2 * n);
    cr[i] = (REAL)cos(angle), ci[i] = (REAL)sin(angle);
    sr[i] = sr[i ? m - i : 0] = (REAL)(cos(angle) / (double)m);
    si[i] = si[i ? m - i : 0] = (REAL)(-sin(angle) / (double)m);
    square = (square + 2 * i + 1) % (2 * n);
  }
  mixed(p, sr, si, work, stop);
}

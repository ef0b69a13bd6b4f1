/* SPDX-License-Identifier: Apache-2.0
 * ops/move/dft_lines.h - the lines of DFT and STFT in one REAL: included by ops/dft.c for float and double. Names end
 * in LINES_T. LOAD(data, dtype, i) and STORE(data, dtype, i, v) convert elements. */

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define NAME(stem) JOIN(stem, LINES_T)

/* Reads a line; the part beyond the signal is zero. One-sided input of an inverse is completed by symmetry. */
static void NAME(read_line_)(const ox_kernel_ctx *c, const dft_plan *p, const ox_tensor *window, int64_t l, REAL *re,
                             REAL *im) {
  const ox_tensor *in = c->in[0];
  int64_t at = l / p->group * p->in_outer + l % p->group * p->in_inner, have = OX_MIN(p->in_len, p->n);
  bool complex_in = p->comp_in == 2;
  if (p->inverse && p->onesided) have = OX_MIN(p->in_len, p->n / 2 + 1);
  for (int64_t from = 0; goes_on(c, from, have); from += OX_DFT_PIECE)
    for (int64_t i = from, end = OX_MIN(have, from + OX_DFT_PIECE); i < end; i++, at += p->in_stride) {
      re[i] = LOAD(in->data, in->dtype, at);
      im[i] = complex_in ? LOAD(in->data, in->dtype, at + 1) : 0;
    }
  for (int64_t i = have; i < p->n; i++) re[i] = im[i] = 0;
  for (int64_t i = 0; window && i < have; i++) {
    REAL w = LOAD(window->data, window->dtype, i);
    re[i] *= w, im[i] *= w;
  }
  if (!(p->inverse && p->onesided)) return;
  for (int64_t i = p->n / 2 + 1; i < p->n; i++) re[i] = re[p->n - i], im[i] = -im[p->n - i];
}

static void NAME(write_line_)(const ox_kernel_ctx *c, const dft_plan *p, int64_t l, const REAL *re, const REAL *im) {
  const ox_tensor *out = c->out[0];
  int64_t at = l / p->group * p->out_outer + l % p->group * p->out_inner;
  REAL scale = p->inverse ? (REAL)1 / (REAL)p->n : 1;
  for (int64_t from = 0; goes_on(c, from, p->bins); from += OX_DFT_PIECE)
    for (int64_t i = from, end = OX_MIN(p->bins, from + OX_DFT_PIECE); i < end; i++, at += p->out_stride) {
      STORE(out->data, out->dtype, at, re[i] * scale);
      if (p->comp_out == 2) STORE(out->data, out->dtype, at + 1, im[i] * scale);
    }
}

/* Two real lines l and l + 1 in one transform: symmetry separates their spectra. */
static void NAME(write_pair_)(const ox_kernel_ctx *c, const dft_plan *p, int64_t l, const REAL *re, const REAL *im) {
  const ox_tensor *out = c->out[0];
  for (int k = 0; k < 2; k++) {
    int64_t at = (l + k) / p->group * p->out_outer + (l + k) % p->group * p->out_inner;
    for (int64_t from = 0; goes_on(c, from, p->bins); from += OX_DFT_PIECE)
      for (int64_t i = from, end = OX_MIN(p->bins, from + OX_DFT_PIECE); i < end; i++, at += p->out_stride) {
        int64_t j = i ? p->n - i : 0;
        REAL r = k ? im[i] + im[j] : re[i] + re[j], m = k ? re[j] - re[i] : im[i] - im[j];
        STORE(out->data, out->dtype, at, r / 2);
        STORE(out->data, out->dtype, at + 1, m / 2);
      }
  }
}

/* Are both lines finite and of similar magnitude? Else rounding errors or NaN of one would appear in the other. */
static bool NAME(alike_)(const REAL *x, const REAL *y, int64_t n) {
  REAL a = 0, b = 0, odd = 0;
  for (int64_t i = 0; i < n; i++) {
    REAL ax = x[i] < 0 ? -x[i] : x[i], ay = y[i] < 0 ? -y[i] : y[i];
    a = ax > a ? ax : a, b = ay > b ? ay : b, odd += (x[i] - x[i]) + (y[i] - y[i]);
  }
  return odd == 0 && a <= 4 * b && b <= 4 * a;
}

/* Units are pairs of lines. |scratch| holds 3 lines and the transform's work space. */
static void NAME(run_lines_)(const ox_kernel_ctx *c, const dft_plan *p, const FFT_PLAN *fft, const ox_tensor *window,
                             ox_range units, void *scratch) {
  ox_stop stop = ox_ctx_stop(c);
  REAL *re = scratch, *im = re + p->n, *spare = im + p->n, *work = spare + p->n;
  for (int64_t u = units.begin; u < units.end; u++) {
    int64_t l = 2 * u;
    if (p->comp_in == 1 && !p->inverse && l + 1 < p->lines) {
      NAME(read_line_)(c, p, window, l + 1, im, spare);
      NAME(read_line_)(c, p, window, l, re, spare);
      if (NAME(alike_)(re, im, p->n)) {
        FFT_RUN(fft, re, im, work, &stop);
        NAME(write_pair_)(c, p, l, re, im);
        continue;
      }
    }
    for (; l < OX_MIN(2 * u + 2, p->lines); l++) {
      NAME(read_line_)(c, p, window, l, re, im);
      if (p->inverse)
        FFT_RUN(fft, im, re, work, &stop);
      else
        FFT_RUN(fft, re, im, work, &stop);
      NAME(write_line_)(c, p, l, re, im);
    }
  }
}

#undef JOIN_
#undef JOIN
#undef NAME
#undef REAL
#undef LOAD
#undef STORE
#undef FFT_PLAN
#undef FFT_RUN
#undef LINES_T

/* SPDX-License-Identifier: Apache-2.0
 * kern/resize/resize_body.h - one interpolation pass, for RESIZE_REAL. */

/* An output row of |inner| elements is a weighted sum of input rows. */
static void RESIZE_NAME(row)(const ox_resize_pass *p, const int32_t *at, const RESIZE_REAL *w, const RESIZE_REAL *x,
                             RESIZE_REAL *restrict y) {
  int64_t n = p->inner;
  if (p->taps == 2) {
    const RESIZE_REAL *x0 = x + at[0] * n, *x1 = x + at[1] * n, w0 = w[0], w1 = w[1];
    for (int64_t i = 0; i < n; i++) y[i] = w0 * x0[i] + w1 * x1[i];
    return;
  }
  for (int64_t i = 0; i < n; i++) y[i] = 0;
  for (int64_t t = 0; t < p->taps; t++) {
    const RESIZE_REAL *xt = x + at[t] * n, wt = w[t];
    for (int64_t i = 0; i < n; i++) y[i] += wt * xt[i];
  }
}

void RESIZE_PASS(const ox_resize_pass *p, const RESIZE_REAL *x, RESIZE_REAL *y, int64_t begin, int64_t end) {
  for (int64_t r = begin; r < end; r++) {
    int64_t o = r % p->out;
    const int32_t *at = p->index + o * p->taps;
    const RESIZE_REAL *w = (const RESIZE_REAL *)p->weight + o * p->taps;
    const RESIZE_REAL *from = x + r / p->out * p->in * p->inner;
    RESIZE_REAL *to = y + r * p->inner;
    if (at[0] < 0) {
      for (int64_t i = 0; i < p->inner; i++) to[i] = (RESIZE_REAL)p->fill;
    } else if (p->inner == 1) {
      RESIZE_REAL sum = 0;
      for (int64_t t = 0; t < p->taps; t++) sum += w[t] * from[at[t]];
      *to = sum;
    } else {
      RESIZE_NAME(row)(p, at, w, from, to);
    }
  }
}

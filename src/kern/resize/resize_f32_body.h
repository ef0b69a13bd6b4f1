/* SPDX-License-Identifier: Apache-2.0
 * kern/resize/resize_f32_body.h - one pass of an interpolation in float32. Included by resize_f32_<isa>.c with
 * RESIZE_ISA and RESIZE_NEEDS. Products are rounded before they are added, so that results are the same bits however
 * rows lie. */
#include "kern/resize/resize.h"

/* An output row of |n| elements is a weighted sum of input rows. */
OX_INLINE void row(const float *x, const int32_t *at, const float *w, int64_t taps, float *y, int64_t n) {
  for (int64_t i = 0; i < n; i += VF32_LANES) {
    size_t k = vf32_lanes_at((size_t)i, (size_t)n);
    vf32 sum = vf32_mul(vf32_splat(w[0]), vf32_load_n(x + at[0] * n + i, k));
    for (int64_t t = 1; t < taps; t++)
      sum = vf32_add(sum, vf32_mul(vf32_splat(w[t]), vf32_load_n(x + at[t] * n + i, k)));
    vf32_store_n(y + i, sum, k);
  }
}

/* The same where rows are whole vectors. */
OX_INLINE void row_of_vectors(const float *x, const int32_t *at, const float *w, int64_t taps, float *y, int64_t n) {
  for (int64_t i = 0; i < n; i += VF32_LANES) {
    vf32 sum = vf32_mul(vf32_splat(w[0]), vf32_load(x + at[0] * n + i));
    for (int64_t t = 1; t < taps; t++) sum = vf32_add(sum, vf32_mul(vf32_splat(w[t]), vf32_load(x + at[t] * n + i)));
    vf32_store(y + i, sum);
  }
}

OX_INLINE void one(const float *x, const int32_t *at, const float *w, int64_t taps, float *y) {
  float sum = w[0] * x[at[0]];
  for (int64_t t = 1; t < taps; t++) sum += w[t] * x[at[t]];
  *y = sum;
}

static void pass(const ox_resize_pass *p, const float *x, float *y, int64_t begin, int64_t end) {
  int64_t o = begin % p->out, n = p->inner;
  const float *from = x + begin / p->out * p->in * n;
  for (int64_t r = begin; r < end; r++) {
    const int32_t *at = p->index + o * p->taps;
    const float *w = (const float *)p->weight + o * p->taps;
    float *to = y + r * n;
    if (at[0] < 0)
      for (int64_t i = 0; i < n; i++) to[i] = (float)p->fill;
    else if (n == 1 && p->taps == 2)
      one(from, at, w, 2, to);
    else if (n == 1)
      one(from, at, w, p->taps, to);
    else if (n == 16 && p->taps == 2) /* a pixel of a block of channels */
      row_of_vectors(from, at, w, 2, to, 16);
    else if (n % VF32_LANES == 0)
      row_of_vectors(from, at, w, p->taps, to, n);
    else
      row(from, at, w, p->taps, to, n);
    if (++o == p->out) o = 0, from += p->in * n;
  }
}

extern const ox_resize_variant OX_PASTE(ox_resize_f32__, RESIZE_ISA);
const ox_resize_variant OX_PASTE(ox_resize_f32__, RESIZE_ISA) = {RESIZE_NEEDS, pass};

/* SPDX-License-Identifier: Apache-2.0
 * kern/resize/resize_f32_body.h - one pass of an interpolation in float32. Included by resize_f32_<isa>.c with
 * RESIZE_ISA and RESIZE_NEEDS. Products are rounded before they are added, so that results are the same bits for any
 * layout. */
#include <stdbool.h>
#include <string.h>

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

/* The elements x[at] of a window of |pieces|. */
OX_INLINE vf32 pick_from(const float *x, vi32 at, int32_t pieces) {
  const vi32 within = vi32_splat(OX_RESIZE_GROUP - 1);
  if (pieces == 1) return vf32_pick16(x, at);
  vf32 v = vf32_pick16(x, vi32_and(at, within));
  for (int32_t i = 1; i < pieces; i++)
    v = vf32_select(vi32_eq(vi32_sar(at, 4), vi32_splat(i)), vf32_pick16(x + i * OX_RESIZE_GROUP, vi32_and(at, within)),
                    v);
  return v;
}

OX_INLINE void store_first(float *y, vf32 v, size_t n) {
  if (n == VF32_LANES)
    vf32_store(y, v);
  else
    vf32_store_n(y, v, n);
}

/* |n| outputs of a group, usually all; |taps| and |weighted| are constants after inlining. */
OX_INLINE void group(const float *x, const int32_t *index, const float *weight, int32_t pieces, const int64_t taps,
                     const bool weighted, float *y, const size_t n) {
  for (size_t i = 0; i < n; i += VF32_LANES) {
    vf32 sum = vf32_zero();
    for (int64_t t = 0; t < taps; t++) {
      vf32 v = pick_from(x, vi32_load(index + t * OX_RESIZE_GROUP + i), pieces);
      if (weighted) v = vf32_mul(vf32_load(weight + t * OX_RESIZE_GROUP + i), v);
      sum = t ? vf32_add(sum, v) : v;
    }
    store_first(y + i, sum, vf32_lanes_at(i, n));
  }
}

OX_INLINE void line(const ox_resize_pass *p, const float *x, float *y, const int64_t taps, const bool weighted) {
  enum { G = OX_RESIZE_GROUP };
  const ox_resize_window *w = p->lines->window;
  const int32_t *index = p->lines->index;
  const float *weight = p->lines->weight;
  for (int64_t o = 0; o < p->out; o += G, w++, index += taps * G, weight += weighted ? taps * G : 0) {
    const size_t n = (size_t)OX_MIN(G, p->out - o);
    if (w->pieces == 1 && n == G)
      group(x + w->first, index, weight, 1, taps, weighted, y + o, G);
    else if (w->pieces)
      group(x + w->first, index, weight, w->pieces, taps, weighted, y + o, n);
    for (int64_t i = o; !w->pieces && i < o + (int64_t)n; i++)
      if (weighted)
        one(x, p->index + i * taps, (const float *)p->weight + i * taps, taps, y + i);
      else
        memcpy(y + i, x + p->index[i], sizeof *y);
  }
}

static void near_line(const ox_resize_pass *p, const float *x, float *y) { line(p, x, y, 1, false); }

static void pass(const ox_resize_pass *p, const float *x, float *y, int64_t begin, int64_t end) {
  int64_t o = begin % p->out, n = p->inner;
  for (int64_t r = begin; p->lines && r < end; r += p->out)
    if (p->taps == 2)
      line(p, x + r / p->out * p->in, y + r, 2, true);
    else
      line(p, x + r / p->out * p->in, y + r, p->taps, true);
  if (p->lines) return;
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

/* Loops that the compiler vectorizes. Both output rows in one: a loop for each writes memory more slowly. */
#define TWICE(bits)                                                                                                   \
  OX_INLINE void twice_into_##bits(const uint##bits##_t *restrict x, uint##bits##_t *restrict y, int64_t n) {         \
    for (int64_t i = 0; i < n; i++) y[2 * i] = x[i], y[2 * i + 1] = x[i];                                             \
  }                                                                                                                   \
  OX_INLINE void twice_both_##bits(const uint##bits##_t *restrict x, uint##bits##_t *restrict y,                      \
                                   uint##bits##_t *restrict also, int64_t n) {                                        \
    for (int64_t i = 0; i < n; i++) y[2 * i] = x[i], y[2 * i + 1] = x[i], also[2 * i] = x[i], also[2 * i + 1] = x[i]; \
  }                                                                                                                   \
  static void twice_##bits(const void *x, void *y, void *also, int64_t n) {                                           \
    if (also)                                                                                                         \
      twice_both_##bits(x, y, also, n);                                                                               \
    else                                                                                                              \
      twice_into_##bits(x, y, n);                                                                                     \
  }
TWICE(8)
TWICE(16)
TWICE(32)
TWICE(64)

static void to_whole(float *y, int64_t n, float noise, float least, float most) {
  for (int64_t i = 0; i < n; i++) {
    double v = (double)y[i], r = __builtin_trunc(v + __builtin_copysign(0.5, v));
    v = __builtin_fabs(v - r) <= (double)noise ? r : v;
    v = v > (double)least ? v : (double)least; /* NaN does not compare */
    y[i] = (float)(v < (double)most ? v : (double)most);
  }
}

/* Sums have channels as lanes; squares of them are transposed, so that what is stored has points as lanes. */
static void corners(const ox_corners *at, int64_t n, const float *x, int64_t ld, int64_t channels, float *y,
                    int64_t pitch) {
  vf32 v[VF32_LANES];
  for (int j = 0; j < VF32_LANES; j++) v[j] = vf32_zero();
  for (int64_t i = 0; i < n; i += VF32_LANES) {
    size_t points = vf32_lanes_at((size_t)i, (size_t)n);
    for (int64_t c = 0; c < channels; c += VF32_LANES) {
      for (size_t j = 0; j < points; j++) {
        const ox_corners *a = &at[(size_t)i + j];
        vf32 sum = vf32_mul(vf32_splat(a->weight[0]), vf32_load(x + a->pixel[0] * ld + c));
        OX_UNROLL for (int k = 1; k < 4; k++) sum =
            vf32_fma(vf32_splat(a->weight[k]), vf32_load(x + a->pixel[k] * ld + c), sum);
        v[j] = vf32_mul(sum, vf32_splat(a->scale));
      }
      vf32_transpose(v);
      size_t rows = vf32_lanes_at((size_t)c, (size_t)channels);
      for (size_t r = 0; r < rows; r++) vf32_store_n(y + (c + (int64_t)r) * pitch + i, v[r], points);
    }
  }
}

extern const ox_resize_variant OX_PASTE(ox_resize_f32__, RESIZE_ISA);
const ox_resize_variant OX_PASTE(ox_resize_f32__, RESIZE_ISA) = {
    RESIZE_NEEDS, pass, near_line, {twice_8, twice_16, twice_32, twice_64}, to_whole, corners};

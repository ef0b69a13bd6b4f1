/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/bconv_strassen_body.h - the kernels of bconv_strassen.h over the SIMD vocabulary, for vectors of 16
 * lanes. Cannot fail, no globals. */
#include "kern/blocks/bconv_strassen.h"

enum { L = OX_BLOCK, NV = 2, COLUMNS = OX_BSTRASSEN_COLUMNS };
_Static_assert(VF32_LANES == OX_BLOCK, "a block is one vector");

#define EACH_SUM OX_UNROLL for (int i = 0; i < m; i++) OX_UNROLL for (int j = 0; j < NV; j++)

/* ---- a strip of a step ---- */

OX_INLINE void load_b(const ox_bstrassen_strip *t, const float *const *b, const int sign, vf32 *to) {
  OX_UNROLL for (int j = 0; j < NV; j++) {
    to[j] = vf32_load(b[0] + (size_t)j * t->b_panel);
    if (sign > 0) to[j] = vf32_add(to[j], vf32_load(b[1] + (size_t)j * t->b_panel));
    if (sign < 0) to[j] = vf32_sub(to[j], vf32_load(b[1] + (size_t)j * t->b_panel));
  }
}

OX_INLINE void add_products(const ox_bstrassen_strip *t, const int m, const int sign, vf32 acc[][NV]) {
  const float *b[2] = {t->b[0], t->b[1]};
  const char *ahead = t->ahead;
  for (const float *a = t->a, *end = a + t->blocks * t->a_block; a < end; a += t->a_block) {
    const float *next = a + t->a_block;
    for (size_t k = 0; k < OX_BLOCK; k += 4) OX_UNROLL for (size_t u = 0; u < 4; u++) {
        vf32 bv[NV];
        OX_PREFETCH_L2(ahead);
        OX_PREFETCH(next + (k + u) * OX_BLOCK);
        load_b(t, b, sign, bv);
        OX_UNROLL for (int i = 0; i < m; i++) {
          vf32 ai = vf32_splat(a[(size_t)i * OX_BLOCK + k + u]);
          OX_UNROLL for (int j = 0; j < NV; j++) acc[i][j] = vf32_fma(ai, bv[j], acc[i][j]);
        }
        ahead += t->ahead_step, b[0] += OX_BLOCK;
        if (sign) b[1] += OX_BLOCK;
      }
  }
}

OX_INLINE void add_to(float *c, const float sign, const bool first, vf32 acc[][NV], const int m) {
  const vf32 s = vf32_splat(sign);
  if (first)
    EACH_SUM vf32_store(c + i * COLUMNS + j * L, vf32_mul(s, acc[i][j]));
  else
    EACH_SUM vf32_store(c + i * COLUMNS + j * L, vf32_fma(s, acc[i][j], vf32_load(c + i * COLUMNS + j * L)));
}

/* Completes the sums of a block of C and stores them to Y with bias, residual and clamp. */
OX_INLINE bool finish(const ox_bstrassen_strip *t, vf32 acc[][NV], const int m) {
  const ox_bstrassen_end *e = t->end;
  const vf32 most = vf32_splat(0x1p100f), lo = vf32_splat(e->lo), hi = vf32_splat(e->hi);
  vm32 fine = vf32_eq(most, most);
  EACH_SUM {
    acc[i][j] = vf32_add(acc[i][j], vf32_load(t->c[0] + i * COLUMNS + j * L));
    fine = vm32_and(fine, vf32_le(vf32_abs(acc[i][j]), most));
  }
  if (!vm32_all(fine)) return false;
  OX_UNROLL for (int j = 0; j < NV; j++) {
    const vf32 bias = e->bias ? vf32_load(e->bias + j * L) : vf32_zero();
    float *y = e->y + (size_t)j * e->panel;
    const float *z = e->z ? e->z + (size_t)j * e->panel : NULL;
    OX_UNROLL for (int i = 0; i < m; i++) {
      if (i == m - 1 && (size_t)i >= e->pixels) break;
      vf32 v = vf32_add(acc[i][j], bias);
      if (z) v = vf32_add(v, vf32_load(z + i * L));
      vf32_store(y + i * L, vf32_min(hi, vf32_max(lo, v)));
    }
  }
  return true;
}

/* |m| and |sign| are constants after inlining. */
OX_INLINE bool multiply_pixels(const ox_bstrassen_strip *t, const int m, const int sign) {
  vf32 acc[OX_BSTRASSEN_MOST][NV];
  EACH_SUM acc[i][j] = vf32_zero();
  add_products(t, m, sign, acc);
  if (t->c[1]) add_to(t->c[1], t->c_sign[1], t->c_first, acc, m);
  if (t->end) return finish(t, acc, m);
  add_to(t->c[0], t->c_sign[0], t->c_first, acc, m);
  return true;
}

#define STRASSEN_PIXELS(m)                               \
  case m:                                                \
    if (t->b_sign > 0) return multiply_pixels(t, m, +1); \
    if (t->b_sign < 0) return multiply_pixels(t, m, -1); \
    return multiply_pixels(t, m, 0);

static bool multiply(const ox_bstrassen_strip *t) {
  switch (t->m) {
    STRASSEN_PIXELS(9)
    STRASSEN_PIXELS(10)
    STRASSEN_PIXELS(11)
    STRASSEN_PIXELS(12)
    STRASSEN_PIXELS(13)
    STRASSEN_PIXELS(14)
  }
  return true;
}

/* ---- pixels ---- */

static void mix(const float *const x[2], const ptrdiff_t *at, size_t half, size_t n, float *to, size_t step_floats,
                bool alone) {
  for (size_t i = 0; i < half; i++, to += OX_BLOCK) {
    vf32 v[4];
    OX_UNROLL for (size_t q = 0; q < 4; q++) {
      size_t pixel = i + (q >> 1) * half;
      v[q] = pixel < n ? vf32_load(x[q & 1] + at[pixel]) : vf32_zero();
    }
    OX_UNROLL for (int s = 0; s < OX_STRASSEN_STEPS; s++) {
      const ox_strassen_step *p = &ox_strassen[s];
      if (!p->a_pair && !alone) continue;
      vf32_store(to + (size_t)s * step_floats, p->a_pair ? vf32_sub(v[p->a[0]], v[p->a[1]]) : v[p->a[0]]);
    }
  }
}

const ox_bstrassen_kernels BSTRASSEN_NAME = {multiply, mix};

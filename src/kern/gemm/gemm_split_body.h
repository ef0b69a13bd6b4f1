/* SPDX-License-Identifier: Apache-2.0
 * gemm/gemm_split_body.h - float products on bfloat16 matrix tiles. A float is the sum of three bfloat16 terms, each
 * what rounding left of the one before; of the nine products of terms the six largest count, smallest first, so that a
 * block's sum is as exact as float multiply-adds. Parameters: SPLIT_NAME, SPLIT_PACK_A, SPLIT_PACK_B, SPLIT_BEGIN,
 * SPLIT_END.
 *
 * Both sides lie in records of 32 along k: a head (non-zero: a value whose terms would not be finite), then per term
 * 32 rows of 32 (A), or 16 pairs of k by 32 columns (B). Infinities times the zero terms of the other side would make
 * NaN: such blocks are put together again and multiplied as floats. */
#include <string.h>

enum { MR = 32, NR = 32, HEAD = 64, TERM = 2048 };
#include "kern/gemm/gemm_f32_store.h"

/* |x| into three terms; true if some lane is too large for the matrix unit's rounding, infinite or NaN. */
OX_INLINE bool split(vf32 x, vf32 terms[3]) {
  vi32 mag = vi32_and(vf32_bits(x), vi32_splat(0x7fffffff));
  vm32 large = vi32_gt(mag, vi32_splat(0x7f7f7fff));
  vf32 rest;
  bool odd = vm32_any(large);
  terms[0] = vt_round(x);
  if (odd) { /* cut instead; NaN must not become infinite */
    vi32 nan = vi32_select(vi32_gt(mag, vi32_splat(0x7f800000)), vi32_splat(0x400000), vi32_zero());
    vi32 cut = vi32_and(vi32_or(vf32_bits(x), nan), vi32_splat(-0x10000));
    terms[0] = vf32_select(large, vi32_as_f32(cut), terms[0]);
  }
  rest = vf32_sub(x, terms[0]);
  if (odd) rest = vf32_select(vi32_lt(mag, vi32_splat(0x7f800000)), rest, vf32_zero());
  terms[1] = vt_round(rest);
  terms[2] = vt_round(vf32_sub(rest, terms[1]));
  return odd;
}

void SPLIT_PACK_A(const float *a, ptrdiff_t rs, ptrdiff_t ks, size_t rows, size_t k, void *to) {
  char *record = to;
  for (size_t k0 = 0; k0 < k; k0 += 32, record += HEAD + 3 * TERM) {
    size_t n = k - k0 < 32 ? k - k0 : 32;
    int32_t odd = 0;
    for (size_t i = 0; i < MR; i++) {
      _Alignas(64) float gathered[32] = {0};
      const float *p = a + (ptrdiff_t)i * rs + (ptrdiff_t)k0 * ks, *row = gathered;
      if (ks == 1 && i < rows && n == 32)
        row = p;
      else
        for (size_t j = 0; i < rows && j < n; j++, p += ks) gathered[j] = *p;
      OX_UNROLL for (size_t j = 0; j < 32; j += L) {
        vf32 terms[3];
        if (split(vf32_load(row + j), terms)) odd = 1;
        OX_UNROLL for (size_t t = 0; t < 3; t++)
            vt_put((uint16_t *)(void *)(record + HEAD + t * TERM + i * 64) + j, terms[t]);
      }
    }
    memcpy(record, &odd, sizeof odd);
  }
}

/* Two rows of k become one of pairs. */
OX_INLINE int32_t pack_pair(const float *low, const float *high, char *to) {
  int32_t odd = 0;
  for (size_t j = 0; j < NR; j += L) {
    vf32 x[3], y[3];
    if (split(vf32_load(low + j), x)) odd = 1;
    if (split(vf32_load(high + j), y)) odd = 1;
    OX_UNROLL for (size_t t = 0; t < 3; t++) {
      vi32 pair = vi32_or(vi32_shr(vf32_bits(x[t]), 16), vf32_bits(y[t]));
      vi32_store((int32_t *)(void *)(to + t * TERM + j * 4), pair);
    }
  }
  return odd;
}

void SPLIT_PACK_B(const void *b, ptrdiff_t ks, ptrdiff_t ns, size_t k, size_t w, void *to) {
  char *record = to;
  for (size_t k0 = 0; k0 < k; k0 += 32, record += HEAD + 3 * TERM) {
    _Alignas(64) float block[32][NR];
    size_t n = k - k0 < 32 ? k - k0 : 32;
    const ox_f32u *p = (const ox_f32u *)b + (ptrdiff_t)k0 * ks;
    int32_t odd = 0;
    if (n < 32 || w < NR) memset(block, 0, sizeof block);
    if (ns == 1)
      for (size_t i = 0; i < n; i++) memcpy(block[i], p + (ptrdiff_t)i * ks, w * sizeof(float));
    else
      for (size_t j = 0; j < w; j++)
        for (size_t i = 0; i < n; i++) block[i][j] = p[(ptrdiff_t)i * ks + (ptrdiff_t)j * ns];
    for (size_t i = 0; i < 32; i += 2) odd |= pack_pair(block[i], block[i + 1], record + HEAD + i / 2 * NR * 4);
    memcpy(record, &odd, sizeof odd);
  }
}

/* Terms put together: the float they came from (but for the lowest bits of denormals). */
OX_INLINE float whole(const char *record, size_t at) {
  float sum = 0;
  for (size_t t = 3; t-- > 0;) {
    uint16_t h;
    memcpy(&h, record + HEAD + t * TERM + at * 2, 2);
    uint32_t bits = (uint32_t)h << 16;
    float f;
    memcpy(&f, &bits, 4);
    sum += f;
  }
  return sum;
}

static void multiply_plainly(const ox_gemm_tile *t, float *sums) {
  const char *a = (const char *)t->a, *b = t->b;
  memset(sums, 0, MR * NR * sizeof *sums);
  for (size_t k0 = 0; k0 < t->k; k0 += 32, a += HEAD + 3 * TERM, b += HEAD + 3 * TERM)
    for (size_t k = 0; k < 32 && k0 + k < t->k; k++)
      for (size_t j = 0; j < t->n; j++) {
        float y = whole(b, (k / 2 * NR + j) * 2 + k % 2);
        for (size_t i = 0; i < t->m; i++) sums[i * NR + j] += whole(a, i * 32 + k) * y;
      }
}

/* One pass along k over term |x| of A and |y| of B. */
#define PASS(x, y)                                                                                   \
  do {                                                                                               \
    const char *a = (const char *)t->a + HEAD + (x)*TERM, *b = (const char *)t->b + HEAD + (y)*TERM; \
    for (size_t k = 0; k < t->k; k += 32, a += HEAD + 3 * TERM, b += HEAD + 3 * TERM) {              \
      vt_load(4, a, 64);                                                                             \
      vt_load(6, b, 128);                                                                            \
      vt_load(7, b + 64, 128);                                                                       \
      vt_dot(0, 4, 6);                                                                               \
      vt_dot(1, 4, 7);                                                                               \
      if (!two) continue;                                                                            \
      vt_load(5, a + 1024, 64);                                                                      \
      vt_dot(2, 5, 6);                                                                               \
      vt_dot(3, 5, 7);                                                                               \
    }                                                                                                \
  } while (0)

static void multiply(const ox_gemm_tile *t, float *sums) {
  const bool two = t->m > 16;
  VT_TILES;
  vt_zero(0);
  vt_zero(1);
  vt_zero(2);
  vt_zero(3);
  PASS(2, 0);
  PASS(0, 2);
  PASS(1, 1);
  PASS(1, 0);
  PASS(0, 1);
  PASS(0, 0);
  vt_store(0, sums, NR * 4);
  vt_store(1, sums + 16, NR * 4);
  vt_store(2, sums + 16 * NR, NR * 4);
  vt_store(3, sums + 16 * NR + 16, NR * 4);
}

void SPLIT_NAME(const ox_gemm_tile *t) {
  _Alignas(64) float sums[MR * NR];
  int32_t odd = 0, head;
  for (size_t k = 0; k < t->k; k += 32) {
    size_t at = k / 32 * (HEAD + 3 * TERM);
    memcpy(&head, (const char *)t->a + at, sizeof head), odd |= head;
    memcpy(&head, (const char *)t->b + at, sizeof head), odd |= head;
  }
  if (odd)
    multiply_plainly(t, sums);
  else
    multiply(t, sums);
  finish(t, sums);
}

void SPLIT_BEGIN(void) { vt_begin(); }
void SPLIT_END(void) { vt_end(); }

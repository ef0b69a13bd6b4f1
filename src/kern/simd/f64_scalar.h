/* SPDX-License-Identifier: Apache-2.0
 * kern/simd/f64_scalar.h - the vocabulary of doubles in plain C: one lane. This file is the contract; names mean what
 * they mean in f32_scalar.h. */
#ifndef OX_SIMD_F64_SCALAR_H
#define OX_SIMD_F64_SCALAR_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/macros.h"

#define VF64_LANES 1
typedef double vf64;

OX_INLINE vf64 vf64_zero(void) { return 0.0; }
OX_INLINE vf64 vf64_splat(double x) { return x; }
OX_INLINE vf64 vf64_load(const double *p) { return *(const ox_f64u *)p; }
OX_INLINE void vf64_store(double *p, vf64 v) { *(ox_f64u *)p = v; }
OX_INLINE vf64 vf64_load_n(const double *p, size_t n) { return n ? *(const ox_f64u *)p : 0.0; }
OX_INLINE void vf64_store_n(double *p, vf64 v, size_t n) {
  if (n) *(ox_f64u *)p = v;
}
/* lanes rounded to floats */
OX_INLINE void vf64_store_f32(float *p, vf64 v) { *(ox_f32u *)p = (float)v; }
/* lane l: p[at[l]] and the float behind it */
OX_INLINE void vf64_load_pairs(const float *p, const int64_t *at, vf64 *first, vf64 *second) {
  *first = (double)p[at[0]], *second = (double)p[at[0] + 1];
}
OX_INLINE vf64 vf64_add(vf64 a, vf64 b) { return a + b; }
OX_INLINE vf64 vf64_mul(vf64 a, vf64 b) { return a * b; }
OX_INLINE vf64 vf64_sub(vf64 a, vf64 b) { return a - b; }
OX_INLINE vf64 vf64_fma(vf64 a, vf64 b, vf64 c) { return a * b + c; }

/* 64-bit integers in as many lanes; they wrap. */
typedef int64_t vi64;
OX_INLINE vi64 vi64_of_(uint64_t u) {
  vi64 i;
  memcpy(&i, &u, sizeof i);
  return i;
}
OX_INLINE vi64 vi64_zero(void) { return 0; }
OX_INLINE vi64 vi64_splat(int64_t x) { return x; }
OX_INLINE vi64 vi64_load(const int64_t *p) { return *(const ox_i64u *)p; }
OX_INLINE void vi64_store(int64_t *p, vi64 v) { *(ox_i64u *)p = v; }
OX_INLINE vi64 vi64_load_n(const int64_t *p, size_t n) { return n ? *(const ox_i64u *)p : 0; }
OX_INLINE void vi64_store_n(int64_t *p, vi64 v, size_t n) {
  if (n) *(ox_i64u *)p = v;
}
OX_INLINE vi64 vi64_add(vi64 a, vi64 b) { return vi64_of_((uint64_t)a + (uint64_t)b); }
OX_INLINE vi64 vi64_mul(vi64 a, vi64 b) { return vi64_of_((uint64_t)a * (uint64_t)b); }

#endif

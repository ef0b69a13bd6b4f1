/* SPDX-License-Identifier: Apache-2.0
 * kern/simd/f64_scalar.h - the vocabulary of doubles in plain C: one lane. This file is the contract; names mean what
 * they mean in f32_scalar.h. */
#ifndef OX_SIMD_F64_SCALAR_H
#define OX_SIMD_F64_SCALAR_H

#include <stddef.h>

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
OX_INLINE vf64 vf64_fma(vf64 a, vf64 b, vf64 c) { return a * b + c; }

#endif

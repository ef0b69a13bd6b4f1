/* SPDX-License-Identifier: Apache-2.0
 * kern/simd/f32_derived.h - functions composed of the basic ones, the same on every instruction set. Included by
 * f32_<isa>.h. */
#ifndef OX_SIMD_F32_DERIVED_H
#define OX_SIMD_F32_DERIVED_H

OX_INLINE vf32 vf32_abs(vf32 a) { return vi32_as_f32(vi32_and(vf32_bits(a), vi32_splat(0x7fffffff))); }
OX_INLINE vf32 vf32_neg(vf32 a) { return vi32_as_f32(vi32_xor(vf32_bits(a), vi32_splat(INT32_MIN))); }
/* |mag| with the sign of |sign| */
OX_INLINE vf32 vf32_copysign(vf32 mag, vf32 sign) {
  vi32 m = vi32_splat(INT32_MIN);
  return vi32_as_f32(vi32_or(vi32_andnot(m, vf32_bits(mag)), vi32_and(m, vf32_bits(sign))));
}
OX_INLINE vm32 vf32_gt(vf32 a, vf32 b) { return vf32_lt(b, a); }
OX_INLINE vm32 vf32_ge(vf32 a, vf32 b) { return vf32_le(b, a); }
OX_INLINE vm32 vf32_ne(vf32 a, vf32 b) { return vm32_not(vf32_eq(a, b)); } /* NaN differs from everything */
OX_INLINE vm32 vf32_isnan(vf32 a) { return vm32_not(vf32_eq(a, a)); }
OX_INLINE vm32 vi32_gt(vi32 a, vi32 b) { return vi32_lt(b, a); }
OX_INLINE vi32 vi32_not(vi32 a) { return vi32_xor(a, vi32_splat(-1)); }
OX_INLINE vi32 vi32_neg(vi32 a) { return vi32_sub(vi32_zero(), a); }
/* min and max that give NaN when either side is NaN */
OX_INLINE vf32 vf32_min_nan(vf32 a, vf32 b) { return vf32_select(vf32_isnan(a), a, vf32_min(a, b)); }
OX_INLINE vf32 vf32_max_nan(vf32 a, vf32 b) { return vf32_select(vf32_isnan(a), a, vf32_max(a, b)); }

#ifndef VF32_HAS_MIXED
OX_INLINE vf32 vf32_load_even_mixed_n(const float *p, size_t n) { return vf32_load_even_n(p, n); }
OX_INLINE vf32 vf32_unmixed(vf32 v) { return v; }
#endif

#ifndef OX_SIMD_F32_AVX512_H
/* a x 2^n in two exact factors, so that denormal results round once and n = 128 does not overflow early */
OX_INLINE vf32 vf32_ldexp(vf32 a, vf32 n) {
  vi32 i = vf32_to_i32(n), half = vi32_sar(i, 1), rest = vi32_sub(i, half), bias = vi32_splat(127);
  vf32 first = vf32_mul(a, vi32_as_f32(vi32_shl(vi32_add(half, bias), 23)));
  return vf32_mul(first, vi32_as_f32(vi32_shl(vi32_add(rest, bias), 23)));
}
/* a clamped to [-most, most], most > 0; for NaN any result */
OX_INLINE vf32 vf32_within(vf32 a, float most) { return vf32_max(vf32_splat(-most), vf32_min(vf32_splat(most), a)); }
#endif

/* v, forced into a register, so that the compiler does not load it again for each use. */
OX_INLINE vf32 vf32_held(vf32 v) {
#if defined(__GNUC__) && (defined(OX_SIMD_F32_AVX512_H) || defined(OX_SIMD_F32_AVX2_H))
  __asm__("" : "+v"(v));
#endif
  return v;
}

/* fma(a, b, c) for loops whose sums fill all registers: with AVX2 the result is in the register of |c|. When such a loop
 * is unrolled, a compiler lets other instructions' results take turns, and moves or spills sums in the end. */
OX_INLINE vf32 vf32_fma_onto(vf32 a, vf32 b, vf32 c) {
#if defined(__GNUC__) && defined(OX_SIMD_F32_AVX2_H)
  __asm__("vfmadd231ps %2, %1, %0" : "+x"(c) : "x"(a), "x"(b));
  return c;
#else
  return vf32_fma(a, b, c);
#endif
}

/* Lanes that a loop over |n| elements handles at |i|: VF32_LANES, or the ragged rest. */
OX_INLINE size_t vf32_lanes_at(size_t i, size_t n) { return n - i < VF32_LANES ? n - i : VF32_LANES; }

#endif

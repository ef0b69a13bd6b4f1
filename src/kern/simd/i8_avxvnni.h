/* SPDX-License-Identifier: Apache-2.0
 * kern/simd/i8_avxvnni.h - dot products of bytes on AVX-VNNI (256 bits); the contract is in i8_scalar.h. */
#ifndef OX_SIMD_I8_AVXVNNI_H
#define OX_SIMD_I8_AVXVNNI_H

#include "kern/simd/f32_avx2.h"

OX_INLINE vi32 vi32_dot_u8s8(vi32 acc, vi32 a, vi32 b) { return _mm256_dpbusd_avx_epi32(acc, a, b); }

#endif

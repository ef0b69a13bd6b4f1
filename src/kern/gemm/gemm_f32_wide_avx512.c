/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/gemm_f32_wide_avx512.c - the 3 x 128 microkernel in AVX-512. */
#include "kern/simd/f32_avx512.h"
#include "kern/simd/act_f32.h"

#include "kern/gemm/gemm.h"

#define GEMM_NAME ox_gemm_f32_3x128__avx512
#define GEMM_DOTS ox_gemm_dots_3x128__avx512
#define GEMM_NARROW ox_gemm_f32_12x32__avx512
#define GEMM_NARROW_DOTS ox_gemm_dots_12x32__avx512
#define GEMM_NARROW_NR 32
#define GEMM_MR 3
#include "kern/gemm/gemm_f32_wide_body.h"

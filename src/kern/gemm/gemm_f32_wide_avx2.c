/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/gemm_f32_wide_avx2.c - the 1 x 64 microkernel in AVX2. */
#include "kern/simd/f32_avx2.h"
#include "kern/simd/act_f32.h"

#include "kern/gemm/gemm.h"

#define GEMM_NAME ox_gemm_f32_1x64__avx2
#define GEMM_DOTS ox_gemm_dots_1x64__avx2
#define GEMM_NARROW ox_gemm_f32_6x16__avx2
#define GEMM_NARROW_DOTS ox_gemm_dots_6x16__avx2
#define GEMM_NARROW_NR 16
#define GEMM_MR 1
#include "kern/gemm/gemm_f32_wide_body.h"

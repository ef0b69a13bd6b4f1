/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/gemm_f32_avx2.c - the 6 x 16 microkernels in AVX2, for panels of float, half and bfloat16. */
#include "kern/simd/f32_avx2.h"
#include "kern/simd/act_f32.h"

#include "kern/gemm/gemm.h"

#define GEMM_MR 6
#define GEMM_NV 2
#define GEMM_DOTS ox_gemm_dots_6x16__avx2

#define GEMM_NAME ox_gemm_f32_6x16__avx2
#define GEMM_B_T float
#define GEMM_B_LOAD vf32_load
#include "kern/gemm/gemm_f32_body.h"

#define GEMM_NAME ox_gemm_f16_6x16__avx2
#define GEMM_B_T uint16_t
#define GEMM_B_LOAD vf32_load_f16
#include "kern/gemm/gemm_f32_body.h"

#define GEMM_NAME ox_gemm_bf16_6x16__avx2
#define GEMM_B_T uint16_t
#define GEMM_B_LOAD vf32_load_bf16
#include "kern/gemm/gemm_f32_body.h"

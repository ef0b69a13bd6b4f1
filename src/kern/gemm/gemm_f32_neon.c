/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/gemm_f32_neon.c - the 8 x 8 microkernels in AArch64, for panels of float, half and bfloat16. */
#include "kern/simd/f32_neon.h"
#include "kern/simd/act_f32.h"

#include "kern/gemm/gemm.h"

#define GEMM_MR 8
#define GEMM_NV 2
#define GEMM_DOTS ox_gemm_dots_8x8__neon

#define GEMM_NAME ox_gemm_f32_8x8__neon
#define GEMM_B_T float
#define GEMM_B_LOAD vf32_load
#include "kern/gemm/gemm_f32_body.h"

#define GEMM_NAME ox_gemm_f16_8x8__neon
#define GEMM_B_T uint16_t
#define GEMM_B_LOAD vf32_load_f16
#include "kern/gemm/gemm_f32_body.h"

#define GEMM_NAME ox_gemm_bf16_8x8__neon
#define GEMM_B_T uint16_t
#define GEMM_B_LOAD vf32_load_bf16
#include "kern/gemm/gemm_f32_body.h"

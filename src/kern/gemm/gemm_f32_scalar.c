/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/gemm_f32_scalar.c - the 4 x 4 microkernels in plain C, for panels of float, half and bfloat16. */
#include "kern/simd/f32_scalar.h"
#include "kern/simd/act_f32.h"

#include "kern/gemm/gemm.h"

#define GEMM_MR 4
#define GEMM_NV 4
#define GEMM_DOTS ox_gemm_dots_4x4__scalar

#define GEMM_NAME ox_gemm_f32_4x4__scalar
#define GEMM_B_T float
#define GEMM_B_LOAD vf32_load
#include "kern/gemm/gemm_f32_body.h"

#define GEMM_NAME ox_gemm_f16_4x4__scalar
#define GEMM_B_T uint16_t
#define GEMM_B_LOAD vf32_load_f16
#include "kern/gemm/gemm_f32_body.h"

#define GEMM_NAME ox_gemm_bf16_4x4__scalar
#define GEMM_B_T uint16_t
#define GEMM_B_LOAD vf32_load_bf16
#include "kern/gemm/gemm_f32_body.h"

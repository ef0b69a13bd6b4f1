/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/gemm_i8_avx2.c - the 8-bit 3 x 32 microkernels in AVX2. */
#include "kern/simd/i8_avx2.h"

#include "kern/gemm/gemm_i8.h"
#include "kern/simd/i8_kept_avx2.h"

#define GEMM_NAME ox_gemm_i8_3x32__avx2
#define GEMM_PANEL ox_gemm_i8_panel__avx2
#define GEMM_ROW ox_gemm_i8_row__avx2
#define GEMM_FORMS ox_gemm_i8_forms__avx2
#define GEMM_MR 3
#define GEMM_NV 4
#include "kern/gemm/gemm_i8_body.h"
#include "kern/gemm/gemm_i8_forms_body.h"

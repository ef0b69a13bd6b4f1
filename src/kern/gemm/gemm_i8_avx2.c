/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/gemm_i8_avx2.c - the 8-bit 4 x 16 microkernel in AVX2. */
#include "kern/simd/i8_avx2.h"

#include "kern/gemm/gemm_i8.h"

#define GEMM_NAME ox_gemm_i8_4x16__avx2
#define GEMM_PANEL ox_gemm_i8_panel__avx2
#define GEMM_ROW ox_gemm_i8_row__avx2
#define GEMM_MR 4
#define GEMM_NV 2
#include "kern/gemm/gemm_i8_body.h"

/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/gemm_i8_avx512.c - the 8-bit 8 x 32 microkernel in AVX-512 without VNNI. */
#include "kern/simd/i8_avx512.h"

#include "kern/gemm/gemm_i8.h"

#define GEMM_NAME ox_gemm_i8_8x32__avx512
#define GEMM_PANEL ox_gemm_i8_panel__avx512
#define GEMM_ROW ox_gemm_i8_row__avx512
#define GEMM_MR 8
#define GEMM_NV 2
#include "kern/gemm/gemm_i8_body.h"

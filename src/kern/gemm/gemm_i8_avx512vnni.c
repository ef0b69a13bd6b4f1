/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/gemm_i8_avx512vnni.c - the 8-bit 12 x 32 microkernel in AVX-512 VNNI. */
#include "kern/simd/i8_avx512vnni.h"

#include "kern/gemm/gemm_i8.h"

#define GEMM_NAME ox_gemm_i8_12x32__avx512vnni
#define GEMM_PANEL ox_gemm_i8_panel__avx512vnni
#define GEMM_ROW ox_gemm_i8_row__avx512vnni
#define GEMM_MR 12
#define GEMM_NV 2
#include "kern/gemm/gemm_i8_body.h"

/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/gemm_i8_avxvnni.c - the 8-bit 6 x 16 microkernel in AVX-VNNI. */
#include "kern/simd/i8_avxvnni.h"

#include "kern/gemm/gemm_i8.h"

#define GEMM_NAME ox_gemm_i8_6x16__avxvnni
#define GEMM_PANEL ox_gemm_i8_panel__avxvnni
#define GEMM_ROW ox_gemm_i8_row__avxvnni
#define GEMM_MR 6
#define GEMM_NV 2
#include "kern/gemm/gemm_i8_body.h"

/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/gemm_i8_neon.c - the 8-bit 4 x 8 microkernel in AArch64. */
#include "kern/simd/i8_neon.h"

#include "kern/gemm/gemm_i8.h"

#define GEMM_NAME ox_gemm_i8_4x8__neon
#define GEMM_PANEL ox_gemm_i8_panel__neon
#define GEMM_ROW ox_gemm_i8_row__neon
#define GEMM_MR 4
#define GEMM_NV 2
#include "kern/gemm/gemm_i8_body.h"

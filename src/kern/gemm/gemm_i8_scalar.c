/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/gemm_i8_scalar.c - the 8-bit 4 x 4 microkernel in plain C. */
#include "kern/simd/i8_scalar.h"

#include "kern/gemm/gemm_i8.h"

#define GEMM_NAME ox_gemm_i8_4x4__scalar
#define GEMM_PANEL ox_gemm_i8_panel__scalar
#define GEMM_ROW ox_gemm_i8_row__scalar
#define GEMM_MR 4
#define GEMM_NV 4
#include "kern/gemm/gemm_i8_body.h"

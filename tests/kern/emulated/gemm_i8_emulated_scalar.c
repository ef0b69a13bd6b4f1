/* SPDX-License-Identifier: Apache-2.0
 * kern/emulated/gemm_i8_emulated_scalar.c - the 8-bit microkernel of a matrix unit, tiles emulated, and its packing. */
#include "kern/simd/i8_scalar.h"
#include "kern/simd/tile_emulated.h"

#include "kern/emulated/emulated.h"

#define GEMM_NAME ox_gemm_i8_32x32__emulated_scalar
#define GEMM_BEGIN ox_gemm_i8_begin__emulated_scalar
#define GEMM_END ox_gemm_i8_end__emulated_scalar
#define GEMM_PANEL ox_gemm_i8_panel__emulated_scalar
#define GEMM_ROW ox_gemm_i8_row__emulated_scalar
#define GEMM_NV 32
#include "kern/gemm/gemm_i8_pack_body.h"
#include "kern/gemm/gemm_i8_tile_body.h"

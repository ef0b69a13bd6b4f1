/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/gemm_i8_amxint8.c - the 8-bit microkernel on AMX. */
#include "kern/simd/f32_avx512.h"
#include "kern/simd/tile_amx.h"

#include "kern/gemm/gemm_i8.h"

#define GEMM_NAME ox_gemm_i8_32x32__amxint8
#define GEMM_BEGIN ox_gemm_i8_begin__amxint8
#define GEMM_END ox_gemm_i8_end__amxint8
#include "kern/gemm/gemm_i8_tile_body.h"

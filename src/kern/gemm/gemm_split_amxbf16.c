/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/gemm_split_amxbf16.c - the float microkernel on AMX. */
#include "kern/simd/bf16_avx512bf16.h"
#include "kern/simd/tile_amx.h"

#include "kern/gemm/gemm.h"

#define SPLIT_NAME ox_gemm_split_32x32__amxbf16
#define SPLIT_PACK_A ox_gemm_split_a__amxbf16
#define SPLIT_PACK_B ox_gemm_split_b__amxbf16
#define SPLIT_BEGIN ox_gemm_split_begin__amxbf16
#define SPLIT_END ox_gemm_split_end__amxbf16
#include "kern/gemm/gemm_split_body.h"

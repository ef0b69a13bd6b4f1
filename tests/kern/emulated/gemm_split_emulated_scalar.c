/* SPDX-License-Identifier: Apache-2.0
 * kern/emulated/gemm_split_emulated_scalar.c - the float microkernel of a matrix unit, tiles emulated. */
#include "kern/simd/bf16_scalar.h"
#include "kern/simd/tile_emulated.h"

#include "kern/emulated/emulated.h"

#define SPLIT_NAME ox_gemm_split_32x32__emulated_scalar
#define SPLIT_PACK_A ox_gemm_split_a__emulated_scalar
#define SPLIT_PACK_B ox_gemm_split_b__emulated_scalar
#define SPLIT_BEGIN ox_gemm_split_begin__emulated_scalar
#define SPLIT_END ox_gemm_split_end__emulated_scalar
#include "kern/gemm/gemm_split_body.h"

/* SPDX-License-Identifier: Apache-2.0
 * gemm/gemm_split_scalar.c - float products on bfloat16 matrix tiles, in plain C: the stand-in for tests. */
#include "kern/simd/tile_bf16_scalar.h"

#include "kern/gemm/gemm.h"

#define SPLIT_NAME ox_gemm_split_32x32__scalar
#define SPLIT_PACK_A ox_gemm_split_a__scalar
#define SPLIT_PACK_B ox_gemm_split_b__scalar
#define SPLIT_BEGIN ox_gemm_split_begin__scalar
#define SPLIT_END ox_gemm_split_end__scalar
#include "kern/gemm/gemm_split_body.h"

/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/split_product_amxbf16.c - float32 products on AMX. */
#include "kern/simd/bf16_avx512bf16.h"
#include "kern/simd/tile_amx.h"

#define SPLIT_KERNELS ox_split_kernels__amxbf16
#define SPLIT_NEEDS OX_AMX_BF16
#define SPLIT_ISA "split amxbf16"
#include "kern/gemm/split_product_body.h"

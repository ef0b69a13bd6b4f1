/* SPDX-License-Identifier: Apache-2.0
 * kern/emulated/split_product_emulated_avx512bf16.c - float32 products on a matrix unit, tiles emulated. */
#include "kern/simd/bf16_avx512bf16.h"
#include "kern/simd/tile_emulated.h"

#define SPLIT_KERNELS ox_split_kernels__emulated_avx512bf16
#define SPLIT_NEEDS OX_AVX512BF16
#define SPLIT_ISA "split emulated_avx512bf16"
#include "kern/gemm/split_product_body.h"

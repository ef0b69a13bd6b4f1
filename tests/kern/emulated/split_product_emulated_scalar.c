/* SPDX-License-Identifier: Apache-2.0
 * kern/emulated/split_product_emulated_scalar.c - float32 products on a matrix unit, tiles emulated. */
#include "kern/simd/bf16_scalar.h"
#include "kern/simd/tile_emulated.h"

#define SPLIT_KERNELS ox_split_kernels__emulated_scalar
#define SPLIT_NEEDS 0
#define SPLIT_ISA "split emulated_scalar"
#include "kern/gemm/split_product_body.h"

/* SPDX-License-Identifier: Apache-2.0
 * kern/emulated/conv_f32_emulated_avx512bf16.c - convolution on a matrix unit, tiles emulated. */
#include "kern/simd/bf16_avx512bf16.h"
#include "kern/simd/tile_emulated.h"

#include "kern/conv/conv_split_body.h"

#define CONV_ISA emulated_avx512bf16
#define CONV_NEEDS OX_AVX512BF16
#define CONV_MR 8 /* as conv_f32_amxbf16.c */
#define CONV_NV 3
#define CONV_FEW_MR 13
#define CONV_FEW_NV 2
#include "kern/conv/conv_f32_body.h"

/* SPDX-License-Identifier: Apache-2.0
 * kern/conv/conv_f32_amxbf16.c - the tile functions of AVX-512, and products on AMX. */
#include "kern/simd/bf16_avx512bf16.h"
#include "kern/simd/tile_amx.h"

#include "kern/conv/conv_split_body.h"

#define CONV_ISA amxbf16
#define CONV_NEEDS OX_AMX_BF16
#define CONV_MR 8 /* as conv_f32_avx512.c */
#define CONV_NV 3
#define CONV_FEW_MR 13
#define CONV_FEW_NV 2
#include "kern/conv/conv_f32_body.h"

/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/blocks_f32_avx512.c - blocks_f32_body.h on this instruction set. */
#include "kern/simd/f32_avx512.h"

#define BLOCKS_ISA avx512
#define BLOCKS_NEEDS OX_AVX512
#include "kern/blocks/blocks_f32_body.h"

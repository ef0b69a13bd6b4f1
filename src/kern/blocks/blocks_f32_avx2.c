/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/blocks_f32_avx2.c - blocks_f32_body.h on this instruction set. */
#include "kern/simd/f32_avx2.h"

#define BLOCKS_ISA avx2
#define BLOCKS_NEEDS OX_AVX2
#include "kern/blocks/blocks_f32_body.h"

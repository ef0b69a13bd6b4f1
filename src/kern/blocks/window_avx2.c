/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/window_avx2.c - window_body.h on this instruction set. */
#include "kern/simd/f32_avx2.h"

#define WINDOW_ISA avx2
#define WINDOW_TEXT "avx2"
#define WINDOW_NEEDS OX_AVX2
#define WINDOW_MOST 10 /* with three weights and an input 14 registers; 8 take 3 to 8 % longer */
#include "kern/blocks/window_body.h"

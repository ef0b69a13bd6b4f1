/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/window_avx512.c - window_body.h on this instruction set. */
#include "kern/simd/f32_avx512.h"

#define WINDOW_ISA avx512
#define WINDOW_TEXT "avx512"
#define WINDOW_NEEDS OX_AVX512
#define WINDOW_MOST 14
#include "kern/blocks/window_body.h"

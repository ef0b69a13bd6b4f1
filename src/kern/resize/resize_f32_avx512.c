/* SPDX-License-Identifier: Apache-2.0
 * kern/resize/resize_f32_avx512.c - resize_f32_body.h on this instruction set. */
#include "kern/simd/f32_avx512.h"

#define RESIZE_ISA avx512
#define RESIZE_NEEDS OX_AVX512
#include "kern/resize/resize_f32_body.h"

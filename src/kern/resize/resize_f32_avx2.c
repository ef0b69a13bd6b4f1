/* SPDX-License-Identifier: Apache-2.0
 * kern/resize/resize_f32_avx2.c - resize_f32_body.h on this instruction set. */
#include "kern/simd/f32_avx2.h"

#define RESIZE_ISA avx2
#define RESIZE_NEEDS OX_AVX2
#include "kern/resize/resize_f32_body.h"

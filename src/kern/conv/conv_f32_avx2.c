/* SPDX-License-Identifier: Apache-2.0
 * kern/conv/conv_f32_avx2.c - the convolution tile functions of one instruction set. */
#include "kern/simd/f32_avx2.h"

#define CONV_ISA avx2
#define CONV_NEEDS OX_AVX2
#include "kern/conv/conv_f32_body.h"

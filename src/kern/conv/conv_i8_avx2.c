/* SPDX-License-Identifier: Apache-2.0
 * kern/conv/conv_i8_avx2.c - depthwise convolution of bytes on one instruction set. */
#include "kern/simd/f32_avx2.h"

#define CONV_ISA avx2
#define CONV_NEEDS OX_AVX2
#include "kern/conv/conv_i8_body.h"

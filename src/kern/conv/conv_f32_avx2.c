/* SPDX-License-Identifier: Apache-2.0
 * kern/conv/conv_f32_avx2.c - the convolution tile functions of one instruction set. */
#include "kern/simd/f32_avx2.h"

#define CONV_ISA avx2
#define CONV_NEEDS OX_AVX2
#define CONV_MR 4     /* rows of channels, pixels in lanes */
#define CONV_NV 3     /* vectors of pixels */
#define CONV_FEW_MR 6 /* rows of pixels, channels in lanes */
#define CONV_FEW_NV 2 /* vectors of channels */
#include "kern/conv/conv_f32_body.h"

/* SPDX-License-Identifier: Apache-2.0
 * kern/conv/conv_f32_neon.c - the convolution tile functions of one instruction set. */
#include "kern/simd/f32_neon.h"

#define CONV_ISA neon
#define CONV_NEEDS OX_NEON
#define CONV_MR 8     /* rows of channels, pixels in lanes */
#define CONV_NV 3     /* vectors of pixels */
#define CONV_FEW_MR 6 /* rows of pixels, channels in lanes */
#define CONV_FEW_NV 4 /* vectors of channels */
#include "kern/conv/conv_f32_body.h"

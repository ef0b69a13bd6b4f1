/* SPDX-License-Identifier: Apache-2.0
 * kern/conv/conv_f32_scalar.c - the convolution tile functions of one instruction set. */
#include "kern/simd/f32_scalar.h"

#define CONV_ISA scalar
#define CONV_NEEDS 0
#define CONV_MR 4     /* rows of channels, pixels in lanes */
#define CONV_NV 4     /* vectors of pixels */
#define CONV_FEW_MR 4 /* rows of pixels, channels in lanes */
#define CONV_FEW_NV 4 /* vectors of channels */
#include "kern/conv/conv_f32_body.h"

/* SPDX-License-Identifier: Apache-2.0
 * kern/conv/conv_i8_neon.c - depthwise convolution of bytes on one instruction set. */
#include "kern/simd/f32_neon.h"

#define CONV_ISA neon
#define CONV_NEEDS OX_NEON
#include "kern/conv/conv_i8_body.h"

/* SPDX-License-Identifier: Apache-2.0
 * kern/conv/conv_f32_neon.c - the convolution tile functions of one instruction set. */
#include "kern/simd/f32_neon.h"

#define CONV_ISA neon
#define CONV_NEEDS OX_NEON
#include "kern/conv/conv_f32_body.h"

/* SPDX-License-Identifier: Apache-2.0
 * kern/conv/conv_f32_scalar.c - the convolution tile functions of one instruction set. */
#include "kern/simd/f32_scalar.h"

#define CONV_ISA scalar
#define CONV_NEEDS 0
#include "kern/conv/conv_f32_body.h"

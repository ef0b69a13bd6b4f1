/* SPDX-License-Identifier: Apache-2.0
 * kern/softmax/softmax_f32_neon.c - softmax_f32_body.h on this instruction set. */
#include <math.h>

#include "kern/simd/f32_neon.h"
#include "kern/simd/math_f32.h"

#define SOFTMAX_NAME ox_softmax__neon
#define SOFTMAX_ISA "neon"
#define SOFTMAX_NEEDS OX_NEON
#include "kern/softmax/softmax_f32_body.h"

/* SPDX-License-Identifier: Apache-2.0
 * kern/softmax/softmax_f32_avx2.c - softmax_f32_body.h on this instruction set. */
#include <math.h>

#include "kern/simd/f32_avx2.h"
#include "kern/simd/math_f32.h"

#define SOFTMAX_NAME ox_softmax__avx2
#define SOFTMAX_ISA "avx2"
#define SOFTMAX_NEEDS OX_AVX2
#include "kern/softmax/softmax_f32_body.h"

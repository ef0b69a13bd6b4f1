/* SPDX-License-Identifier: Apache-2.0
 * kern/reduce/reduce_f32_avx2.c - reduce_f32_body.h on this instruction set. */
#include <math.h>

#include "kern/simd/f32_avx2.h"
#include "kern/simd/math_f32.h"

#define REDUCE_NAME ox_reduce__avx2
#define REDUCE_ISA "avx2"
#define REDUCE_NEEDS OX_AVX2
#include "kern/reduce/reduce_f32_body.h"

/* SPDX-License-Identifier: Apache-2.0
 * kern/reduce/reduce_f32_avx512.c - reduce_f32_body.h on this instruction set. */
#include <math.h>

#include "kern/simd/f32_avx512.h"
#include "kern/simd/math_f32.h"

#define REDUCE_NAME ox_reduce__avx512
#define REDUCE_ISA "avx512"
#define REDUCE_NEEDS OX_AVX512
#include "kern/reduce/reduce_f32_body.h"

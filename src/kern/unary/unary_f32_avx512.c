/* SPDX-License-Identifier: Apache-2.0
 * kern/unary/unary_f32_avx512.c - unary_f32_body.h on this instruction set. */
#include <math.h>

#include "kern/simd/f32_avx512.h"
#include "kern/simd/math_f32.h"

#define UNARY_NAME ox_unary_f32__avx512
#include "kern/unary/unary_f32_body.h"

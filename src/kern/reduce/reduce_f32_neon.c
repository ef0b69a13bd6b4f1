/* SPDX-License-Identifier: Apache-2.0
 * kern/reduce/reduce_f32_neon.c - reduce_f32_body.h on this instruction set. */
#include <math.h>

#include "kern/simd/f32_neon.h"
#include "kern/simd/math_f32.h"

#define REDUCE_NAME ox_reduce__neon
#define REDUCE_ISA "neon"
#define REDUCE_NEEDS OX_NEON
#include "kern/reduce/reduce_f32_body.h"

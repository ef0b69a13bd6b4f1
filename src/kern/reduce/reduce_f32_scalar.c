/* SPDX-License-Identifier: Apache-2.0
 * kern/reduce/reduce_f32_scalar.c - reduce_f32_body.h on this instruction set. */
#include <math.h>

#include "kern/simd/f32_scalar.h"
#include "kern/simd/math_f32.h"

#define REDUCE_NAME ox_reduce__scalar
#define REDUCE_ISA "scalar"
#define REDUCE_NEEDS 0
#include "kern/reduce/reduce_f32_body.h"

/* SPDX-License-Identifier: Apache-2.0
 * kern/softmax/softmax_f32_scalar.c - softmax_f32_body.h on this instruction set. */
#include <math.h>

#include "kern/simd/f32_scalar.h"
#include "kern/simd/math_f32.h"

#define SOFTMAX_NAME ox_softmax__scalar
#define SOFTMAX_ISA "scalar"
#define SOFTMAX_NEEDS 0
#include "kern/softmax/softmax_f32_body.h"

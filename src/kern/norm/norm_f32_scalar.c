/* SPDX-License-Identifier: Apache-2.0
 * kern/norm/norm_f32_scalar.c - norm_f32_body.h on this instruction set. */
#include <math.h>

#include "kern/simd/f32_scalar.h"

#define NORM_NAME ox_norm__scalar
#define NORM_ISA "scalar"
#define NORM_NEEDS 0
#include "kern/norm/norm_f32_body.h"

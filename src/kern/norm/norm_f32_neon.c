/* SPDX-License-Identifier: Apache-2.0
 * kern/norm/norm_f32_neon.c - norm_f32_body.h on this instruction set. */
#include <math.h>

#include "kern/simd/f32_neon.h"

#define NORM_NAME ox_norm__neon
#define NORM_ISA "neon"
#define NORM_NEEDS OX_NEON
#include "kern/norm/norm_f32_body.h"

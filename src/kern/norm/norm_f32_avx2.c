/* SPDX-License-Identifier: Apache-2.0
 * kern/norm/norm_f32_avx2.c - norm_f32_body.h on this instruction set. */
#include <math.h>

#include "kern/simd/f32_avx2.h"

#define NORM_NAME ox_norm__avx2
#define NORM_ISA "avx2"
#define NORM_NEEDS OX_AVX2
#include "kern/norm/norm_f32_body.h"

/* SPDX-License-Identifier: Apache-2.0
 * kern/resize/corners_avx2.c - corners_body.h on this instruction set. */
#include "kern/simd/f64_avx2.h"

#define CORNERS_NAME ox_corners__avx2
#define CORNERS_ISA "avx2"
#define CORNERS_NEEDS OX_AVX2
#include "kern/resize/corners_body.h"

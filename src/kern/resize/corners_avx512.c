/* SPDX-License-Identifier: Apache-2.0
 * kern/resize/corners_avx512.c - corners_body.h on this instruction set. */
#include "kern/simd/f64_avx512.h"

#define CORNERS_NAME ox_corners__avx512
#define CORNERS_ISA "avx512"
#define CORNERS_NEEDS OX_AVX512
#include "kern/resize/corners_body.h"

/* SPDX-License-Identifier: Apache-2.0
 * kern/resize/corners_neon.c - corners_body.h on this instruction set. */
#include "kern/simd/f64_neon.h"

#define CORNERS_NAME ox_corners__neon
#define CORNERS_ISA "neon"
#define CORNERS_NEEDS OX_NEON
#include "kern/resize/corners_body.h"

/* SPDX-License-Identifier: Apache-2.0
 * kern/resize/corners_scalar.c - corners_body.h on this instruction set. */
#include "kern/simd/f64_scalar.h"

#define CORNERS_NAME ox_corners__scalar
#define CORNERS_ISA "scalar"
#define CORNERS_NEEDS 0
#include "kern/resize/corners_body.h"

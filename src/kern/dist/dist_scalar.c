/* SPDX-License-Identifier: Apache-2.0
 * kern/dist/dist_scalar.c - dist_body.h on this instruction set. */
#include "kern/simd/f32_scalar.h"

#define DIST_NAME ox_dist_f32__scalar
#include "kern/dist/dist_body.h"

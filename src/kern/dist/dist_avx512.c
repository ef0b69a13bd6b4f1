/* SPDX-License-Identifier: Apache-2.0
 * kern/dist/dist_avx512.c - dist_body.h on this instruction set. */
#include "kern/simd/f32_avx512.h"

#define DIST_NAME ox_dist_f32__avx512
#include "kern/dist/dist_body.h"

/* SPDX-License-Identifier: Apache-2.0
 * kern/attention/rotary_avx2.c - rotary_body.h on this instruction set. */
#include "kern/simd/f32_avx2.h"

#define ROTARY_NAME ox_rotary__avx2
#define ROTARY_ISA "avx2"
#define ROTARY_NEEDS OX_AVX2
#include "kern/attention/rotary_body.h"

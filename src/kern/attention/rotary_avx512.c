/* SPDX-License-Identifier: Apache-2.0
 * kern/attention/rotary_avx512.c - rotary_body.h on this instruction set. */
#include "kern/simd/f32_avx512.h"

#define ROTARY_NAME ox_rotary__avx512
#define ROTARY_ISA "avx512"
#define ROTARY_NEEDS OX_AVX512
#include "kern/attention/rotary_body.h"

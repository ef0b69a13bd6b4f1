/* SPDX-License-Identifier: Apache-2.0
 * kern/norm/channel_f32_avx2.c - channel_f32_body.h on this instruction set. */
#include "kern/simd/f32_avx2.h"
#include "kern/simd/f64_avx2.h"

#define CHANNEL_ISA avx2
#define CHANNEL_NEEDS OX_AVX2
#include "kern/norm/channel_f32_body.h"

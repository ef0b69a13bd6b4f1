/* SPDX-License-Identifier: Apache-2.0
 * kern/norm/channel_f32_avx512.c - channel_f32_body.h on this instruction set. */
#include "kern/simd/f32_avx512.h"
#include "kern/simd/f64_avx512.h"

#define CHANNEL_ISA avx512
#define CHANNEL_NEEDS OX_AVX512
#include "kern/norm/channel_f32_body.h"

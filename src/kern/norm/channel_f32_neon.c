/* SPDX-License-Identifier: Apache-2.0
 * kern/norm/channel_f32_neon.c - channel_f32_body.h on this instruction set. */
#include "kern/simd/f32_neon.h"
#include "kern/simd/f64_neon.h"

#define CHANNEL_ISA neon
#define CHANNEL_NEEDS OX_NEON
#include "kern/norm/channel_f32_body.h"

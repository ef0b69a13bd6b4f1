/* SPDX-License-Identifier: Apache-2.0
 * kern/attention/rotary_neon.c - rotary_body.h on this instruction set. */
#include "kern/simd/f32_neon.h"

#define ROTARY_NAME ox_rotary__neon
#define ROTARY_ISA "neon"
#define ROTARY_NEEDS OX_NEON
#include "kern/attention/rotary_body.h"

/* SPDX-License-Identifier: Apache-2.0
 * kern/attention/rotary_scalar.c - rotary_body.h on this instruction set. */
#include "kern/simd/f32_scalar.h"

#define ROTARY_NAME ox_rotary__scalar
#define ROTARY_ISA "scalar"
#define ROTARY_NEEDS 0
#include "kern/attention/rotary_body.h"

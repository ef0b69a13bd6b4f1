/* SPDX-License-Identifier: Apache-2.0
 * kern/norm/channel_f32_scalar.c - channel_f32_body.h on this instruction set. */
#include "kern/simd/f32_scalar.h"
#include "kern/simd/f64_scalar.h"

#define CHANNEL_ISA scalar
#define CHANNEL_NEEDS 0
#include "kern/norm/channel_f32_body.h"

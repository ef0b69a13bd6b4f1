/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/blocks_f32_neon.c - blocks_f32_body.h on this instruction set. */
#include "kern/simd/f32_neon.h"

#define BLOCKS_ISA neon
#define BLOCKS_NEEDS OX_NEON
#include "kern/blocks/blocks_f32_body.h"

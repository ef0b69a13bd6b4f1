/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/blocks_f32_scalar.c - blocks_f32_body.h on this instruction set. */
#include "kern/simd/f32_scalar.h"

#define BLOCKS_ISA scalar
#define BLOCKS_NEEDS 0
#include "kern/blocks/blocks_f32_body.h"

/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/window_neon.c - window_body.h on this instruction set. */
#include "kern/simd/f32_neon.h"

#define WINDOW_ISA neon
#define WINDOW_TEXT "neon"
#define WINDOW_NEEDS OX_NEON
#include "kern/blocks/window_body.h"

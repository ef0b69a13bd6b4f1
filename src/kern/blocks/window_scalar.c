/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/window_scalar.c - window_body.h on this instruction set. */
#include "kern/simd/f32_scalar.h"

#define WINDOW_ISA scalar
#define WINDOW_TEXT "scalar"
#define WINDOW_NEEDS 0
#include "kern/blocks/window_body.h"

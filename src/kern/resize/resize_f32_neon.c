/* SPDX-License-Identifier: Apache-2.0
 * kern/resize/resize_f32_neon.c - resize_f32_body.h on this instruction set. */
#include "kern/simd/f32_neon.h"

#define RESIZE_ISA neon
#define RESIZE_NEEDS OX_NEON
#include "kern/resize/resize_f32_body.h"

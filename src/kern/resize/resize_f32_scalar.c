/* SPDX-License-Identifier: Apache-2.0
 * kern/resize/resize_f32_scalar.c - resize_f32_body.h on this instruction set. */
#include "kern/simd/f32_scalar.h"

#define RESIZE_ISA scalar
#define RESIZE_NEEDS 0
#include "kern/resize/resize_f32_body.h"

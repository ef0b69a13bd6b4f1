/* SPDX-License-Identifier: Apache-2.0
 * kern/pool/plane_f32_scalar.c - the plane functions of one instruction set. */
#include "kern/simd/f32_scalar.h"

#define PLANE_ISA scalar
#define PLANE_NEEDS 0
#include "kern/pool/plane_f32_body.h"

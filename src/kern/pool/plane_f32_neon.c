/* SPDX-License-Identifier: Apache-2.0
 * kern/pool/plane_f32_neon.c - the plane functions of one instruction set. */
#include "kern/simd/f32_neon.h"

#define PLANE_ISA neon
#define PLANE_NEEDS OX_NEON
#include "kern/pool/plane_f32_body.h"

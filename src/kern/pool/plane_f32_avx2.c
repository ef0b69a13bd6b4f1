/* SPDX-License-Identifier: Apache-2.0
 * kern/pool/plane_f32_avx2.c - the plane functions of one instruction set. */
#include "kern/simd/f32_avx2.h"

#define PLANE_ISA avx2
#define PLANE_NEEDS OX_AVX2
#include "kern/pool/plane_f32_body.h"

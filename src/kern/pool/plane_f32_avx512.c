/* SPDX-License-Identifier: Apache-2.0
 * kern/pool/plane_f32_avx512.c - the plane functions of one instruction set. */
#include "kern/simd/f32_avx512.h"

#define PLANE_ISA avx512
#define PLANE_NEEDS OX_AVX512
#include "kern/pool/plane_f32_body.h"

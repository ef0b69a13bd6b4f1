/* SPDX-License-Identifier: Apache-2.0
 * kern/pool/planes_avx2.c - pools over planes of floats in AVX2. */
#include "kern/simd/f32_avx2.h"

#define PLANES_ISA avx2
#define PLANES_NEEDS OX_AVX2
#define PLANES_OVERLAP 1 /* a masked store takes a dozen cycles on Zen */
#include "kern/pool/planes_body.h"

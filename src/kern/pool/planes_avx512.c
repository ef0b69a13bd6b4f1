/* SPDX-License-Identifier: Apache-2.0
 * kern/pool/planes_avx512.c - pools over planes of floats in AVX-512. */
#include "kern/simd/f32_avx512.h"

#define PLANES_ISA avx512
#define PLANES_NEEDS OX_AVX512
#include "kern/pool/planes_body.h"

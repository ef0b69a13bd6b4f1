/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/strassen_halves_avx512.c - as strassen_avx512.c, for CPUs that execute 512-bit vectors in halves: FMAs
 * broadcast elements of A from memory as an operand. A separate broadcast instruction would be one too many there while
 * blocks of B are added, and the additional loads cost nothing. */
#include "kern/simd/f32_half_avx512.h"
#include "kern/simd/act_f32.h"

#define STRASSEN_NAME ox_strassen_halves_14x32__avx512
#define STRASSEN_FORM "strassen 14x32"
#define STRASSEN_MR 14
#define STRASSEN_NV 2
#define STRASSEN_KEEPS 0
#define STRASSEN_FMA_AT vf32_fma_at
#include "kern/gemm/strassen_body.h"

/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/gemm_plain_avx2.c - gemm_plain_body.h on this instruction set. */
#include "kern/simd/f32_avx2.h"
#include "kern/simd/f64_avx2.h"

#define PLAIN_ISA avx2
#define PLAIN_NEEDS OX_AVX2
#define PLAIN_MR 6
#define PLAIN_NV 2
#include "kern/gemm/gemm_plain_body.h"

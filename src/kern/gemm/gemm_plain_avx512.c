/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/gemm_plain_avx512.c - gemm_plain_body.h on this instruction set. */
#include "kern/simd/f32_avx512.h"
#include "kern/simd/f64_avx512.h"

#define PLAIN_ISA avx512
#define PLAIN_NEEDS OX_AVX512
#define PLAIN_MR 8
#define PLAIN_NV 2
#include "kern/gemm/gemm_plain_body.h"

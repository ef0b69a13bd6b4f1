/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/gemm_plain_neon.c - gemm_plain_body.h on this instruction set. */
#include "kern/simd/f32_neon.h"
#include "kern/simd/f64_neon.h"

#define PLAIN_ISA neon
#define PLAIN_NEEDS OX_NEON
#define PLAIN_MR 6
#define PLAIN_NV 4
#include "kern/gemm/gemm_plain_body.h"

/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/gemm_plain_scalar.c - gemm_plain_body.h on this instruction set. */
#include "kern/simd/f32_scalar.h"
#include "kern/simd/f64_scalar.h"

#define PLAIN_ISA scalar
#define PLAIN_NEEDS 0
#define PLAIN_MR 2
#define PLAIN_NV 4
#include "kern/gemm/gemm_plain_body.h"

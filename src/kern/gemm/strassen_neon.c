/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/strassen_neon.c - kernels of Strassen's product with strips of 8 rows. */
#include "kern/simd/f32_neon.h"
#include "kern/simd/act_f32.h"

#define STRASSEN_NAME ox_strassen_8x8__neon
#define STRASSEN_FORM "strassen 8x8"
#define STRASSEN_MR 8
#define STRASSEN_NV 2
#define STRASSEN_KEEPS 0
#include "kern/gemm/strassen_body.h"

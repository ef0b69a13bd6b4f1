/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/strassen_avx512.c - kernels of Strassen's product with strips of 14 rows. */
#include "kern/simd/f32_avx512.h"
#include "kern/simd/act_f32.h"

#define STRASSEN_NAME ox_strassen_14x32__avx512
#define STRASSEN_FORM "strassen 14x32"
#define STRASSEN_MR 14
#define STRASSEN_NV 2
#define STRASSEN_KEEPS 0
#include "kern/gemm/strassen_body.h"

/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/strassen_avx2.c - kernels of Strassen's product with strips of 6 rows. */
#include "kern/simd/f32_avx2.h"
#include "kern/simd/act_f32.h"

#define STRASSEN_NAME ox_strassen_6x16__avx2
#define STRASSEN_FORM "strassen 6x16"
#define STRASSEN_MR 6
#define STRASSEN_NV 2
#define STRASSEN_KEEPS 1
#include "kern/gemm/strassen_body.h"

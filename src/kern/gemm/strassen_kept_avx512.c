/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/strassen_kept_avx512.c - as strassen_avx512.c, for Intel's CPUs: the first strip keeps the sums of blocks of
 * B. If every strip reads two blocks, it waits for L2. */
#include "kern/simd/f32_avx512.h"
#include "kern/simd/act_f32.h"

#define STRASSEN_NAME ox_strassen_kept_14x32__avx512
#define STRASSEN_FORM "strassen 14x32"
#define STRASSEN_MR 14
#define STRASSEN_NV 2
#define STRASSEN_KEEPS 1
#include "kern/gemm/strassen_body.h"

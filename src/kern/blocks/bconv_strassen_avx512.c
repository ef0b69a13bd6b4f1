/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/bconv_strassen_avx512.c - Strassen's products on one instruction set. */
#include "kern/simd/f32_avx512.h"

#define SW_ISA avx512
#define SW_NEEDS OX_AVX512
#define SW_NP 2  /* panels of a half */
#define SW_MR 14 /* pixels of a half, at most */
#define SW_K_AT_ONCE 4
#include "kern/blocks/bconv_strassen_body.h"

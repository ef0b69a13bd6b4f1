/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/bconv_strassen_avx2.c - Strassen's products on one instruction set. */
#include "kern/simd/f32_avx2.h"

#define SW_ISA avx2
#define SW_NEEDS OX_AVX2
#define SW_NP 1 /* panels of a half */
#define SW_MR 6 /* pixels of a half, at most */
#define SW_K_AT_ONCE 4
#include "kern/blocks/bconv_strassen_body.h"

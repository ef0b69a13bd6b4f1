/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/bconv_direct_avx2.c - the products of the direct form on one instruction set. */
#include "kern/simd/f32_avx2.h"

#define BCONV_ISA avx2
#define BCONV_NEEDS OX_AVX2
#define BCONV_RATE 60
#define BCONV_K 512
#define BCONV_K_AT_ONCE 4
#define BCONV_SUMS     /* four to six pixels by one panel keep their sums in registers of their own */
#define BCONV_MR1 6    /* pixels beside one panel */
#define BCONV_LOWER 12 /* beside half a panel */
#define BCONV_MRG 6    /* in groups */
#define BCONV_EVEN 12  /* in groups of as many inputs as outputs, 2 or 4 */
#define BCONV_EVEN8 14 /* 8 */
#define BCONV_MRF 10   /* of few outputs */
#define BCONV_POST 8   /* strips that an activation is applied to at a time */
#define BCONV_STEM_BODY "kern/blocks/bconv_rows_body.h"
#include "kern/blocks/bconv_direct_body.h"

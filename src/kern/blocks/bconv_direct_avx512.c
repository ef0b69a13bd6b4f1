/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/bconv_direct_avx512.c - the products of the direct form on one instruction set. */
#include "kern/simd/f32_half_avx512.h"

#define BCONV_ISA avx512
#define BCONV_NEEDS OX_AVX512
#define BCONV_RATE 120
#define BCONV_K 288
#define BCONV_MR1 28 /* pixels beside one panel */
#define BCONV_MR2 14 /* beside two */
#define BCONV_MR3 9  /* beside three */
#define BCONV_HALVED halved
#define BCONV_HALVED2 16   /* pixels beside two panels, the last of which is halved */
#define BCONV_HALVED3 10   /* beside three */
#define BCONV_SPLIT narrow /* the same where vectors go through the units in halves */
#define BCONV_STEM_BODY "kern/blocks/bconv_stem_body.h"
#define BCONV_MRG 14 /* in groups */
#define BCONV_MRF 14 /* of few outputs */
/* Loops of 16 turns are left by surprise; of four they are not. With fewer registers than 32 sums would be spilled. */
#define BCONV_K_AT_ONCE 4
#include "kern/blocks/bconv_direct_body.h"

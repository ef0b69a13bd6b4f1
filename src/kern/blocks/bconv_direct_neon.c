/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/bconv_direct_neon.c - the products of the direct form on one instruction set. */
#include "kern/simd/f32_neon.h"

#define BCONV_ISA neon
#define BCONV_NEEDS OX_NEON
#define BCONV_RATE 20
#define BCONV_K 512
#define BCONV_MR1 6  /* pixels beside one panel */
#define BCONV_MRG 6  /* in groups */
#define BCONV_MRF 14 /* of few outputs */
#include "kern/blocks/bconv_direct_body.h"

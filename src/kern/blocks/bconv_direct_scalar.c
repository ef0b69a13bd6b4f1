/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/bconv_direct_scalar.c - the products of the direct form on one instruction set. */
#include "kern/simd/f32_scalar.h"

#define BCONV_ISA scalar
#define BCONV_NEEDS 0
#define BCONV_RATE 2
#define BCONV_K 512
#define BCONV_MR1 2 /* pixels beside one panel */
#define BCONV_MRG 2 /* in groups */
#define BCONV_MRF 2 /* of few outputs */
#include "kern/blocks/bconv_direct_body.h"

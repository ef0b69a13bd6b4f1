/* SPDX-License-Identifier: Apache-2.0
 * kern/attention/linear_attention_avx2.c - the linear attention step over the avx2 vocabulary. */
#include "kern/simd/f32_avx2.h"

#define LINEAR_STEP ox_linear_step__avx2
#include "kern/attention/linear_attention_body.h"

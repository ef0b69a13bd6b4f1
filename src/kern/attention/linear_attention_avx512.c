/* SPDX-License-Identifier: Apache-2.0
 * kern/attention/linear_attention_avx512.c - the linear attention step over the avx512 vocabulary. */
#include "kern/simd/f32_avx512.h"

#define LINEAR_STEP ox_linear_step__avx512
#include "kern/attention/linear_attention_body.h"

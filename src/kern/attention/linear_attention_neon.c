/* SPDX-License-Identifier: Apache-2.0
 * kern/attention/linear_attention_neon.c - the linear attention step over the neon vocabulary. */
#include "kern/simd/f32_neon.h"

#define LINEAR_STEP ox_linear_step__neon
#include "kern/attention/linear_attention_body.h"

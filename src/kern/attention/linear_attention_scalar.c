/* SPDX-License-Identifier: Apache-2.0
 * kern/attention/linear_attention_scalar.c - the linear attention step over the scalar vocabulary. */
#include "kern/simd/f32_scalar.h"

#define LINEAR_STEP ox_linear_step__scalar
#include "kern/attention/linear_attention_body.h"

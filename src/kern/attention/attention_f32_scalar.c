/* SPDX-License-Identifier: Apache-2.0
 * kern/attention/attention_f32_scalar.c - the attention body over the scalar vocabulary. */
#include "kern/simd/f32_scalar.h"
#include "kern/simd/math_f32.h"

#define ATTN_RUN ox_attn_f32__scalar
#define ATTN_NV 4 /* vectors of query rows in a tile */
#define ATTN_MR 4 /* keys at a time */
#define ATTN_PR 4 /* query rows of sums at a time */
#define ATTN_PV 4 /* vectors of v at a time */
#include "kern/attention/attention_f32_body.h"

/* SPDX-License-Identifier: Apache-2.0
 * kern/attention/attention_f32_avx2.c - the attention body over the avx2 vocabulary. */
#include "kern/simd/f32_avx2.h"
#include "kern/simd/math_f32.h"

#define ATTN_RUN ox_attn_f32__avx2
#define ATTN_NV 2 /* vectors of query rows in a tile */
#define ATTN_MR 6 /* keys at a time */
#define ATTN_PR 4 /* query rows of sums at a time */
#define ATTN_PV 3 /* vectors of v at a time */
#include "kern/attention/attention_f32_body.h"

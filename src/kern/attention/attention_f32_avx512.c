/* SPDX-License-Identifier: Apache-2.0
 * kern/attention/attention_f32_avx512.c - the attention body over the avx512 vocabulary. */
#include "kern/simd/f32_avx512.h"
#include "kern/simd/math_f32.h"

#define ATTN_RUN ox_attn_f32__avx512
#define ATTN_NV 2 /* vectors of query rows in a tile */
#define ATTN_MR 8 /* keys at a time */
#define ATTN_PR 8 /* query rows of sums at a time */
#define ATTN_PV 2 /* vectors of v at a time */
#include "kern/attention/attention_f32_body.h"

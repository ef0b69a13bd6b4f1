/* SPDX-License-Identifier: Apache-2.0
 * kern/attention/attention_f32_body.h - one tile of attention, for few or many query rows. Parameters: ATTN_RUN, the
 * symbol; ATTN_NV, vectors of query rows in a group; ATTN_MR, keys at a time; ATTN_PR, ATTN_PV, rows and vectors of
 * sums at a time. */
#include <math.h>
#include <string.h>

#include "kern/attention/attention_rows.h"
#include "kern/simd/sums.h"

enum { L = VF32_LANES, MR = ATTN_MR, NV = ATTN_NV, NVH = (ATTN_NV + 1) / 2, NL = ATTN_NV * VF32_LANES };

#include "kern/attention/attention_f32_scores.h"

#include "kern/attention/attention_f32_few.h"
#include "kern/attention/attention_f32_many.h"

void ATTN_RUN(const ox_attn *a, int64_t index, void *scratch) {
  int64_t rows = ox_attn_tile_rows(a, NL);
  attn_tile tile = attn_tile_at(a, rows, index);
  attn_mem m = attn_split(a, scratch);
  if (ox_attn_is_few(a))
    attn_few(a, &tile, &m);
  else
    attn_many(a, &tile, &m);
}

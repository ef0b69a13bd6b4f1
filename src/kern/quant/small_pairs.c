/* SPDX-License-Identifier: Apache-2.0
 * kern/quant/small_pairs.c - splitting a panel of weights. */
#include "kern/quant/small_pairs.h"

bool ox_split_panel(ox_split_pairs_fn *split, int8_t *panel, size_t row, size_t n, size_t most, int8_t *rest,
                    uint32_t *place, size_t *out) {
  size_t extra = 0;
  for (size_t i = 0; i < n; i++) {
    if (!split(panel + i * row, NULL)) continue;
    if (extra == most) return false;
    place[extra++] = (uint32_t)i;
  }
  for (size_t e = 0; e < extra; e++) split(panel + place[e] * row, rest + e * row);
  *out = extra;
  return true;
}

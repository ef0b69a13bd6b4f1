/* SPDX-License-Identifier: Apache-2.0
 * kern/pool/max_lines.c - rows of a MaxPool of channels-last bytes. */
#include "kern/pool/max_lines.h"

#include "base/macros.h"
#include "kern/variants.h"

OX_VARIANTS_SELECT(ox_max_lines, ox_max_lines__, ox_max_lines_select)
OX_VARIANTS_LIST(ox_max_lines, ox_max_lines__, ox_max_lines_variants)

void ox_max_pool_last(const ox_max_lines *v, const ox_pool *p, int64_t channels, bool is_signed, const uint8_t *x,
                      uint8_t *y, int64_t row, void *scratch) {
  int a = p->axes - 1;
  int64_t c = channels, wide = p->in[a] * c, from = 0, to = 1, down = 0;
  if (p->axes == 2) {
    ox_pool_clip(p, 0, row, 0, p->in[0], &from, &to);
    down = row * p->stride[0] - p->lo[0] + from * p->dilation[0];
  }
  int64_t rows = OX_MAX(to - from, 0);
  const uint8_t *first = rows ? x + down * wide : x;
  v->fn(scratch, first, (p->axes == 2 ? p->dilation[0] : 0) * wide, rows, (size_t)wide, is_signed);
  for (int64_t o = 0; o < p->out[a]; o++) {
    ox_pool_clip(p, a, o, 0, p->in[a], &from, &to);
    int64_t taps = OX_MAX(to - from, 0), at = taps ? o * p->stride[a] - p->lo[a] + from * p->dilation[a] : 0;
    v->fn(y + (row * p->out[a] + o) * c, (const uint8_t *)scratch + at * c, p->dilation[a] * c, taps, (size_t)c,
          is_signed);
  }
}

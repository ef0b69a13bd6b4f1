/* SPDX-License-Identifier: Apache-2.0
 * kern/pool/mean_lines.c - rows of an average pool of bytes. */
#include "kern/pool/mean_lines.h"

#include "base/macros.h"
#include "kern/variants.h"

OX_VARIANTS_SELECT(ox_mean_lines, ox_mean_lines__, ox_mean_lines_select)
OX_VARIANTS_LIST(ox_mean_lines, ox_mean_lines__, ox_mean_lines_variants)

bool ox_mean_pool_fits(const ox_pool *p) {
  const int64_t most = INT32_MAX / 256;
  if (p->axes > 2) return false;
  int64_t taps = 1;
  for (int a = 0; a < p->axes; a++) {
    if (p->kernel[a] > most / taps) return false;
    taps *= p->kernel[a];
  }
  return true;
}

/* What all windows of a row share: |taps| rows inside the input, and |count| rows to divide by. */
typedef struct window_row {
  const ox_mean_lines *v;
  const ox_pool *p;
  const ox_mean_bytes *q;
  int64_t channels, taps, count;
} window_row;

/* The outputs [from, to), whose windows all have as many taps inside the input as the first. */
static void run_of(const window_row *r, const int32_t *x, int32_t *sums, uint8_t *y, int64_t from, int64_t to) {
  const ox_pool *p = r->p;
  int a = p->axes - 1;
  int64_t c = r->channels, begin, end, stride = p->stride[a], n = (to - from) * c;
  ox_pool_clip(p, a, from, 0, p->in[a], &begin, &end);
  int64_t taps = end - begin, count = r->count * ox_pool_count(p, a, from);
  ptrdiff_t step = p->dilation[a] * c;
  const int32_t *first = taps ? x + (from * stride - p->lo[a] + begin * p->dilation[a]) * c : x;
  if (c == 1 || stride == 1)
    r->v->along(sums, first, step, taps, c == 1 ? stride : 1, (size_t)n);
  else
    for (int64_t o = 0; o < to - from; o++) r->v->along(sums + o * c, first + o * stride * c, step, taps, 1, (size_t)c);
  r->v->round(y + from * c, sums, (size_t)n, (int32_t)(r->taps * taps) * r->q->x_zero,
              count ? r->q->ratio / (double)count : 0, r->q->y_zero, r->q->flip);
}

void ox_mean_pool_row(const ox_mean_lines *v, const ox_pool *p, int64_t channels, const ox_mean_bytes *q,
                      const uint8_t *x, uint8_t *y, int64_t row, int32_t *scratch) {
  int a = p->axes - 1;
  int64_t wide = p->in[a] * channels, begin = 0, end = 1, down = 0, most = p->out[a];
  window_row r = {v, p, q, channels, 1, 1};
  if (p->axes == 2) {
    ox_pool_clip(p, 0, row, 0, p->in[0], &begin, &end);
    down = row * p->stride[0] - p->lo[0] + begin * p->dilation[0];
    r.count = ox_pool_count(p, 0, row);
  }
  r.taps = end - begin;
  v->down(scratch, r.taps ? x + down * wide : x, (p->axes == 2 ? p->dilation[0] : 0) * wide, r.taps, (size_t)wide,
          q->flip);
  y += row * most * channels;
  /* windows [whole, cut) are entirely inside the row */
  int64_t reach = (p->kernel[a] - 1) * p->dilation[a] + 1, space = p->in[a] + p->lo[a] - reach;
  int64_t whole = OX_MIN(OX_CEIL_DIV(p->lo[a], p->stride[a]), most);
  int64_t cut = space < 0 ? whole : OX_MAX(OX_MIN(space / p->stride[a] + 1, most), whole);
  for (int64_t o = 0; o < whole; o++) run_of(&r, scratch, scratch + wide, y, o, o + 1);
  if (cut > whole) run_of(&r, scratch, scratch + wide, y, whole, cut);
  for (int64_t o = cut; o < most; o++) run_of(&r, scratch, scratch + wide, y, o, o + 1);
}

/* SPDX-License-Identifier: Apache-2.0
 * kern/pool/planes.c - the geometry of planes.h: which inputs each window covers. */
#include "kern/pool/planes.h"

#include "base/macros.h"
#include "kern/variants.h"

OX_VARIANTS_SELECT(ox_planes_variant, ox_planes__, ox_planes_select)
OX_VARIANTS_LIST(ox_planes_variant, ox_planes__, ox_planes_variants)

/* Scratch holds some lines, and more than one only where the first cache has room. */
enum {
  MOST_LINE = 1 << 17, /* floats of a line, at most */
  MOST_LINES = 8,      /* lines that are folded together, at most ... */
  ROOM = 6144,         /* ... and only so many floats of them, which fit L1 */
  VECTOR = 16          /* lines begin at multiples of so many floats */
};

/* Floats of a line with its padding, so that every tap of every output is in it. */
static int64_t line_of(const ox_pool *p, int a) {
  int64_t reach = (p->out[a] - 1) * p->stride[a] + (p->kernel[a] - 1) * p->dilation[a] + 1;
  return OX_MAX(reach, p->lo[a] + p->in[a]);
}

bool ox_planes_fits(const ox_pool *p) {
  if (p->axes < 1 || p->axes > OX_PLANES_AXES) return false;
  for (int a = 0; a < p->axes; a++)
    if (p->kernel[a] > MOST_LINE || p->stride[a] > MOST_LINE || p->dilation[a] > MOST_LINE || p->lo[a] > MOST_LINE ||
        p->out[a] < 1 || p->in[a] < 1)
      return false;
  int last = p->axes - 1;
  return p->in[last] <= MOST_LINE && p->out[last] <= MOST_LINE && line_of(p, last) <= MOST_LINE;
}

int64_t ox_planes_table_count(const ox_pool *p) {
  int64_t n = 2;
  for (int a = 0; a + 1 < p->axes; a++) n += p->out[a];
  return n;
}

void ox_planes_init(ox_planes *p, const ox_pool *pool, ox_planes_reach *table) {
  int last = pool->axes - 1, missing = OX_PLANES_AXES - pool->axes;
  bool two_rows = true;
  *p = (ox_planes){.average = pool->kind == OX_POOL_AVERAGE, .whole = true};
  for (int i = 0; i < OX_PLANES_AXES; i++) {
    int a = i - missing;
    p->in[i] = a < 0 ? 1 : pool->in[a], p->out[i] = a < 0 ? 1 : pool->out[a];
    p->dilation[i] = a < 0 ? 1 : pool->dilation[a];
    if (a >= 0 && (pool->out[a] != 1 || pool->kernel[a] != pool->in[a] || pool->lo[a] || pool->dilation[a] != 1))
      p->whole = false;
    if (i == OX_PLANES_AXES - 1) break;
    p->reach[i] = table;
    if (a < 0) *table++ = (ox_planes_reach){0, 1}, two_rows = two_rows && i == 0;
    for (int64_t o = 0; a >= 0 && o < pool->out[a]; o++) {
      int64_t from, to;
      ox_pool_clip(pool, a, o, 0, pool->in[a], &from, &to);
      *table++ = (ox_planes_reach){o * pool->stride[a] - pool->lo[a] + from * pool->dilation[a], to - from};
      two_rows = two_rows && to - from == (i == 0 ? 1 : 2);
    }
  }
  p->taps = pool->kernel[last], p->stride = pool->stride[last], p->lo = pool->lo[last];
  p->line = line_of(pool, last);
  p->middle = OX_CEIL_DIV(p->lo, VECTOR) * VECTOR, p->pitch = OX_CEIL_DIV(p->middle + p->line, VECTOR) * VECTOR;
  p->lines = OX_MAX(OX_MIN(ROOM / p->pitch, MOST_LINES), 1);
  bool one_row = true;
  for (int a = 0; a < last; a++) one_row = one_row && pool->kernel[a] == 1;
  p->direct = one_row && p->line == pool->in[last];
  p->pairs =
      two_rows && p->taps == 2 && p->stride == 2 && p->dilation[OX_PLANES_AXES - 1] == 1 && p->line == pool->in[last];
}

size_t ox_planes_scratch(const ox_planes *p) { return (size_t)(p->pitch * (p->lines + 1)) * sizeof(float); }

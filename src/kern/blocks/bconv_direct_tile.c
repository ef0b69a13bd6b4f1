/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/bconv_direct_tile.c - the tiles of the direct form. */
#include "kern/blocks/bconv_direct_tile.h"

#include <string.h>

typedef ox_bconv_direct_plan plan;
typedef ox_bconv_direct_tile tile;

void ox_bconv_direct_place(const plan *p, tile *t) {
  const ox_conv_geom *g = &p->g;
  t->in_place = true;
  for (int a = 0; a < OX_CONV_AXES; a++) {
    int64_t first = t->o[a] * g->stride[a], last = (t->o[a] + t->n[a] - 1) * g->stride[a];
    t->in_place = p->padded || (t->in_place && first + p->tap_min[a] >= 0 && last + p->tap_max[a] < g->in[a]);
    t->len[a] = p->by_tap[a] ? t->n[a] * g->n_taps[a] : last - first + p->tap_max[a] - p->tap_min[a] + 1;
  }
}

static tile whole_tile(const plan *p, int64_t i) {
  const ox_conv_geom *g = &p->g;
  tile t = {0};
  t.q0 = i % p->tiles_m * p->tile_m, t.q1 = t.next = OX_MIN(t.q0 + p->tile_m, p->panels), i /= p->tiles_m;
  t.o[2] = i % p->tiles_w * p->tile_w, t.n[2] = OX_MIN(p->tile_w, g->out[2] - t.o[2]), i /= p->tiles_w;
  t.o[1] = i % p->tiles_h * p->tile_h, t.n[1] = OX_MIN(p->tile_h, g->out[1] - t.o[1]), i /= p->tiles_h;
  t.o[0] = i % g->out[0], t.n[0] = 1, i /= g->out[0];
  t.group = i % g->groups, t.image = i / g->groups;
  memcpy(t.taps, g->n_taps, sizeof t.taps);
  ox_bconv_direct_place(p, &t);
  return t;
}

/* The outputs of the first half of |t| along the axis that is halved: rows (in pairs if strips have two), or whole
 * strips; 0: |t| cannot be halved. */
static int64_t first_half(const plan *p, const tile *t, int *axis) {
  int64_t rows = 2 * t->n[2] <= p->mr ? 2 : 1, strips = OX_CEIL_DIV(t->n[2], p->mr);
  *axis = t->n[1] > rows ? 1 : 2;
  if (*axis == 1) return OX_ROUND_UP(t->n[1] / 2, rows);
  return strips > 1 ? strips / 2 * OX_CEIL_DIV(t->n[2], strips) : 0;
}

bool ox_bconv_direct_divides(const ox_bconv_direct_plan *p) {
  tile t = whole_tile(p, p->halved);
  int axis;
  return first_half(p, &t, &axis) > 0;
}

tile ox_bconv_direct_tile_at(const plan *p, int64_t i) {
  if (p->halved < 0) return whole_tile(p, i);
  if (i > 0 && i < p->n_whole) return whole_tile(p, p->halved ? i - 1 : i);
  tile t = whole_tile(p, p->halved);
  int axis;
  int64_t n = first_half(p, &t, &axis);
  if (i > 0) t.o[axis] += n, t.n[axis] -= n;
  if (i == 0) t.n[axis] = n, t.next = p->halved ? 0 : t.next;
  ox_bconv_direct_place(p, &t);
  return t;
}

/* ---- the copy ---- */

/* Copies |n| pixels of a row from |first| on, |step| apart; |row| NULL: all outside. */
static void copy_run(const plan *p, float *to, const float *row, int64_t first, int64_t step, int64_t n) {
  int64_t width = p->g.in[2], unit = p->unit, lo = 0, hi = 0;
  if (row) {
    lo = first < 0 ? OX_MIN(OX_CEIL_DIV(-first, step), n) : 0;
    hi = first >= width ? 0 : OX_MIN(OX_CEIL_DIV(width - first, step), n);
    hi = OX_MAX(hi, lo);
  }
  if (lo) memset(to, 0, (size_t)(lo * unit) * sizeof *to);
  if (hi < n) memset(to + hi * unit, 0, (size_t)((n - hi) * unit) * sizeof *to);
  if (lo == hi) return;
  if (step == 1) {
    memcpy(to + lo * unit, row + (first + lo) * unit, (size_t)((hi - lo) * unit) * sizeof *to);
  } else if (unit == 1) {
    for (int64_t i = lo; i < hi; i++) to[i] = row[first + i * step];
  } else {
    for (int64_t i = lo; i < hi; i++)
      memcpy(to + i * OX_BLOCK, row + (first + i * step) * OX_BLOCK, OX_BLOCK * sizeof *to);
  }
}

static void copy_row(const plan *p, const tile *t, float *to, const float *row) {
  const ox_conv_geom *g = &p->g;
  int64_t first = t->o[2] * g->stride[2];
  if (!p->by_tap[2]) {
    copy_run(p, to, row, first + p->tap_min[2], 1, t->len[2]);
    return;
  }
  for (int64_t i = 0; i < g->n_taps[2]; i++, to += t->n[2] * p->unit)
    copy_run(p, to, row, first + g->tap[2][i], g->stride[2], t->n[2]);
}

/* The input coordinate of line |i| of the copy along axis |a|. */
static int64_t line_at(const plan *p, const tile *t, int a, int64_t i) {
  const ox_conv_geom *g = &p->g;
  int64_t first = t->o[a] * g->stride[a];
  if (!p->by_tap[a]) return first + p->tap_min[a] + i;
  return first + g->tap[a][i / t->n[a]] + i % t->n[a] * g->stride[a];
}

void ox_bconv_direct_copy(const plan *p, const tile *t, float *to, const float *x, int64_t blocks) {
  const ox_conv_geom *g = &p->g;
  for (int64_t b = 0; b < blocks; b++, x += p->in_pixels * p->unit)
    for (int64_t i = 0; i < t->len[0]; i++)
      for (int64_t j = 0; j < t->len[1]; j++, to += t->len[2] * p->unit) {
        int64_t d = line_at(p, t, 0, i), h = line_at(p, t, 1, j);
        bool inside = d >= 0 && d < g->in[0] && h >= 0 && h < g->in[1];
        int64_t at = (d * g->in[1] + h) * g->in[2] * p->unit;
        copy_row(p, t, to, inside ? x + at : NULL);
      }
}

/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/window.c - plans windows (window.h), and lists the rows of input that each row of outputs reads. */
#include "kern/blocks/window.h"

#include "base/cksize.h"
#include "kern/variants.h"

OX_VARIANTS_SELECT(ox_window_variant, ox_window__, ox_window_select)

/* The outputs [*begin, *end) of axis |a| whose taps are all inside. */
static void find_inside(const ox_conv_geom *g, int a, int64_t *begin, int64_t *end) {
  int64_t least = 0, most = 0, in = g->in[a], out = g->out[a], stride = g->stride[a];
  for (int64_t t = 0; t < g->n_taps[a]; t++) {
    int64_t tap = g->tap[a][t];
    least = t ? OX_MIN(least, tap) : tap, most = t ? OX_MAX(most, tap) : tap;
  }
  *begin = least < 0 ? OX_MIN(OX_CEIL_DIV(-least, stride), out) : 0;
  *end = most < in ? OX_MIN((in - 1 - most) / stride + 1, out) : 0;
  *end = OX_MAX(*end, *begin);
}

static ox_window_line line_of(const ox_conv_geom *g, int64_t tile) {
  ox_window_line l = {.in = g->in[2],
                      .out = g->out[2],
                      .stride = g->stride[2],
                      .n_taps = g->n_taps[2],
                      .tap = g->tap[2],
                      .dense = g->n_taps[2] > 0};
  for (int64_t t = 0; t < l.n_taps; t++) l.dense &= l.tap[t] == l.tap[0] + t;
  l.dense = l.dense && l.tap[0] > -l.n_taps && (l.out - 1) * l.stride + l.tap[0] < l.in;
  find_inside(g, 2, &l.begin, &l.end);
  l.n_tiles = OX_CEIL_DIV(l.out, tile), l.each = l.out / OX_MAX(l.n_tiles, 1);
  l.more = l.out - l.each * l.n_tiles;
  return l;
}

bool ox_window_init(ox_window *p, ox_window_kind kind, const ox_conv_geom *g, const ox_act *act, ox_isa isa) {
  const float inf = __builtin_inff();
  *p = (ox_window){.v = ox_window_select(isa), .kind = kind, .g = *g, .act = *act, .lo = -inf, .hi = inf};
  p->line = line_of(g, p->v->tile(kind));
  bool flat = g->n_taps[0] == 1 && g->in[0] == 1 && g->out[0] == 1 && g->tap[0][0] == 0;
  if (flat) find_inside(g, 1, &p->row_begin, &p->row_end);
  p->row = p->v->choose(kind, &p->line);
  if (act->kind == OX_ACT_RELU)
    p->lo = 0;
  else if (act->kind == OX_ACT_CLIP)
    p->lo = act->a, p->hi = act->b;
  else
    p->post = act->kind != OX_ACT_NONE;
  size_t rows;
  return ox_mul_ok((size_t)g->n_taps[0], (size_t)g->n_taps[1], &rows) &&
         ox_mul_ok(rows, 2 * sizeof(const float *), &p->scratch_bytes);
}

int64_t ox_window_tile_rows(const ox_window *p, int64_t planes) {
  enum { TILES = 64 /* at least, of all planes */, LEAST = 1 << 12 /* outputs x taps of a tile */ };
  int64_t rows = p->g.out[0] * p->g.out[1], taps = p->g.n_taps[0] * p->g.n_taps[1] * p->g.n_taps[2];
  int64_t cuts = OX_CEIL_DIV(TILES, OX_MAX(planes, 1)), each = OX_CEIL_DIV(rows, cuts);
  int64_t least = LEAST / OX_MAX(p->g.out[2] * taps, 1) + 1;
  return OX_MAX(OX_MIN(OX_MAX(each, least), rows), 1);
}

/* Lists the rows of input that row |oh| of outputs at depth |od| reads, and their weights. Returns their number. */
static size_t find_rows(const ox_window *p, const ox_window_plane *a, int64_t od, int64_t oh, const float **x,
                        const float **w) {
  const ox_conv_geom *g = &p->g;
  int64_t d0 = od * g->stride[0], h0 = oh * g->stride[1];
  size_t n = 0;
  for (int64_t td = 0; td < g->n_taps[0]; td++) {
    int64_t d = d0 + g->tap[0][td];
    if (d < 0 || d >= g->in[0]) continue;
    for (int64_t th = 0; th < g->n_taps[1]; th++) {
      int64_t h = h0 + g->tap[1][th], row = d * g->in[1] + h;
      if (h < 0 || h >= g->in[1]) continue;
      x[n] = a->x + (row < a->ring ? row : row % a->ring) * a->pitch;
      w[n++] = a->w ? a->w + (td * g->n_taps[1] + th) * g->n_taps[2] * OX_BLOCK : NULL;
    }
  }
  return n;
}

enum { POST_FLOATS = 2048 /* outputs for each call of an activation, at least; they are still in L1 */ };

void ox_window_rows(const ox_window *p, const ox_window_plane *a, int64_t begin, int64_t end, void *scratch) {
  const ox_conv_geom *g = &p->g;
  const float **x = scratch, **w = x + g->n_taps[0] * g->n_taps[1];
  int64_t pitch = g->out[2] * OX_BLOCK, at = (begin - a->first) * pitch, od = begin / g->out[1], oh = begin % g->out[1];
  int64_t step = g->stride[1] * a->pitch, ring = a->ring * a->pitch;
  int64_t from = at;  /* the first output that has no activation yet */
  bool moves = false; /* x lists all rows of the output before; those of this one are a step further in the ring */
  ox_window_row r = {.x = x, .w = w, .bias = a->bias, .lo = p->lo, .hi = p->hi, .slope = a->slope};
  if (a->inverse) r.scale = a->inverse[2];
  for (int64_t i = begin; i < end; i++, at += pitch) {
    bool inside = oh >= p->row_begin && oh < p->row_end;
    if (inside && moves)
      for (size_t j = 0; j < r.n; j++) x[j] += x[j] - a->x + step < ring ? step : step - ring;
    else
      r.n = find_rows(p, a, od, oh, x, w);
    moves = inside && step <= ring;
    r.y = a->y + at, r.z = a->z ? a->z + at : NULL;
    if (a->inverse) r.factor = a->inverse[0][od] * a->inverse[1][oh];
    p->row(&p->line, &r);
    if ((p->post || a->sums) && (at + pitch - from >= POST_FLOATS || i + 1 == end)) {
      const size_t n = (size_t)(at + pitch - from);
      if (a->sums)
        p->v->act_sum(p->post ? &p->act : NULL, a->y + from, n, a->sums);
      else
        p->v->act(&p->act, a->y + from, n);
      from = at + pitch;
    }
    if (++oh == g->out[1]) oh = 0, od++;
  }
}

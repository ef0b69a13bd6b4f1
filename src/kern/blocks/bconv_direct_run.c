/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/bconv_direct_run.c - runs the direct form. A tile reads X in place where all its taps are inside; else it
 * copies what it reads, with padding, one block of k at a time. */
#include "base/cpu_kind.h"
#include "kern/blocks/bconv_direct_tile.h"
#include "kern/blocks/bconv_far.h"
#include "kern/variants.h"

static const ox_bconv_variant *select_of(ox_isa have);
OX_VARIANTS_SELECT(ox_bconv_variant, ox_bconv_direct__, select_of)

const ox_bconv_variant *ox_bconv_select(ox_isa have) {
  const ox_bconv_variant *v = select_of(have);
  return v->split && (have & OX_AVX512_HALVES) ? v->split : v;
}

enum { KEPT = 24 << 10 /* bytes of weights that stay in L1 from tile to tile */ };

typedef ox_bconv_direct_plan plan;
typedef ox_bconv_direct_tile tile;

/* ---- segments ---- */

/* The distance in lines from the first output's line to that of tap |i|, and from output to output. */
static int64_t tap_line(const plan *p, const tile *t, int a, int64_t i) {
  if (t->in_place && !p->padded) return p->g.tap[a][i];
  return p->by_tap[a] ? i * t->n[a] : p->g.tap[a][i] - p->tap_min[a];
}
static int64_t out_line(const plan *p, const tile *t, int a) {
  return !t->in_place && p->by_tap[a] ? 1 : p->g.stride[a];
}

static bool reads(const tile *t, int64_t i, int64_t j, int64_t l) {
  const int64_t at[OX_CONV_AXES] = {i, j, l};
  for (int a = 0; a < OX_CONV_AXES; a++)
    if (at[a] < t->tap[a] || at[a] >= t->tap[a] + t->taps[a]) return false;
  return true;
}

/* The block of X that a tile's inputs begin in. */
static int64_t first_block(const plan *p, const tile *t) {
  int64_t in_image = p->head.task.x_apart ? t->group * p->blocks : t->group * p->g.ic / p->unit;
  return t->image * p->x_blocks + in_image;
}

static int64_t lead_of(const plan *p, const tile *t) { return ox_bconv_direct_lead(&p->head.task, t->group); }

/* How many blocks they lie in, and how many of them in blocks [b0, b1) of those. */
static int64_t blocks_of(const plan *p, const tile *t) { return OX_CEIL_DIV(lead_of(p, t) + p->g.ic, p->unit); }
static int64_t channels_of(const plan *p, const tile *t, int64_t b0, int64_t b1) {
  int64_t lead = lead_of(p, t);
  return OX_MIN(b1 * p->unit, lead + p->g.ic) - OX_MAX(b0 * p->unit, lead);
}

static size_t find_segs(const plan *p, const tile *t, int64_t b0, int64_t b1, ox_bconv_seg *segs) {
  const ox_conv_geom *g = &p->g;
  const int64_t *len = t->in_place ? p->x_dim : t->len;
  size_t n = 0;
  int64_t skip = 0;
  for (int64_t b = b0; b < b1; b++) {
    int64_t k = channels_of(p, t, b, b + 1) * p->merged, lo = b ? 0 : lead_of(p, t);
    for (int64_t i = 0; i < g->n_taps[0]; i++)
      for (int64_t j = 0; j < g->n_taps[1]; j++)
        for (int64_t l = 0; l < g->n_taps[2]; l += p->merged) {
          if (!reads(t, i, j, l)) {
            skip += k * OX_BLOCK;
            continue;
          }
          int64_t at = (b - b0) * len[0] + tap_line(p, t, 0, i);
          at = (at * len[1] + tap_line(p, t, 1, j)) * len[2] + tap_line(p, t, 2, l);
          segs[n++] = (ox_bconv_seg){at * p->unit + lo, k, skip};
          skip = 0;
        }
  }
  return n;
}

/* The number of first segments that are whole blocks one after another, for windows of one tap. */
static size_t count_even(const plan *p, const ox_bconv_seg *segs, size_t n_segs) {
  size_t n = 0;
  while (p->taps == 1 && n < n_segs && segs[n].k == OX_BLOCK && !segs[n].skip) n++;
  return n;
}

/* ---- products ---- */

typedef struct strips { /* the pixels of a tile for one block of k */
  const float *x;
  int64_t x_row, x_step;
  float *y;
  const float *z;
  const float *slope;    /* of the first panel, or NULL */
  int64_t y_row, y_step; /* floats */
} strips;

static void bend_or_finish(const plan *p, float *y, const float *slope, size_t floats) {
  if (slope)
    p->v->apply_slopes(y, slope, floats / OX_BLOCK);
  else
    p->v->finish(&p->head.task.act, y, floats);
}

/* Applies the activation to panel |q| while it is in L1. */
static void finish(const plan *p, const ox_bconv_mul *m, const float *slope, int64_t rows, int64_t n, int64_t q) {
  float *y = m->y[0] + (size_t)q * m->y_panel;
  if (slope) slope += q * OX_BLOCK;
  if (rows == 1) {
    bend_or_finish(p, y, slope, m->n_strips * m->y_move);
    return;
  }
  for (size_t i = 0; i < 2 * m->n_strips; i++)
    bend_or_finish(p, y + i / 2 * m->y_move + (i % 2 ? m->y[1] - m->y[0] : 0), slope, (size_t)n * OX_BLOCK);
}

/* Multiplies strips of one shape from (|row|, |col|) on: along a row, or one below the other. */
static void strips_of(const plan *p, ox_bconv_mul *m, const strips *s, const ox_bconv_tile *reg, int64_t row,
                      int64_t col, int64_t rows, int64_t n, int64_t count) {
  int64_t half = rows == 2 ? n : (n + 1) / 2, x1 = rows == 2 ? s->x_row : half * s->x_step;
  int64_t y1 = rows == 2 ? s->y_row : half * s->y_step, at = row * s->y_row + col * s->y_step;
  m->x[0] = s->x + row * s->x_row + col * s->x_step, m->x[1] = m->x[0] + x1;
  m->y[0] = s->y + at, m->y[1] = m->y[0] + y1;
  m->z[0] = s->z ? s->z + at : NULL, m->z[1] = s->z ? m->z[0] + y1 : NULL;
  m->x_move = (size_t)(rows == 2 ? 2 * s->x_row : n * s->x_step);
  m->y_move = (size_t)(rows == 2 ? 2 * s->y_row : n * s->y_step), m->y_gap = (size_t)(s->y_step - OX_BLOCK);
  bool post = (p->post || s->slope) && m->last;
  for (int64_t i = 0, now; i < count; i += now) {
    now = post ? OX_MIN(count - i, p->v->post_strips) : count - i;
    m->n_strips = (size_t)now;
    reg->mul[rows * n - 1](m);
    m->ahead += m->ahead_k * m->n_segs * m->n_strips * OX_BLOCK;
    for (int64_t q = 0; post && q < reg->np; q++) finish(p, m, s->slope, rows, n, q);
    for (int j = 0; j < 2; j++) {
      m->x[j] += m->n_strips * m->x_move, m->y[j] += m->n_strips * m->y_move;
      if (s->z) m->z[j] += m->n_strips * m->y_move;
    }
  }
}

/* How many strips make two rows of |width| pixels if each has pixels of both; 0: strips of one row are as good. Of low
 * strips those that are not full have few sums to hide an FMA's latency (a row of seven is four and three). */
static int64_t pair_strips(int64_t width, int64_t mr) {
  enum { LOW = 8 };
  if (2 * width <= mr) return 1;
  int64_t n = OX_CEIL_DIV(width, OX_MAX(mr / 2, 1));
  return mr < LOW && n < 2 * OX_CEIL_DIV(width, mr) ? n : 0;
}

/* Multiplies all pixels of a tile for the panels of |reg|: pairs of rows where that takes fewer strips, else pieces of
 * a row, of nearly equal length. */
static void multiply(const plan *p, const tile *t, ox_bconv_mul *m, const strips *s, const ox_bconv_tile *reg) {
  int64_t mr = reg->mr, width = t->n[2], pieces = OX_CEIL_DIV(width, mr), row = 0;
  int64_t each = width / pieces, more = width % pieces, pairs = t->n[1] > 1 ? pair_strips(width, mr) : 0;
  for (int64_t i = 0, col = 0, n; i < pairs; i++, col += n) {
    n = width / pairs + (i < width % pairs);
    strips_of(p, m, s, reg, 0, col, 2, n, t->n[1] / 2);
  }
  if (pairs) row = t->n[1] / 2 * 2;
  for (; row < t->n[1]; row++) {
    if (more) strips_of(p, m, s, reg, row, 0, 1, each + 1, more);
    strips_of(p, m, s, reg, row, more * (each + 1), 1, each, pieces - more);
  }
}

static int64_t n_strips(const plan *p, const tile *t) {
  int64_t mr = p->mr, width = t->n[2], row = OX_CEIL_DIV(width, mr), pairs = t->n[1] > 1 ? pair_strips(width, mr) : 0;
  return pairs ? t->n[1] / 2 * pairs + t->n[1] % 2 * row : t->n[1] * row;
}

/* The next register block of |t|, for panels from |q| on. */
static ox_bconv_tile next_of(const plan *p, const tile *t, int64_t q) {
  ox_bconv_tile reg = ox_bconv_next(p->v, t->q1 - q, t->q1 == p->panels ? p->last_channels : OX_BLOCK);
  int64_t stem = p->stem && reg.mul == p->v->mul[reg.np - 1] ? p->stem->n_pixels[reg.np - 1] : 0;
  if (stem && t->n[2] >= stem) reg.mr = stem, reg.mul = p->stem->mul[reg.np - 1];
  return reg;
}

/* Must X be fetched by instructions? Where L3 is slow, prefetches of lines that are in L2 already displace those of
 * weights; of small images they cost more than they gain. */
static bool x_is_far(const plan *p) {
  enum { NEAR = 1 << 20 };
  int64_t bytes = p->g.batch * p->x_blocks * p->in_pixels * p->unit * (int64_t)sizeof(float);
  if (p->unit == 1 && !p->stem) return false;
  return (p->unit > 1 && !(p->head.task.isa & OX_SLOW_L3)) || bytes > NEAR;
}

static void run_tile(const plan *p, const ox_conv_args *a, const tile *t, char *scratch) {
  const ox_conv_geom *g = &p->g;
  ox_bconv_seg *segs = (ox_bconv_seg *)scratch;
  float *copy = (float *)(scratch + p->segs_bytes);
  int64_t outer = t->image * g->groups + t->group, in_row = p->x_dim[2] * p->unit;
  int64_t y = outer * p->panels * p->y_plane, blocks = blocks_of(p, t), done = 0;
  for (int i = 0; i < OX_CONV_AXES; i++) y += t->o[i] * p->y_at[i];
  const float *x = (p->padded ? (const float *)a->shared : a->x) + first_block(p, t) * p->x_pixels * p->unit;
  int64_t first = (t->o[0] * g->stride[0] * p->x_dim[1] + t->o[1] * g->stride[1]) * in_row +
                  t->o[2] * g->stride[2] * p->unit; /* of X, in place */
  for (int64_t b0 = 0, b1; b0 < blocks; b0 = b1) {
    b1 = OX_MIN(b0 + p->k_blocks, blocks);
    const float *xb = x + b0 * p->x_pixels * p->unit;
    if (!t->in_place) ox_bconv_direct_copy(p, t, copy, xb, b1 - b0);
    ox_bconv_mul m = {.segs = segs, .n_segs = find_segs(p, t, b0, b1, segs), .w_panel = (size_t)(p->k * OX_BLOCK)};
    m.first = b0 == 0, m.last = b1 == blocks, m.lo = p->lo, m.hi = p->hi;
    m.y_panel = (size_t)p->y_plane;
    m.n_even = count_even(p, segs, m.n_segs);
    if (m.n_even > 1) m.even_step = (size_t)(segs[1].at - segs[0].at);
    strips s = {.x = t->in_place ? xb + first : copy, .y_row = p->y_at[1], .y_step = p->y_at[2]};
    s.x_row = out_line(p, t, 1) * (t->in_place ? in_row : t->len[2] * p->unit);
    s.x_step = out_line(p, t, 2) * p->unit, m.x_step = (size_t)s.x_step;
    int64_t k = channels_of(p, t, b0, b1) * p->taps;
    if (m.n_segs && p->k * p->panels * OX_BLOCK * (int64_t)sizeof(float) > KEPT)
      m.ahead_k = (size_t)OX_CEIL_DIV(k, n_strips(p, t) * (int64_t)m.n_segs);
    for (int64_t q = t->q0, np; q < t->q1; q += np) {
      ox_bconv_tile reg = next_of(p, t, q);
      np = reg.np;
      m.w = a->w + ((t->group * p->panels + q) * p->k + done) * OX_BLOCK;
      if (q + np < t->q1)
        m.ahead = m.w + np * p->k * OX_BLOCK;
      else if (b1 < blocks)
        m.ahead = a->w + ((t->group * p->panels + t->q0) * p->k + done + k) * OX_BLOCK;
      else
        m.ahead = a->w + (t->group * p->panels + t->next) * p->k * OX_BLOCK;
      m.bias = a->bias ? a->bias + t->group * g->oc + q * OX_BLOCK : NULL;
      m.channels = (size_t)(g->oc - q * OX_BLOCK);
      s.slope = a->slope ? a->slope + (t->group * p->panels + q) * OX_BLOCK : NULL;
      s.y = a->y + y + q * p->y_plane, s.z = a->z ? a->z + y + q * p->y_plane : NULL;
      m.fetch = q == t->q0 && t->in_place && !p->padded && x_is_far(p);
      multiply(p, t, &m, &s, &reg);
    }
    done += k;
  }
}

/* ---- tiles at the edge ---- */

static void run_part(const plan *p, const ox_conv_args *a, const tile *of, int64_t row, int64_t rows, int64_t col,
                     int64_t cols, char *scratch) {
  tile t = *of;
  t.o[1] = row, t.n[1] = rows, t.o[2] = col, t.n[2] = cols;
  if (rows <= 0 || cols <= 0) return;
  ox_bconv_direct_place(p, &t);
  run_tile(p, a, &t, scratch);
}

/* The lines [*lo, *hi) of |t| along axis |a| whose taps are all inside; both ends are moved inwards to multiples of
 * |piece| lines. */
static void find_inside(const plan *p, const tile *t, int a, int64_t piece, int64_t *lo, int64_t *hi) {
  const ox_conv_geom *g = &p->g;
  int64_t step = g->stride[a], first = t->o[a], end = first + t->n[a];
  int64_t begin = p->tap_min[a] < 0 ? OX_CEIL_DIV(-p->tap_min[a], step) : 0;
  int64_t last = p->tap_max[a] < g->in[a] ? (g->in[a] - 1 - p->tap_max[a]) / step + 1 : 0;
  *lo = begin > first ? OX_MIN(first + OX_ROUND_UP(begin - first, piece), end) : first;
  *hi = last < end ? OX_MAX(end - OX_ROUND_UP(end - last, piece), *lo) : end;
}

/* Does copying take long compared with the products that read the copy? */
static bool copy_is_dear(const plan *p, const tile *t) {
  const ox_conv_geom *g = &p->g;
  return p->few || g->stride[1] * g->stride[2] * 5 >= p->taps * (t->q1 - t->q0);
}

/* A tile with taps outside: its interior, whose taps are inside, may be computed in place, so that only its borders are
 * copied. */
static void run_edge(const plan *p, const ox_conv_args *a, const tile *t, char *scratch) {
  int64_t r0, r1, c0, c1, d0, d1, row = t->o[1], col = t->o[2], rows = t->n[1], cols = t->n[2];
  find_inside(p, t, 0, 1, &d0, &d1);
  find_inside(p, t, 1, 1, &r0, &r1);
  find_inside(p, t, 2, p->mr, &c0, &c1);
  int64_t pieces = (c0 > col) + OX_CEIL_DIV(c1 - c0, p->mr) + (col + cols > c1);
  if (!copy_is_dear(p, t) || d0 == d1 || r0 >= r1 || c1 - c0 < p->mr || pieces > OX_CEIL_DIV(cols, p->mr)) {
    run_tile(p, a, t, scratch);
    return;
  }
  run_part(p, a, t, row, r0 - row, col, cols, scratch);
  run_part(p, a, t, r0, r1 - r0, col, c0 - col, scratch);
  run_part(p, a, t, r0, r1 - r0, c0, c1 - c0, scratch);
  run_part(p, a, t, r0, r1 - r0, c1, col + cols - c1, scratch);
  run_part(p, a, t, r1, row + rows - r1, col, cols, scratch);
}

/* The pieces of a tile: see bconv_far.h. */
static void run_pieces(const plan *p, const ox_conv_args *a, const tile *of, char *scratch) {
  const ox_conv_geom *g = &p->g;
  tile t = *of;
  t.in_place = true;
  ox_bconv_far_piece(g, 0, t.o[0], t.o[0] + 1, &t.tap[0], &t.taps[0]);
  for (int64_t h = of->o[1], end_h = h + of->n[1]; h < end_h; h += t.n[1]) {
    t.o[1] = h, t.n[1] = ox_bconv_far_piece(g, 1, h, end_h, &t.tap[1], &t.taps[1]) - h;
    for (int64_t w = of->o[2], end_w = w + of->n[2]; w < end_w; w += t.n[2]) {
      t.o[2] = w, t.n[2] = ox_bconv_far_piece(g, 2, w, end_w, &t.tap[2], &t.taps[2]) - w;
      run_tile(p, a, &t, scratch);
    }
  }
}

void ox_bconv_direct_run(const ox_bconv_plan *head, const ox_conv_args *a, uint32_t stage, int64_t begin, int64_t end,
                         void *scratch) {
  const plan *p = (const plan *)head;
  if (stage + 1 < head->n_stages) { /* blocks of X with their padding */
    tile all = {.n = {p->g.out[0], p->g.out[1], p->g.out[2]}, .len = {p->x_dim[0], p->x_dim[1], p->x_dim[2]}};
    ox_bconv_direct_copy(p, &all, (float *)a->shared + begin * p->x_pixels * p->unit,
                         a->x + begin * p->in_pixels * p->unit, end - begin);
    return;
  }
  for (int64_t i = begin; i < end; i++) {
    tile t = ox_bconv_direct_tile_at(p, i);
    if (p->far)
      run_pieces(p, a, &t, scratch);
    else if (t.in_place)
      run_tile(p, a, &t, scratch);
    else
      run_edge(p, a, &t, scratch);
  }
}

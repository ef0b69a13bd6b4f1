/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/bconv_split_run.c - a tile of the form on a matrix unit: splits pixels into images (planes of bfloat16
 * terms), multiplies them by the panels of weights, and stores the sums as pixels. */
#include <string.h>

#include "kern/blocks/bconv_split.h"
#include "kern/carried.h"

typedef ox_bconv_split_plan plan;

/* The panel of outputs whose sums are being stored. */
typedef struct panel {
  int64_t block; /* its first; -1: none yet */
  ox_split_pixels out;
} panel;

typedef struct tile {
  const plan *p;
  const ox_conv_args *a;
  int64_t n0, n, h0, h, w0, w; /* images, rows, columns */
  ptrdiff_t *at;               /* of each row of A: ox_split_pixels.at, from the first image's blocks on */
  size_t rows;                 /* of A */
  panel *panel;
} tile;

static tile tile_at(const plan *p, const ox_conv_args *a, int64_t i, int64_t *out_panel) {
  tile t = {.p = p, .a = a};
  *out_panel = i % p->tiles_m * p->tile_m, i /= p->tiles_m;
  t.w0 = i % p->tiles_w * p->tile_w, t.w = OX_MIN(p->tile_w, p->g.out[2] - t.w0), i /= p->tiles_w;
  t.h0 = i % p->tiles_h * p->tile_h, t.h = OX_MIN(p->tile_h, p->g.out[1] - t.h0), i /= p->tiles_h;
  t.n0 = i * p->tile_n, t.n = OX_MIN(p->tile_n, p->g.batch - t.n0);
  return t;
}

/* ---- images ---- */

static void clear(const plan *p, char *to, int64_t rows) {
  for (int t = 0; rows > 0 && t < p->terms; t++) memset(to + (size_t)t * p->term_bytes, 0, (size_t)rows * 64);
}

/* One row of a plane: input row |h|, columns w, w + stride ... */
static void split_line(const tile *t, int64_t image, int64_t pair, int64_t h, int64_t w, int64_t n, char *to) {
  const plan *p = t->p;
  const ox_conv_geom *g = &p->g;
  int64_t s = g->stride[2], lo = 0, hi = 0;
  if (h >= 0 && h < g->in[1]) {
    lo = w < 0 ? OX_MIN(OX_CEIL_DIV(-w, s), n) : 0;
    hi = w >= g->in[2] ? 0 : OX_MIN(OX_CEIL_DIV(g->in[2] - w, s), n);
    hi = OX_MAX(lo, hi);
  }
  clear(p, to, lo), clear(p, to + hi * 64, n - hi);
  if (lo == hi) return;
  const float *x =
      t->a->x + (((t->n0 + image) * p->x_blocks + 2 * pair) * p->in_pixels + h * g->in[2] + w + lo * s) * 16;
  int64_t lanes = g->ic - 32 * pair, second = OX_MIN(OX_MAX(lanes - 16, 0), 16);
  p->v->split_pixels(p->terms, x, second ? x + p->in_pixels * 16 : x, (size_t)OX_MIN(lanes, 16), (size_t)second,
                     (size_t)(hi - lo), (ptrdiff_t)s * 16, to + lo * 64, p->term_bytes);
}

static void split_pairs_of(const tile *t, int64_t p0, int64_t p1, char *to) {
  const plan *p = t->p;
  const ox_conv_geom *g = &p->g;
  for (int64_t pair = p0; pair < p1; pair++)
    for (int64_t i = 0; i < p->n_phases[1]; i++)
      for (int64_t j = 0; j < p->n_phases[2]; j++, to += (size_t)p->terms * p->term_bytes)
        for (int64_t image = 0; image < t->n; image++)
          for (int64_t row = 0; row < t->h + p->far[1]; row++)
            split_line(t, image, pair, (t->h0 + row) * g->stride[1] + p->tap_min[1] + p->phase[1][i],
                       t->w0 * g->stride[2] + p->tap_min[2] + p->phase[2][j], t->w + p->far[2],
                       to + (image * p->plane + row * p->pitch) * 64);
}

/* The plane that tap |i| of an axis reads, and, in *out_far, its offset in rows. */
static int64_t phase_of(const plan *p, int axis, int64_t i, int64_t *out_far) {
  int64_t at = p->g.tap[axis][i] - p->tap_min[axis], k = 0;
  *out_far = at / p->g.stride[axis];
  while (p->phase[axis][k] != at % p->g.stride[axis]) k++;
  return k;
}

static void find_steps(const plan *p, int64_t pairs, ptrdiff_t *at) {
  for (int64_t pair = 0; pair < pairs; pair++)
    for (int64_t i = 0; i < p->g.n_taps[1]; i++)
      for (int64_t j = 0; j < p->g.n_taps[2]; j++) {
        int64_t h, w, plane = phase_of(p, 1, i, &h) * p->n_phases[2];
        plane += phase_of(p, 2, j, &w);
        *at++ = (ptrdiff_t)((size_t)pair * p->pair_bytes + (size_t)plane * (size_t)p->terms * p->term_bytes) +
                (ptrdiff_t)(h * p->pitch + w) * 64;
      }
}

/* ---- sums ---- */

/* Recomputes the sums of a pixel that are not finite, from the floats: terms of infinities give NaN. */
static void redo_pixel(const tile *t, size_t row, const float *weights, float *sums) {
  const plan *p = t->p;
  const ox_conv_geom *g = &p->g;
  int64_t image = (int64_t)row / p->plane, h = t->h0 + (int64_t)row % p->plane / p->pitch;
  int64_t w = t->w0 + (int64_t)row % p->pitch;
  float exact[OX_SPLIT_SIDE] = {0};
  for (int64_t c = 0; c < g->ic; c++)
    for (int64_t i = 0; i < g->n_taps[1]; i++)
      for (int64_t j = 0; j < g->n_taps[2]; j++) {
        int64_t y = h * g->stride[1] + g->tap[1][i], x = w * g->stride[2] + g->tap[2][j];
        if (y < 0 || x < 0 || y >= g->in[1] || x >= g->in[2]) continue;
        float v = t->a->x[(((t->n0 + image) * p->x_blocks + c / 16) * p->in_pixels + y * g->in[2] + x) * 16 + c % 16];
        const float *from = weights + ((c / 32 * p->taps + i * g->n_taps[2] + j) * 32 + c % 16 * 2 + c / 16 % 2) * 32;
        for (int o = 0; o < OX_SPLIT_SIDE; o++) exact[o] += v * from[o];
      }
  for (int o = 0; o < OX_SPLIT_SIDE; o++)
    if (!(sums[o] - sums[o] == 0)) sums[o] = exact[o];
}

static void find_pixels(const tile *t, size_t rows) {
  const plan *p = t->p;
  for (size_t i = 0; i < rows; i++) t->at[i] = -1;
  for (int64_t image = 0; image < t->n; image++)
    for (int64_t h = 0; h < t->h; h++) {
      ptrdiff_t *at = t->at + image * p->plane + h * p->pitch;
      int64_t pixel = image * p->y_blocks * p->pixels + (t->h0 + h) * p->g.out[2] + t->w0;
      for (int64_t w = 0; w < t->w; w++) at[w] = (ptrdiff_t)((pixel + w) * 16);
    }
}

/* The places of blocks |block| and |block| + 1. */
static OX_NOINLINE void begin_panel(const tile *t, int64_t block) {
  const plan *p = t->p;
  const ox_conv_args *a = t->a;
  ox_split_pixels out = {.act = p->head.task.act};
  for (int64_t half = 0; half < 2 && block + half < p->y_blocks; half++) {
    int64_t at = (t->n0 * p->y_blocks + block + half) * p->pixels * 16, c = (block + half) * 16;
    out.y[half] = a->y + at;
    out.z[half] = a->z ? a->z + at : NULL;
    out.slope[half] = a->slope ? a->slope + c : NULL;
    for (int i = 0; i < 16 && c + i < p->g.oc && a->bias; i++) out.bias[half * 16 + i] = a->bias[c + i];
  }
  t->panel->block = block, t->panel->out = out;
  /* Behind the last row, what is prefetched is where the next panel begins. */
  ptrdiff_t *last = t->at + t->rows, step = block + 2 < p->y_blocks ? (ptrdiff_t)(2 * p->pixels * 16) : 0;
  for (size_t i = 0; i < OX_MIN((size_t)OX_SPLIT_PIXELS_AHEAD, t->rows); i++)
    last[i] = step && t->at[i] >= 0 ? t->at[i] + step : -1;
}

static void finish_rows(const void *sweep, size_t col, size_t row, size_t n, float *sums) {
  const ox_split_sweep *s = sweep;
  const tile *t = s->io;
  const int64_t block = (int64_t)(s->col + col) / 16;
  if (t->panel->block != block) begin_panel(t, block);
  ox_split_pixels *out = &t->panel->out;
  out->sums = sums, out->n = n, out->at = t->at + row;
  if (OX_LIKELY(t->p->v->finish_pixels(out, false))) return;
  for (size_t i = 0; i < n; i++)
    if (out->at[i] >= 0) redo_pixel(t, row + i, s->b + (s->col + col) / 32 * s->panel_floats, sums + i * 32);
  t->p->v->finish_pixels(out, true);
}

/* |n| tiles of the same pixels in one sweep. |*made|: the tile of pixels whose images are complete in the scratch; -1:
 * none. */
static void run_tiles(const plan *p, const ox_conv_args *a, int64_t index, int64_t n, int64_t *made, char *scratch) {
  int64_t first, pixels = index / p->tiles_m;
  tile t = tile_at(p, a, index, &first);
  panel out = {.block = -1};
  t.panel = &out;
  ox_split_sweep s = {.v = p->v, .terms = p->terms, .a_term = p->term_bytes, .finish = finish_rows, .io = &t};
  s.b = a->w, s.b_ks = s.panel = OX_SPLIT_SIDE, s.b_ns = 1;
  s.panel_floats = (size_t)(p->pairs * p->taps) * OX_SPLIT_SUMS, s.k = s.panel_floats / OX_SPLIT_SIDE;
  s.fetch = true; /* other layers' weights have displaced these */
  t.rows = s.rows = (size_t)((t.n - 1) * p->plane + (t.h - 1) * p->pitch + t.w);
  s.col = (size_t)first * OX_SPLIT_SIDE, s.cols = (size_t)OX_MIN(n * p->tile_m, p->panels - first) * OX_SPLIT_SIDE;
  if (p->kp < p->pairs) s.panel_sums = OX_CEIL_DIV(p->rows, (size_t)OX_SPLIT_SIDE) * OX_SPLIT_SUMS;
  s.records = scratch, scratch += ox_split_records_bytes((size_t)(p->kp * p->taps));
  s.sums = (float *)scratch, scratch += p->sums_bytes;
  char *image = scratch;
  ptrdiff_t *at = (ptrdiff_t *)(image + p->image_bytes);
  t.at = at + p->kp * p->taps;
  find_pixels(&t, p->rows + OX_SPLIT_SIDE);
  find_steps(p, p->kp, at);
  s.image = image, s.a_at = at;
  for (int64_t p0 = 0; p0 < p->pairs; p0 += p->kp) {
    int64_t p1 = OX_MIN(p0 + p->kp, p->pairs);
    if (*made != pixels) split_pairs_of(&t, p0, p1, image);
    s.k0 = (size_t)(p0 * p->taps), s.k1 = (size_t)(p1 * p->taps);
    ox_split_sweep_run(&s);
  }
  *made = p->kp < p->pairs ? -1 : pixels;
}

/* Workers run their tiles in order, so the images in a scratch may be used by the next call, too. */
void ox_bconv_split_run(const ox_bconv_plan *head, const ox_conv_args *a, uint32_t stage, int64_t begin, int64_t end,
                        void *scratch) {
  const plan *p = (const plan *)head;
  if (stage == 0) {
    ox_carried_begin(a->shared);
    return;
  }
  int64_t nobodys = -1, *made = head->task.alone ? ox_carried_of(a->shared, scratch) : NULL;
  if (!made) made = &nobodys;
  p->v->begin();
  for (int64_t i = begin, n; i < end; i += n) {
    n = p->kp < p->pairs ? 1 : OX_MIN(end - i, p->tiles_m - i % p->tiles_m); /* kp: there is room for one tile's sums */
    run_tiles(p, a, i, n, made, scratch);
  }
  p->v->end();
}

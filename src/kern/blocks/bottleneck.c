/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/bottleneck.c - three convolutions, a few rows at a time. Expanded rows are in a ring buffer that holds
 * what one step of outputs reads, so that within a tile no row is expanded twice. */
#include "kern/blocks/bottleneck.h"

#include <string.h>

#include "base/cksize.h"

enum {
  L2_BYTES = 1 << 20,
  STEP_BYTES = 320 << 10, /* of the ring and the depthwise rows of a step, which are in L2 beside weights and X */
  MOST_STEP = 8,
  MOST_TILES = 28,
  LEAST_ROWS = 28 /* of outputs: fewer would be few tiles */
};

extern const ox_bconv_form ox_bconv_form_direct, ox_bconv_form_depthwise;

const ox_bconv_form *ox_bottleneck_form(int part) {
  return part == OX_DEPTHWISE ? &ox_bconv_form_depthwise : &ox_bconv_form_direct;
}

/* ---- what is supported ---- */

static bool is_pointwise(const ox_conv_geom *g) {
  for (int i = 0; i < OX_CONV_AXES; i++)
    if (g->n_taps[i] != 1 || g->tap[i][0] != 0 || g->stride[i] != 1 || g->in[i] != g->out[i]) return false;
  return g->groups == 1 && g->ic > 0 && g->oc > 0;
}

bool ox_bottleneck_serves(const ox_bottleneck_task *t) {
  const ox_conv_geom *d = &t->part[OX_DEPTHWISE].g;
  if (!t->has[OX_DEPTHWISE] || !(t->has[OX_EXPAND] || t->has[OX_PROJECT])) return false;
  if (d->ic != 1 || d->oc != 1 || d->n_taps[0] != 1 || d->tap[0][0] != 0 || d->in[0] != 1 || d->out[0] != 1)
    return false;
  for (int i = OX_EXPAND; i <= OX_PROJECT; i += OX_PROJECT - OX_EXPAND) {
    const ox_conv_geom *g = &t->part[i].g;
    if (!t->has[i]) continue;
    if (!is_pointwise(g) || t->part[i].x_plain || g->batch != d->batch) return false;
    if ((i == OX_EXPAND ? g->oc : g->ic) != d->groups) return false;
    for (int a = 0; a < OX_CONV_AXES; a++)
      if (i == OX_EXPAND ? g->out[a] != d->in[a] : g->in[a] != d->out[a]) return false;
  }
  return true;
}

bool ox_bottleneck_pays(int64_t batch, int64_t channels, const int64_t *in, const int64_t *out, bool expand,
                        bool project) {
  double row = (double)channels * sizeof(float), saved = 0;
  if (expand) saved += row * (double)in[0] * (double)in[1];
  if (project) saved += row * (double)out[0] * (double)out[1];
  return saved > L2_BYTES / 2 && batch * out[0] >= LEAST_ROWS;
}

/* ---- plan ---- */

static void tap_span(const ox_conv_geom *g, int64_t *lo, int64_t *hi) {
  *lo = *hi = g->tap[1][0];
  for (int64_t i = 1; i < g->n_taps[1]; i++) *lo = OX_MIN(*lo, g->tap[1][i]), *hi = OX_MAX(*hi, g->tap[1][i]);
}

static bool plan_part(ox_bconv_direct_plan *p, const ox_bconv_task *t) {
  p->head.form = &ox_bconv_form_direct, p->head.task = *t;
  return p->head.form->plan(&p->head);
}

/* Rows of the expanded map that |n| rows of outputs read. */
static int64_t rows_in(const ox_conv_geom *g, int64_t n) {
  int64_t lo, hi;
  tap_span(g, &lo, &hi);
  return (n - 1) * g->stride[1] + hi - lo + 1;
}

static bool buffers(ox_bottleneck_plan *p) {
  const ox_conv_geom *g = &p->window.g;
  size_t blocks = (size_t)p->blocks * OX_BLOCK * sizeof(float), ring = 0, rows = 0, segs;
  bool ok = true;
  if (p->task.has[OX_EXPAND])
    ok = ox_mul_ok(blocks, (size_t)p->ring, &ring) && ox_mul_ok(ring, (size_t)g->in[2], &ring);
  if (p->task.has[OX_PROJECT])
    ok = ok && ox_mul_ok(blocks, (size_t)p->step_rows, &rows) && ox_mul_ok(rows, (size_t)g->out[2], &rows);
  segs = (size_t)OX_MAX(p->expand.k_blocks, p->project.k_blocks) * sizeof(ox_bconv_seg);
  p->ring_at = OX_ROUND_UP(p->window.scratch_bytes, OX_ALIGN_BYTES);
  ok = ok && ox_add_ok(p->ring_at, ring, &p->rows_at) && ox_add_ok(p->rows_at, rows, &p->segs_at);
  return ok && ox_add_ok(p->segs_at, segs, &p->scratch_bytes);
}

/* Chooses tiles and steps. The rows that a tile expands again are at most as many as its own, and none where a worker
 * runs adjacent tiles. A step is as many rows as fit in cache. */
static void cut(ox_bottleneck_plan *p) {
  const ox_conv_geom *g = &p->window.g;
  int64_t rows = g->out[1], lo, hi;
  double in_row = p->task.has[OX_EXPAND] ? (double)(p->blocks * g->in[2]) * OX_BLOCK * sizeof(float) : 0;
  double out_row = p->task.has[OX_PROJECT] ? (double)(p->blocks * g->out[2]) * OX_BLOCK * sizeof(float) : 0;
  tap_span(g, &lo, &hi);
  int64_t twice = p->task.has[OX_EXPAND] ? OX_MAX(hi - lo + 1 - g->stride[1], 0) : 0;
  int64_t least = OX_MAX(OX_CEIL_DIV(twice, g->stride[1]), OX_CEIL_DIV(rows * g->batch, MOST_TILES));
  p->tile_rows = OX_MIN(OX_MAX(least, 1), rows), p->row_tiles = OX_CEIL_DIV(rows, p->tile_rows);
  p->step_rows = 1;
  while (p->step_rows < OX_MIN(MOST_STEP, p->tile_rows) &&
         in_row * (double)rows_in(g, p->step_rows + 1) + out_row * (double)(p->step_rows + 1) <= STEP_BYTES)
    p->step_rows++;
  p->step_rows = OX_CEIL_DIV(p->tile_rows, OX_CEIL_DIV(p->tile_rows, p->step_rows)); /* evenly */
  p->ring = OX_MIN(rows_in(g, p->step_rows), g->in[1]);
}

/* If the number of tiles is odd, one is divided between the first and the last, so that two threads end at the same
 * time. */
static void even_out(ox_bottleneck_plan *p) {
  const ox_conv_geom *g = &p->window.g;
  int64_t first = (g->out[1] - (p->row_tiles - 1) * p->tile_rows) / 2;
  if (g->batch % 2 == 0 || p->row_tiles % 2 == 0 || p->row_tiles == 1 || first < 1) return;
  p->first_short = p->tile_rows - first, p->row_tiles++;
}

bool ox_bottleneck_plan_init(ox_bottleneck_plan *p, const ox_bottleneck_task *t) {
  const ox_bconv_task *d = &t->part[OX_DEPTHWISE];
  memset(p, 0, sizeof *p);
  p->task = *t, p->blocks = OX_CEIL_DIV(d->g.groups, OX_BLOCK);
  if (!ox_window_init(&p->window, OX_WINDOW_CONV, &d->g, &d->act, d->isa)) return false;
  if (d->g.batch == 0 || d->g.out[1] * d->g.out[2] == 0) return true; /* no tiles */
  if (t->has[OX_EXPAND] && !plan_part(&p->expand, &t->part[OX_EXPAND])) return false;
  if (t->has[OX_PROJECT] && !plan_part(&p->project, &t->part[OX_PROJECT])) return false;
  cut(p);
  even_out(p);
  p->n_tiles = d->g.batch * p->row_tiles;
  return buffers(p);
}

/* ---- run ---- */

/* Pixels that lie one behind the other, in every block. */
typedef struct pixels {
  const float *x, *z;
  float *y;
  int64_t x_block, y_block; /* floats from block to block; z is like y */
  int64_t n;
} pixels;

/* Strips of |n| pixels from pixel |at| on. */
static void strips(const ox_bconv_direct_plan *p, ox_bconv_mul *m, const pixels *px, const float *x,
                   const ox_bconv_tile *reg, int64_t q, int64_t at, int64_t n, int64_t count) {
  int64_t half = (n + 1) / 2 * OX_BLOCK, y = q * px->y_block;
  bool post = p->post && m->last;
  m->x_move = m->y_move = (size_t)(n * OX_BLOCK);
  for (int64_t i = 0, now; i < count; i += now, at += now * n) {
    now = post ? OX_MIN(count - i, p->v->post_strips) : count - i;
    m->n_strips = (size_t)now;
    m->x[0] = x + at * OX_BLOCK, m->x[1] = m->x[0] + half;
    m->y[0] = px->y + y + at * OX_BLOCK, m->y[1] = m->y[0] + half;
    m->z[0] = px->z ? px->z + y + at * OX_BLOCK : NULL, m->z[1] = px->z ? m->z[0] + half : NULL;
    reg->mul[n - 1](m);
    for (int64_t j = 0; post && j < reg->np; j++)
      p->v->finish(&p->head.task.act, m->y[0] + j * px->y_block, m->n_strips * m->y_move);
  }
}

/* A pointwise convolution of some pixels, k in the pieces of the direct form. */
static void pointwise(const ox_bconv_direct_plan *p, const pixels *px, const float *w, const float *bias,
                      ox_bconv_seg *segs) {
  for (int64_t b0 = 0, b1; b0 < p->blocks; b0 = b1) {
    b1 = OX_MIN(b0 + p->k_blocks, p->blocks);
    for (int64_t b = b0; b < b1; b++)
      segs[b - b0] = (ox_bconv_seg){(b - b0) * px->x_block, OX_MIN(OX_BLOCK, p->k - b * OX_BLOCK), 0};
    ox_bconv_mul m = {.segs = segs,
                      .n_segs = (size_t)(b1 - b0),
                      .w_panel = (size_t)(p->k * OX_BLOCK),
                      .x_step = OX_BLOCK,
                      .y_panel = (size_t)px->y_block,
                      .lo = p->lo,
                      .hi = p->hi,
                      .first = b0 == 0,
                      .last = b1 == p->blocks};
    for (int64_t q = 0, np; q < p->panels; q += np) {
      ox_bconv_tile reg = ox_bconv_next(p->v, p->panels - q, p->last_channels);
      np = reg.np;
      int64_t pieces = OX_CEIL_DIV(px->n, reg.mr), each = px->n / pieces, more = px->n % pieces;
      m.w = w + (q * p->k + b0 * OX_BLOCK) * OX_BLOCK;
      m.bias = bias ? bias + q * OX_BLOCK : NULL, m.channels = (size_t)(p->head.task.g.oc - q * OX_BLOCK);
      if (more) strips(p, &m, px, px->x + b0 * px->x_block, &reg, q, 0, each + 1, more);
      strips(p, &m, px, px->x + b0 * px->x_block, &reg, q, more * (each + 1), each, pieces - more);
    }
  }
}

/* Expands rows [from, to) into the ring. */
static void expand(const ox_bottleneck_plan *p, const ox_bottleneck_args *a, int64_t image, int64_t from, int64_t to,
                   char *scratch) {
  const ox_conv_geom *g = &p->window.g;
  int64_t row = g->in[2] * OX_BLOCK, x_block = g->in[1] * row;
  const float *x = a->x + image * p->expand.blocks * x_block;
  for (int64_t r = from, n; r < to; r += n) {
    n = OX_MIN(to - r, p->ring - r % p->ring);
    pixels px = {.x = x + r * row,
                 .x_block = x_block,
                 .y = (float *)(scratch + p->ring_at) + r % p->ring * row,
                 .y_block = p->ring * row,
                 .n = n * g->in[2]};
    pointwise(&p->expand, &px, a->w[OX_EXPAND], a->bias[OX_EXPAND], (ox_bconv_seg *)(scratch + p->segs_at));
  }
}

/* Computes rows [o, end) of the depthwise convolution, in |tile| of the image, into |y|, whose blocks are y_block
 * apart. */
static void depthwise(const ox_bottleneck_plan *p, const ox_bottleneck_args *a, int64_t image, int64_t tile, int64_t o,
                      int64_t end, float *y, int64_t y_block, char *scratch) {
  const ox_conv_geom *g = &p->window.g;
  int64_t row = g->in[2] * OX_BLOCK, ring = p->task.has[OX_EXPAND] ? p->ring : g->in[1];
  const float *x =
      p->task.has[OX_EXPAND] ? (const float *)(scratch + p->ring_at) : a->x + image * p->blocks * ring * row;
  const float *all = a->bias[OX_DEPTHWISE];
  for (int64_t b = 0; b < p->blocks; b++) {
    float bias[OX_BLOCK] = {0};
    if (all) memcpy(bias, all + b * OX_BLOCK, (size_t)OX_MIN(OX_BLOCK, g->groups - b * OX_BLOCK) * sizeof *bias);
    ox_window_plane w = {.x = x + b * ring * row,
                         .ring = ring,
                         .pitch = row,
                         .bias = bias,
                         .y = y + b * y_block,
                         .w = a->w[OX_DEPTHWISE] + b * g->n_taps[1] * g->n_taps[2] * OX_BLOCK,
                         .first = o};
    if (a->sums) w.sums = a->sums + ((image * p->blocks + b) * p->row_tiles + tile) * OX_BLOCK;
    ox_window_rows(&p->window, &w, o, end, scratch);
  }
}

static void step(const ox_bottleneck_plan *p, const ox_bottleneck_args *a, int64_t image, int64_t tile, int64_t o,
                 int64_t end, char *scratch) {
  const ox_conv_geom *g = &p->window.g;
  int64_t row = g->out[2] * OX_BLOCK, plane = g->out[1] * row;
  if (!p->task.has[OX_PROJECT]) {
    depthwise(p, a, image, tile, o, end, a->y + image * p->blocks * plane + o * row, plane, scratch);
    return;
  }
  float *rows = (float *)(scratch + p->rows_at);
  int64_t at = image * p->project.panels * plane + o * row;
  depthwise(p, a, image, tile, o, end, rows, p->step_rows * row, scratch);
  pixels px = {.x = rows,
               .x_block = p->step_rows * row,
               .y = a->y + at,
               .y_block = plane,
               .z = a->z ? a->z + at : NULL,
               .n = (end - o) * g->out[2]};
  pointwise(&p->project, &px, a->w[OX_PROJECT], a->bias[OX_PROJECT], (ox_bconv_seg *)(scratch + p->segs_at));
}

/* The number of rows of the expanded map, from the first on, that outputs before row |o| read; |hi|: the last tap. */
static int64_t rows_read(const ox_conv_geom *g, int64_t o, int64_t hi) {
  return OX_MAX(OX_MIN((o - 1) * g->stride[1] + hi + 1, g->in[1]), 0);
}

void ox_bottleneck_run(const ox_bottleneck_plan *p, const ox_bottleneck_args *a, int64_t begin, int64_t end,
                       ox_carried *carried, void *scratch) {
  const ox_conv_geom *g = &p->window.g;
  int64_t *next_tile = ox_carried_of(carried, scratch), lo, hi;
  tap_span(g, &lo, &hi);
  for (int64_t t = begin; t < end; t++) {
    int64_t image = t / p->row_tiles, r0 = t % p->row_tiles * p->tile_rows - p->first_short;
    int64_t r1 = OX_MIN(r0 + p->tile_rows, g->out[1]);
    r0 = OX_MAX(r0, 0);
    for (int64_t b = 0; a->sums && b < p->blocks; b++)
      memset(a->sums + ((image * p->blocks + b) * p->row_tiles + t % p->row_tiles) * OX_BLOCK, 0,
             OX_BLOCK * sizeof(float));
    bool goes_on = r0 > 0 && (t > begin || (next_tile && *next_tile == t));
    int64_t ready = goes_on ? rows_read(g, r0, hi)
                            : 0; /* rows [0, ready) have been expanded, and the last of them are in the ring */
    for (int64_t o = r0, next; o < r1; o = next) {
      next = OX_MIN(o + p->step_rows, r1);
      int64_t from = OX_MAX(o * g->stride[1] + lo, ready), to = rows_read(g, next, hi);
      if (p->task.has[OX_EXPAND] && from < to) expand(p, a, image, from, to, scratch);
      ready = OX_MAX(ready, to);
      step(p, a, image, t % p->row_tiles, o, next, scratch);
    }
  }
  if (next_tile) *next_tile = end;
}

/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/form_grouped.c - the form for groups within a block: 2 to 16 outputs, each with 1 to as many inputs. A
 * row of inputs is rearranged once, so that lane l of vector j of a pixel is the j-th input of output l: then all
 * products are of whole vectors, and none is between channels of different groups. Where micro-kernels rearrange inputs
 * as they load them (|even|), rows are copied instead, with their padding. The rows that the taps of one row of outputs
 * read stay in L1, in a ring buffer. Weights: [block][tap][ic][16]. */
#include <math.h>
#include <string.h>

#include "kern/blocks/bconv_direct.h"

enum { RING_BYTES = 24 << 10, RING_MOST = 1 << 20, TILES = 32 };
static const double ns_tile = 10e3;

typedef struct grouped_plan {
  ox_bconv_plan head;
  const ox_bconv_variant *v;
  int64_t blocks, in_blocks, taps, in_pixels, pixels;
  int64_t tap_min[2], span[2]; /* rows, columns: the inputs between the first and the last tap of an output */
  int64_t tile_h, tile_w, tiles_h, tiles_w;
  bool copies;                          /* rows are copied, else their inputs are spread out */
  ox_bconv_grouped_fn *const *multiply; /* by pixels */
  int64_t mr, unit;                     /* most pixels of a strip; floats of an input pixel in the ring */
  int64_t ring_row;                     /* floats of one */
  bool dense;                           /* the taps of a row are adjacent */
  float lo, hi;
  bool post;
  size_t at_bytes, segs_bytes;
} grouped_plan;

static int64_t taps_of(const ox_conv_geom *g) { return g->n_taps[1] * g->n_taps[2]; }
static int64_t blocks_of(const ox_conv_geom *g) { return OX_CEIL_DIV(g->groups * g->oc, OX_BLOCK); }

/* The least tap of an axis; |*span|: how far they reach. */
static int64_t reach(const ox_conv_geom *g, int axis, int64_t *span) {
  int64_t lo = g->tap[axis][0], hi = lo;
  for (int64_t t = 1; t < g->n_taps[axis]; t++) lo = OX_MIN(lo, g->tap[axis][t]), hi = OX_MAX(hi, g->tap[axis][t]);
  *span = hi - lo + 1;
  return lo;
}

static bool serves(const ox_bconv_task *t) {
  const ox_conv_geom *g = &t->g;
  int64_t rows, columns;
  if (t->x_plain || t->x_apart || t->y_apart || g->groups < 2 || g->oc < 2 || g->ic < 1 || OX_BLOCK % g->oc || g->oc % g->ic) return false;
  if (g->n_taps[0] != 1 || g->tap[0][0] != 0 || g->stride[0] != 1 || taps_of(g) < 1) return false;
  if (g->out[0] > g->in[0]) return false; /* pads behind the last plane */
  reach(g, 1, &rows), reach(g, 2, &columns);
  return rows < RING_MOST && columns < RING_MOST && rows * columns * g->ic * OX_BLOCK * 4 <= RING_MOST;
}

/* Which micro-kernels read a group's inputs from its block; -1: none, inputs are spread out. */
static int even_kernels(const ox_bconv_task *t) {
  const ox_bconv_variant *v = ox_bconv_select(t->isa);
  for (int i = 0; i < OX_BCONV_EVEN_SIZES; i++)
    if (t->g.ic == t->g.oc && t->g.oc == 2 << i && v->even_pixels[i]) return i;
  return -1;
}

static double cost_ns(const ox_bconv_task *t) {
  const ox_conv_geom *g = &t->g;
  if (!serves(t)) return INFINITY;
  double blocks = (double)(g->batch * blocks_of(g)), in = (double)g->in[0] * (double)g->in[1] * (double)g->in[2];
  double out = (double)g->out[0] * (double)g->out[1] * (double)g->out[2];
  double products = out * (double)(taps_of(g) * g->ic * OX_BLOCK) / ox_bconv_select(t->isa)->macs_per_ns * 1.3;
  return blocks * (products + in * (even_kernels(t) >= 0 ? 1 : (double)g->ic * 0.4)) + 1000;
}

static size_t weight_floats(const ox_bconv_task *t) {
  return (size_t)(blocks_of(&t->g) * taps_of(&t->g) * t->g.ic * OX_BLOCK);
}

static int64_t weight_units(const ox_bconv_task *t) { return blocks_of(&t->g); }

static int64_t unit_filter(const ox_bconv_task *t, int64_t u) { return OX_MIN(u * OX_BLOCK, t->g.groups * t->g.oc); }

static void pack(const ox_bconv_task *t, float *dst, const float *w, int64_t u0, int64_t u1, const ox_stop *stop) {
  const ox_conv_geom *g = &t->g;
  const ox_f32u *from = (const ox_f32u *)w;
  int64_t taps = taps_of(g), channels = g->groups * g->oc;
  float *d = dst + u0 * taps * g->ic * OX_BLOCK;
  for (int64_t u = u0; u < u1 && !(stop && ox_stop_asked(stop)); u++)
    for (int64_t tap = 0; tap < taps; tap++)
      for (int64_t c = 0; c < g->ic; c++, d += OX_BLOCK)
        for (int64_t lane = 0; lane < OX_BLOCK; lane++) {
          int64_t o = u * OX_BLOCK + lane;
          d[lane] = o < channels ? from[((o - u0 * OX_BLOCK) * g->ic + c) * taps + tap] : 0;
        }
}

static bool plan(ox_bconv_plan *head) {
  grouped_plan *p = (grouped_plan *)head;
  const ox_conv_geom *g = &head->task.g;
  int64_t xs[] = {g->batch, g->groups, g->ic + OX_BLOCK, g->in[0], g->in[1], g->in[2]};
  int64_t ys[] = {g->batch, g->groups, g->oc + OX_BLOCK, g->out[0], g->out[1], g->out[2]};
  int64_t n;
  if (!ox_conv_product_ok(xs, OX_COUNT(xs), &n) || !ox_conv_product_ok(ys, OX_COUNT(ys), &n)) return false;
  head->n_stages = 1;
  p->in_pixels = g->in[0] * g->in[1] * g->in[2], p->pixels = g->out[0] * g->out[1] * g->out[2];
  if (g->batch == 0 || p->pixels == 0) return true; /* no tiles */
  p->v = ox_bconv_select(head->task.isa);
  p->blocks = blocks_of(g), p->in_blocks = OX_CEIL_DIV(g->groups * g->ic, OX_BLOCK), p->taps = taps_of(g);
  p->post = ox_bconv_clamp(&head->task.act, &p->lo, &p->hi);
  for (int a = 0; a < 2; a++) p->tap_min[a] = reach(g, a + 1, &p->span[a]);
  p->dense = true;
  for (int64_t t = 1; t < g->n_taps[2]; t++) p->dense = p->dense && g->tap[2][t] == g->tap[2][0] + t;
  int even = even_kernels(&head->task);
  p->copies = even >= 0, p->multiply = p->copies ? p->v->even[even] : p->v->grouped;
  p->mr = p->copies ? p->v->even_pixels[even] : p->v->grouped_pixels, p->unit = p->copies ? OX_BLOCK : g->ic * OX_BLOCK;
  int64_t pixel = p->span[0] * p->unit * (int64_t)sizeof(float);
  int64_t most = (RING_BYTES / pixel - p->span[1]) / g->stride[2] + 1, strips = OX_MAX(most / p->mr, 1);
  p->tiles_w = OX_CEIL_DIV(OX_CEIL_DIV(g->out[2], p->mr), strips);
  p->tile_w = OX_CEIL_DIV(g->out[2], p->tiles_w), p->tiles_w = OX_CEIL_DIV(g->out[2], p->tile_w);
  double row_ns = cost_ns(&head->task) / (double)(g->batch * p->blocks * g->out[0] * g->out[1] * p->tiles_w);
  double rows = OX_MAX(ns_tile, cost_ns(&head->task) / TILES) / row_ns;
  p->tile_h = rows < 1 ? 1 : rows > (double)g->out[1] ? g->out[1] : (int64_t)rows;
  p->tiles_h = OX_CEIL_DIV(g->out[1], p->tile_h);
  p->ring_row = ((p->tile_w - 1) * g->stride[2] + p->span[1]) * p->unit;
  p->at_bytes = (size_t)(g->ic * OX_BLOCK) * sizeof(int32_t);
  p->segs_bytes = OX_ROUND_UP((size_t)p->taps * sizeof(ox_bconv_seg), OX_ALIGN_BYTES);
  head->scratch_bytes = p->at_bytes + p->segs_bytes + (size_t)(p->span[0] * p->ring_row) * sizeof(float);
  head->n_tiles[0] = g->batch * p->blocks * g->out[0] * p->tiles_h * p->tiles_w;
  return true;
}

/* ---- tiles ---- */

typedef struct tile {
  int64_t image, block, d, h0, h1, w0, n; /* n: columns */
  int32_t *at;                            /* of the spreading */
  ox_bconv_seg *segs;
  float *ring;
} tile;

static tile tile_at(const grouped_plan *p, int64_t i, char *scratch) {
  const ox_conv_geom *g = &p->head.task.g;
  tile t = {.at = (int32_t *)scratch, .segs = (ox_bconv_seg *)(scratch + p->at_bytes)};
  t.ring = (float *)(scratch + p->at_bytes + p->segs_bytes);
  t.w0 = i % p->tiles_w * p->tile_w, t.n = OX_MIN(p->tile_w, g->out[2] - t.w0), i /= p->tiles_w;
  t.h0 = i % p->tiles_h * p->tile_h, t.h1 = OX_MIN(t.h0 + p->tile_h, g->out[1]), i /= p->tiles_h;
  t.d = i % g->out[0], i /= g->out[0];
  t.block = i % p->blocks, t.image = i / p->blocks;
  int64_t first = t.block * OX_BLOCK / g->oc * g->ic % OX_BLOCK; /* in its block of inputs */
  for (int64_t c = 0; c < g->ic; c++)
    for (int64_t l = 0; l < OX_BLOCK; l++) t.at[c * OX_BLOCK + l] = (int32_t)(first + l / g->oc * g->ic + c);
  return t;
}

/* Spreads input row |r| out into its place of the ring, or copies it. */
static void spread_row(const grouped_plan *p, const tile *t, const float *x, int64_t r) {
  const ox_conv_geom *g = &p->head.task.g;
  int64_t first = t->w0 * g->stride[2] + p->tap_min[1], len = (t->n - 1) * g->stride[2] + p->span[1];
  int64_t lo = OX_MIN(OX_MAX(-first, 0), len), hi = OX_MAX(OX_MIN(g->in[2] - first, len), lo), unit = p->unit;
  float *to = t->ring + (r - p->tap_min[0]) % p->span[0] * p->ring_row;
  if (r < 0 || r >= g->in[1]) lo = hi = 0;
  memset(to, 0, (size_t)(lo * unit) * sizeof *to);
  memset(to + hi * unit, 0, (size_t)((len - hi) * unit) * sizeof *to);
  if (hi == lo) return;
  x += (r * g->in[2] + first + lo) * OX_BLOCK, to += lo * unit;
  if (p->copies)
    memcpy(to, x, (size_t)((hi - lo) * unit) * sizeof *to);
  else
    p->v->spread(to, x, t->at, (size_t)(hi - lo), (size_t)g->ic);
}

/* The segments of output row |h|: one for a row of taps, if they are neighbours. */
static size_t find_segs(const grouped_plan *p, const tile *t, int64_t h) {
  const ox_conv_geom *g = &p->head.task.g;
  int64_t step = p->dense ? g->n_taps[2] : 1;
  size_t n = 0;
  for (int64_t i = 0; i < g->n_taps[1]; i++) {
    int64_t row = (h * g->stride[1] + g->tap[1][i] - p->tap_min[0]) % p->span[0] * p->ring_row;
    for (int64_t j = 0; j < g->n_taps[2]; j += step)
      t->segs[n++] = (ox_bconv_seg){row + (g->tap[2][j] - p->tap_min[1]) * p->unit, g->ic * step, 0};
  }
  return n;
}

static void output_row(const grouped_plan *p, const ox_conv_args *a, const tile *t, int64_t h) {
  const ox_conv_geom *g = &p->head.task.g;
  int64_t pieces = OX_CEIL_DIV(t->n, p->mr);
  int64_t y = (t->image * p->blocks + t->block) * p->pixels + (t->d * g->out[1] + h) * g->out[2] + t->w0;
  ox_bconv_grouped m = {.w = a->w + t->block * p->taps * g->ic * OX_BLOCK, .segs = t->segs, .lo = p->lo, .hi = p->hi};
  m.n_segs = find_segs(p, t, h), m.channels = (size_t)(g->groups * g->oc - t->block * OX_BLOCK);
  m.bias = a->bias ? a->bias + t->block * OX_BLOCK : NULL;
  m.slope = a->slope ? a->slope + t->block * OX_BLOCK : NULL, m.x_step = (size_t)(g->stride[2] * p->unit);
  for (int64_t i = 0, col = 0, n; i < pieces; i++, col += n) {
    n = t->n / pieces + (i < t->n % pieces);
    int64_t half = (n + 1) / 2 * OX_BLOCK, at = (y + col) * OX_BLOCK;
    m.x[0] = t->ring + col * (int64_t)m.x_step, m.x[1] = m.x[0] + (n + 1) / 2 * (int64_t)m.x_step;
    m.y[0] = a->y + at, m.y[1] = m.y[0] + half;
    m.z[0] = a->z ? a->z + at : NULL, m.z[1] = a->z ? m.z[0] + half : NULL;
    p->multiply[n - 1](&m);
  }
  if (p->post) p->v->finish(&p->head.task.act, a->y + y * OX_BLOCK, (size_t)(t->n * OX_BLOCK));
}

static void run_tile(const grouped_plan *p, const ox_conv_args *a, const tile *t) {
  const ox_conv_geom *g = &p->head.task.g;
  int64_t in_block = t->block * OX_BLOCK / g->oc * g->ic / OX_BLOCK;
  const float *x = a->x + ((t->image * p->in_blocks + in_block) * p->in_pixels + t->d * g->in[1] * g->in[2]) * OX_BLOCK;
  int64_t next = t->h0 * g->stride[1] + p->tap_min[0]; /* row to be spread out */
  for (int64_t h = t->h0; h < t->h1; h++) {
    int64_t first = h * g->stride[1] + p->tap_min[0];
    for (next = OX_MAX(next, first); next < first + p->span[0]; next++) spread_row(p, t, x, next);
    output_row(p, a, t, h);
  }
}

static void run(const ox_bconv_plan *head, const ox_conv_args *a, uint32_t stage, int64_t begin, int64_t end,
                void *scratch) {
  const grouped_plan *p = (const grouped_plan *)head;
  (void)stage;
  for (int64_t i = begin; i < end; i++) {
    tile t = tile_at(p, i, scratch);
    run_tile(p, a, &t);
  }
}

extern const ox_bconv_form ox_bconv_form_grouped;
const ox_bconv_form ox_bconv_form_grouped = {.name = "grouped",
                                             .plan_bytes = sizeof(grouped_plan),
                                             .cost_ns = cost_ns,
                                             .weight_floats = weight_floats,
                                             .weight_units = weight_units,
                                             .unit_filter = unit_filter,
                                             .pack = pack,
                                             .plan = plan,
                                             .run = run};

/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/form_split.c - the form for matrix units: which tasks it supports, how weights are packed, how the work
 * is cut into tiles. All of it depends on shapes only. */
#include <math.h>
#include <string.h>

#include "base/cksize.h"
#include "kern/blocks/bconv_direct.h"
#include "kern/blocks/bconv_split.h"
#include "kern/carried.h"

enum {
  TILES = 24,          /* aimed at */
  ROWS = 448,          /* of A in a tile at most; the more rows, the fewer pixels above and below are read twice */
  FEW_ROWS = 256,      /* so many rows make up for splitting the weights in each tile */
  A_BLOCK = 896 << 10, /* bytes of a tile's split pixels, unless FEW_ROWS need more */
  MOST_PANELS = 8,     /* of a tile whose k is cut: its sums wait in memory */
  IN_CACHE = 1 << 20   /* bytes of weights that stay in cache */
};
/* Times in ns on one core of a Xeon with AMX (docs/products.md). For 16 rows by 32 columns by 32 of k: one product of
 * two terms (ns_product), and writing the sums to Y (ns_finish; ns_act: more if the activation is no clamp). For 32 x
 * 32 floats: splitting those of X (ns_split) or of weights (ns_weights). ns_byte: reading a byte from memory. */
static const double ns_product = 80 / 6.0, ns_finish = 60, ns_act = 200, ns_split = 390, ns_weights = 190,
                    ns_byte = 1 / 12.0;
static const double ns_tile_min = 25e3, ns_tile_max = 200e3;
static const double fma_macs_per_ns = 74; /* the rate of the other forms on that Xeon */
static const double margin = 11 / 10.0, ns_begin = 20e3;
enum { FEW_PIXELS = 16 };

static int64_t pairs_of(const ox_conv_geom *g) { return OX_CEIL_DIV(g->ic, 2 * OX_BLOCK); }
static int64_t panels_of(const ox_conv_geom *g) { return OX_CEIL_DIV(g->oc, OX_SPLIT_SIDE); }

/* ---- weights ---- */

static size_t weight_floats(const ox_bconv_task *t) {
  const ox_conv_geom *g = &t->g;
  int64_t n, f[] = {panels_of(g), pairs_of(g), OX_SPLIT_SUMS, g->n_taps[0], g->n_taps[1], g->n_taps[2]};
  return ox_conv_product_ok(f, OX_COUNT(f), &n) ? (size_t)n : 0;
}

static int64_t weight_units(const ox_bconv_task *t) { return panels_of(&t->g); }

/* A unit is a panel. */
static int64_t unit_filter(const ox_bconv_task *t, int64_t u) { return OX_MIN(u * OX_SPLIT_SIDE, t->g.oc); }

static void pack(const ox_bconv_task *t, float *dst, const float *w, int64_t u0, int64_t u1, const ox_stop *stop) {
  const ox_conv_geom *g = &t->g;
  int64_t taps = ox_conv_taps(g), pairs = pairs_of(g), side = OX_SPLIT_SIDE;
  for (int64_t u = u0; u < u1; u++)
    for (int64_t pair = 0; pair < pairs && !(stop && ox_stop_asked(stop)); pair++)
      for (int64_t tap = 0; tap < taps; tap++) {
        float *d = dst + ((u * pairs + pair) * taps + tap) * OX_SPLIT_SUMS;
        for (int64_t k = 0; k < side; k++)
          for (int64_t c = pair * side + ox_bconv_split_channel(k), o = u * side; o < (u + 1) * side; o++)
            *d++ = c < g->ic && o < g->oc ? ((const ox_f32u *)w)[((o - u0 * side) * g->ic + c) * taps + tap] : 0;
      }
}

/* ---- plan ---- */

/* The planes by coordinate modulo the strides (bconv_split.h). False: there are too many of them, or taps are so far
 * apart that planes would be mostly padding. */
static bool find_phases(ox_bconv_split_plan *p) {
  const ox_conv_geom *g = &p->g;
  for (int a = 0; a < OX_CONV_AXES; a++) {
    int64_t lo = g->tap[a][0], far = 0;
    for (int64_t t = 1; t < g->n_taps[a]; t++) lo = OX_MIN(lo, g->tap[a][t]);
    p->tap_min[a] = lo;
    for (int64_t t = 0; t < g->n_taps[a]; t++) {
      int64_t phase = (g->tap[a][t] - lo) % g->stride[a], i = 0;
      far = OX_MAX(far, (g->tap[a][t] - lo) / g->stride[a]);
      while (i < p->n_phases[a] && p->phase[a][i] != phase) i++;
      if (i == OX_BCONV_SPLIT_PHASES) return false;
      if (i == p->n_phases[a]) p->phase[a][p->n_phases[a]++] = phase;
    }
    p->far[a] = far;
    if (far > 2 * g->out[a] + 16) return false;
  }
  return g->in[0] == 1 && g->out[0] == 1 && g->n_taps[0] == 1 && p->tap_min[0] == 0;
}

/* The size of a piece, at most |most|, when |n| is cut evenly. If so many |others| are an odd number, an even number of
 * pieces, where they are few: two threads have as much to do then. */
static int64_t cut(int64_t n, int64_t most, int64_t others) {
  int64_t pieces = OX_CEIL_DIV(n, most);
  if (others % 2 && pieces % 2 && pieces > 1 && others * pieces < TILES / 2) pieces++;
  return OX_CEIL_DIV(n, pieces);
}

/* Whether all pixels, which could be one tile, are cut in two: for a second thread it costs less to split the weights
 * again than the pixels. */
static bool halves_pixels(const ox_bconv_split_plan *p) {
  const ox_conv_geom *g = &p->g;
  if (p->tile_n < g->batch || p->tile_h < g->out[1] || p->tile_w < g->out[2]) return false;
  double rows = (double)(p->tile_n * (p->tile_h + p->far[1]) * p->pitch);
  double splits = rows / 32 * (double)(p->n_phases[1] * p->n_phases[2]);
  return rows >= 2 * OX_SPLIT_SIDE && (double)(p->panels * p->taps) * ns_weights < splits * ns_split;
}

/* The images, rows and columns of a tile. */
static void cut_pixels(ox_bconv_split_plan *p) {
  const ox_conv_geom *g = &p->g;
  int64_t h = g->out[1], w = g->out[2], row_bytes = p->n_phases[1] * p->n_phases[2] * p->terms * 64;
  const int64_t most_rows = OX_MIN(OX_MAX(A_BLOCK / row_bytes / p->pairs, FEW_ROWS), ROWS);
  p->tile_n = 1, p->tile_h = h, p->tile_w = w;
  p->pitch = w + p->far[2];
  if (w > most_rows) {
    p->tile_h = 1;
    p->tile_w = cut(w, most_rows, g->batch * h);
    p->pitch = p->tile_w + p->far[2];
  } else if ((h - 1) * p->pitch + w > most_rows) {
    int64_t most = OX_MAX(most_rows / p->pitch, 1);
    p->tile_h = cut(h, most, g->batch);
  } else {
    int64_t most = OX_MAX(most_rows / ((h + p->far[1]) * p->pitch), 1);
    p->tile_n = OX_CEIL_DIV(g->batch, OX_CEIL_DIV(g->batch, most));
  }
  if (halves_pixels(p)) {
    if (p->tile_n > 1)
      p->tile_n = OX_CEIL_DIV(p->tile_n, 2);
    else if (h > 1)
      p->tile_h = OX_CEIL_DIV(h, 2);
    else
      p->tile_w = OX_ROUND_UP(OX_CEIL_DIV(w, 2), 16), p->pitch = p->tile_w + p->far[2];
  }
  p->tiles_n = OX_CEIL_DIV(g->batch, p->tile_n);
  p->tiles_h = OX_CEIL_DIV(h, p->tile_h), p->tiles_w = OX_CEIL_DIV(w, p->tile_w);
  p->plane = (p->tile_h + p->far[1]) * p->pitch;
}

/* The panels of a tile, and the estimated time of the whole convolution, p->ns. |rows|: rows of A in a tile. */
static void cut_channels(ox_bconv_split_plan *p, int64_t rows) {
  int64_t tiles = p->tiles_n * p->tiles_h * p->tiles_w, phases = p->n_phases[1] * p->n_phases[2];
  double steps = (double)(p->pairs * p->taps), products = p->terms * (p->terms + 1) / 2;
  float lo, hi;
  const double finish = ns_finish + (ox_bconv_clamp(&p->head.task.act, &lo, &hi) ? ns_act : 0);
  double panel_ns = (double)OX_CEIL_DIV(rows, 16) * (steps * products * ns_product + finish) + steps * ns_weights;
  double split = (double)(p->tile_n * p->plane * phases * p->pairs) / 32 * ns_split;
  double total = (double)(tiles * p->panels) * panel_ns;
  double target = OX_MAX(OX_MIN(OX_MAX(total / TILES, ns_tile_min), ns_tile_max), 8 * split);
  int64_t most = p->kp < p->pairs ? MOST_PANELS : p->panels;
  double want = target / panel_ns;
  p->tile_m = want < 1 ? 1 : want < (double)p->panels ? (int64_t)want : p->panels;
  p->tile_m = OX_MIN(p->tile_m, most);
  p->tile_m = cut(p->panels, p->tile_m, tiles);
  p->tiles_m = OX_CEIL_DIV(p->panels, p->tile_m);
  double bytes = (double)(p->panels * p->pairs * p->taps) * OX_SPLIT_SUMS * 4;
  double memory = bytes > IN_CACHE ? bytes * ns_byte : 0;
  p->ns = OX_MAX(total, memory) + split * (double)(tiles * OX_MIN(p->tiles_m, 2)); /* by each of two threads */
}

bool ox_bconv_split_plan_on(ox_bconv_plan *head, const ox_split_kernels *v) {
  ox_bconv_split_plan *p = (ox_bconv_split_plan *)head;
  p->g = head->task.g, p->v = v, p->terms = ox_split_terms(head->task.isa);
  ox_conv_geom *g = &p->g;
  int64_t n, xs[] = {g->batch, g->ic + 2 * OX_BLOCK, g->in[0], g->in[1], g->in[2]};
  int64_t ys[] = {g->batch, g->oc + OX_SPLIT_SIDE, g->out[0], g->out[1], g->out[2]};
  if (head->task.x_plain || g->groups != 1 || g->ic < 1 || g->oc < 1 || ox_conv_taps(g) < 1) return false;
  if (!ox_conv_product_ok(xs, OX_COUNT(xs), &n) || !ox_conv_product_ok(ys, OX_COUNT(ys), &n) ||
      !weight_floats(&head->task))
    return false;
  p->in_pixels = g->in[0] * g->in[1] * g->in[2], p->pixels = g->out[0] * g->out[1] * g->out[2];
  p->x_blocks = OX_CEIL_DIV(g->ic, OX_BLOCK), p->y_blocks = OX_CEIL_DIV(g->oc, OX_BLOCK);
  p->pairs = pairs_of(g), p->panels = panels_of(g), p->taps = ox_conv_taps(g);
  head->n_stages = 1;
  if (g->batch == 0 || p->pixels == 0) return true; /* no tiles */
  ox_bconv_flatten(g, p->pixels);
  if (!find_phases(p)) return false;
  cut_pixels(p);
  int64_t phases = p->n_phases[1] * p->n_phases[2];
  p->rows = (size_t)((p->tile_n - 1) * p->plane + (p->tile_h - 1) * p->pitch + p->tile_w);
  p->term_bytes = (size_t)(OX_ROUND_UP(p->tile_n * p->plane, OX_SPLIT_SIDE) + OX_SPLIT_SIDE + 16) * 64;
  p->pair_bytes = (size_t)phases * (size_t)p->terms * p->term_bytes;
  size_t few = OX_SPLIT_L2 / (p->pair_bytes + (size_t)p->taps * ox_split_records_bytes(1));
  size_t many = (OX_SPLIT_L2 - ox_split_records_bytes(OX_SPLIT_STEPS)) / p->pair_bytes; /* steps: more than that */
  p->kp = OX_MIN(OX_MAX((int64_t)OX_MAX(few, many), 1), p->pairs);
  p->kp = OX_CEIL_DIV(p->pairs, OX_CEIL_DIV(p->pairs, p->kp)); /* evenly */
  const size_t records_bytes = ox_split_records_bytes((size_t)(p->kp * p->taps));
  p->image_bytes = (size_t)p->kp * p->pair_bytes;
  cut_channels(p, (int64_t)p->rows);
  size_t strips = OX_CEIL_DIV(p->rows, (size_t)OX_SPLIT_SIDE), panels = (size_t)(p->kp < p->pairs ? p->tile_m : 1);
  p->sums_bytes = strips * panels * OX_SPLIT_SUMS * sizeof(float);
  head->scratch_bytes = records_bytes + p->sums_bytes + p->image_bytes +
                        ((size_t)(p->kp * p->taps) + p->rows + OX_SPLIT_SIDE) * sizeof(ptrdiff_t);
  int64_t tiles[] = {p->tiles_n, p->tiles_h, p->tiles_w, p->tiles_m};
  head->n_stages = 2, head->n_tiles[0] = 1, head->shared_bytes = sizeof(ox_carried);
  return ox_conv_product_ok(tiles, OX_COUNT(tiles), &head->n_tiles[1]);
}

static bool plan(ox_bconv_plan *head) { return ox_bconv_split_plan_on(head, ox_split_select(head->task.isa)); }

/* The other forms' estimates are for a faster machine, so this one is scaled to be comparable. It must be a tenth below
 * theirs to win: on a core that a virtual machine shares with others, the matrix unit falls to a third of its rate,
 * vectors only to two thirds. ns_begin: vectors are slower for a while after the unit was used. */
static double cost_ns(const ox_bconv_task *t) {
  ox_bconv_split_plan p = {.head.task = *t};
  if (!ox_split_select(t->isa) || !plan(&p.head) || t->g.batch * p.pixels < FEW_PIXELS) return INFINITY;
  return margin * p.ns * fma_macs_per_ns / ox_bconv_select(t->isa)->macs_per_ns + ns_begin;
}

extern const ox_bconv_form ox_bconv_form_split;
const ox_bconv_form ox_bconv_form_split = {.name = "amx",
                                           .plan_bytes = sizeof(ox_bconv_split_plan),
                                           .cost_ns = cost_ns,
                                           .weight_floats = weight_floats,
                                           .weight_units = weight_units,
                                           .unit_filter = unit_filter,
                                           .pack = pack,
                                           .plan = plan,
                                           .run = ox_bconv_split_run};

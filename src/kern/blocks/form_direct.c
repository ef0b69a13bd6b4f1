/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/form_direct.c - the direct form: which tasks it supports, how weights are packed, how the work is cut
 * into tiles. All of it depends on shapes and the instruction set only. */
#include <math.h>
#include <string.h>

#include "base/cksize.h"
#include "kern/blocks/bconv_direct.h"
#include "kern/blocks/bconv_far.h"

enum {
  TILES = 32,               /* aimed at, so that two to sixteen threads end at nearly the same time */
  SMALL_WEIGHTS = 64 << 10, /* bytes of weights that each tile may read in full */
  WEIGHTS_COST = 4,         /* a byte of weights, from L3 or memory, over a byte of input, which was just written */
  PAD_PIXELS = 256,         /* by which a padded copy of X may exceed twice its size */
  L2_INPUT = 256 << 10      /* bytes of a tile's input for one block of k */
};
static const double ns_tile_min = 10e3, ns_tile_max = 150e3; /* the time that one tile should take */
static const double ns_per_weight = 4.0 / 20;                /* a core reads 20 GB/s */

static int64_t panels_of(const ox_conv_geom *g) { return OX_CEIL_DIV(g->oc, OX_BLOCK); }

static bool supports(const ox_bconv_task *t) {
  const ox_conv_geom *g = &t->g;
  if (g->groups < 1 || g->ic < 1 || g->oc < 1 || ox_conv_taps(g) < 1) return false;
  return g->groups == 1 || (!t->x_plain && (t->y_apart || g->oc % OX_BLOCK == 0));
}

/* The share of products that remain where taps leave the image (bconv_far.h); of images, which are small, all. */
static double far_share(const ox_bconv_task *t) { return t->x_plain ? 1 : ox_bconv_far_share(&t->g); }

static double cost_ns(const ox_bconv_task *t) {
  const ox_conv_geom *g = &t->g;
  if (!supports(t)) return INFINITY;
  double weights = (double)g->groups * (double)panels_of(g) * OX_BLOCK * (double)g->ic * (double)ox_conv_taps(g);
  double pixels = (double)g->batch * (double)g->out[0] * (double)g->out[1] * (double)g->out[2];
  double sum = weights * pixels * far_share(t) / ox_bconv_select(t->isa)->macs_per_ns, read = weights * ns_per_weight;
  return OX_MAX(sum, read) + 1000;
}

size_t ox_bconv_direct_weight_floats(const ox_bconv_task *t) {
  const ox_conv_geom *g = &t->g;
  int64_t n, f[] = {g->groups, panels_of(g), OX_BLOCK, g->ic, g->n_taps[0], g->n_taps[1], g->n_taps[2]};
  return ox_conv_product_ok(f, OX_COUNT(f), &n) ? (size_t)n : 0;
}

int64_t ox_bconv_direct_weight_units(const ox_bconv_task *t) { return t->g.groups * panels_of(&t->g); }

/* A unit is a panel. */
int64_t ox_bconv_direct_unit_filter(const ox_bconv_task *t, int64_t u) {
  int64_t panels = panels_of(&t->g);
  return u / panels * t->g.oc + u % panels * OX_BLOCK;
}

/* A panel is [k][16]. Its k runs over channels and their taps; with blocks of channels, over blocks, taps and the
 * channels of the block. */
void ox_bconv_direct_pack(const ox_bconv_task *t, float *dst, const float *w, int64_t u0, int64_t u1,
                          const ox_stop *stop) {
  const ox_conv_geom *g = &t->g;
  const ox_f32u *from = (const ox_f32u *)w;
  const ox_blocks_variant *v = ox_blocks_select(t->isa);
  int64_t taps = ox_conv_taps(g), panels = panels_of(g), k = g->ic * taps;
  bool in_order = t->x_plain || taps == 1;
  float *d = dst + u0 * k * OX_BLOCK;
  for (int64_t u = u0; u < u1 && !(stop && ox_stop_asked(stop)); u++) {
    size_t rows = (size_t)OX_MIN(OX_BLOCK, g->oc - u % panels * OX_BLOCK);
    const ox_f32u *panel = from + (ox_bconv_direct_unit_filter(t, u) - ox_bconv_direct_unit_filter(t, u0)) * k;
    if (in_order) ox_blocks_lines(v, d, OX_BLOCK, panel, (size_t)k, rows, (size_t)k);
    int64_t lead = ox_bconv_direct_lead(t, u / panels);
    for (int64_t c = 0; c < g->ic && !in_order; c++) {
      int64_t at = (lead + c) / OX_BLOCK * OX_BLOCK - lead, block = OX_MAX(at, 0);
      int64_t n = OX_MIN(at + OX_BLOCK, g->ic) - block;
      float *first = d + (block * taps + c - block) * OX_BLOCK;
      ox_blocks_lines(v, first, (size_t)(n * OX_BLOCK), panel + c * taps, (size_t)k, rows, (size_t)taps);
    }
    for (int64_t i = 0; i < k && rows <= OX_BLOCK / 2; i++) /* lanes that would be zero are copies (bconv_direct.h) */
      memcpy(d + i * OX_BLOCK + OX_BLOCK / 2, d + i * OX_BLOCK, OX_BLOCK / 2 * sizeof *d);
    d += k * OX_BLOCK;
  }
}

/* Each line of packed 1x1 weights belongs to one input channel, which is what scaling needs. */
bool ox_bconv_direct_scales(const ox_bconv_task *t) {
  return t->g.groups == 1 && !t->x_plain && ox_conv_taps(&t->g) == 1;
}

void ox_bconv_direct_scale(const ox_bconv_task *t, float *to, const float *from, const float *by, int64_t u0,
                           int64_t u1) {
  const ox_bconv_variant *v = ox_bconv_select(t->isa);
  for (int64_t u = u0; u < u1; u++)
    v->scale_lines(to + u * t->g.ic * OX_BLOCK, from + u * t->g.ic * OX_BLOCK, by, (size_t)t->g.ic);
}

/* ---- plan ---- */

/* The range of the taps, and how many of a row one segment holds. */
static void find_taps(ox_bconv_direct_plan *p) {
  const ox_conv_geom *g = &p->g;
  for (int a = 0; a < OX_CONV_AXES; a++) {
    int64_t lo = g->tap[a][0], hi = lo;
    for (int64_t t = 1; t < g->n_taps[a]; t++) lo = OX_MIN(lo, g->tap[a][t]), hi = OX_MAX(hi, g->tap[a][t]);
    p->tap_min[a] = lo, p->tap_max[a] = hi;
  }
  p->merged = 1;
  if (!p->head.task.x_plain) return;
  p->merged = g->n_taps[2];
  for (int64_t t = 1; t < g->n_taps[2]; t++)
    if (g->tap[2][t] != g->tap[2][0] + t) p->merged = 1;
}

/* Whether every tap of every output lies inside X, so that it is read in place. */
static bool all_inside(const ox_bconv_direct_plan *p) {
  const ox_conv_geom *g = &p->g;
  for (int a = 0; a < OX_CONV_AXES; a++)
    if (p->tap_min[a] < 0 || (g->out[a] - 1) * g->stride[a] + p->tap_max[a] >= g->in[a]) return false;
  return true;
}

/* The number of tiles along pixels and along panels: enough of them, and such that all tiles together read the fewest
 * bytes. */
static void find_counts(const ox_bconv_direct_plan *p, int64_t *tiles_px, int64_t *tiles_m) {
  const ox_conv_geom *g = &p->g;
  double outer = (double)(g->batch * g->groups), pixels = (double)p->pixels;
  double weights = (double)(p->k * p->panels * OX_BLOCK), sum = weights * pixels / p->v->macs_per_ns;
  double total = OX_MAX(sum, weights * ns_per_weight) * outer; /* few pixels wait for the weights */
  double target = OX_MIN(OX_MAX(total / TILES, ns_tile_min), ns_tile_max);
  double n = OX_MAX(total / target / outer, 1), w = (double)(p->panels * p->k) * 64;
  double x = (double)(p->blocks * p->in_pixels * p->unit) * sizeof(float);
  double m = w <= SMALL_WEIGHTS ? 1 : sqrt(n * WEIGHTS_COST * w / x);
  int64_t strips = OX_CEIL_DIV(p->pixels, p->mr);
  int64_t most_m = OX_CEIL_DIV(p->panels, p->np);
  double least_px = pixels * (double)OX_MIN(p->k_blocks * p->unit, g->ic) * sizeof(float) / L2_INPUT;
  double px = OX_MAX(n / OX_MAX(m, 1), least_px);
  *tiles_px = px < (double)strips ? (int64_t)ceil(px) : strips;
  *tiles_m = OX_MIN(OX_MAX((int64_t)(n / (double)*tiles_px + 0.5), 1), most_m);
}

/* The rows and columns of a tile: whole rows, or whole strips of registers of one row. */
static void cut(ox_bconv_direct_plan *p, int64_t tiles_px) {
  const ox_conv_geom *g = &p->g;
  int64_t width = g->out[2], mr = p->mr, strips = OX_CEIL_DIV(width, mr);
  int64_t px = OX_CEIL_DIV(p->pixels, tiles_px);
  p->tile_h = 1, p->tile_w = width;
  if (px >= width) {
    p->tile_h = OX_MIN((px + width / 2) / width, g->out[1]);
    if (width * 2 <= mr && p->tile_h < g->out[1]) p->tile_h = OX_ROUND_UP(p->tile_h, 2);
  } else {
    int64_t n = OX_MAX((px * strips + width / 2) / width, 1);
    n = OX_CEIL_DIV(strips, OX_CEIL_DIV(strips, n)); /* evenly */
    p->tile_w = OX_MIN(OX_CEIL_DIV(width, strips) * n, width);
  }
  p->tiles_h = OX_CEIL_DIV(g->out[1], p->tile_h), p->tiles_w = OX_CEIL_DIV(width, p->tile_w);
  if (p->tiles_h > 1 && width * 2 > mr) p->tile_h = OX_CEIL_DIV(g->out[1], p->tiles_h);
}

/* Floats of scratch for one block of k of the largest tile; false: too many. */
static bool find_scratch(ox_bconv_direct_plan *p, size_t *out) {
  const ox_conv_geom *g = &p->g;
  int64_t n[OX_CONV_AXES] = {1, p->tile_h, p->tile_w};
  int64_t f[OX_CONV_AXES + 2] = {p->k_blocks, p->unit};
  for (int a = 0; a < OX_CONV_AXES; a++) {
    int64_t dense = (n[a] - 1) * g->stride[a] + p->tap_max[a] - p->tap_min[a] + 1, far = n[a] * g->n_taps[a];
    p->by_tap[a] = far < dense && !(a == 2 && p->merged > 1);
    f[a + 2] = p->by_tap[a] ? far : dense;
  }
  int64_t floats;
  bool ok = ox_conv_product_ok(f, OX_COUNT(f), &floats);
  *out = (size_t)floats + OX_BLOCK;
  return ok;
}

/* The blocks of an image, and those that a group's inputs lie in, at most. */
static void count_blocks(ox_bconv_direct_plan *p) {
  const ox_bconv_task *t = &p->head.task;
  p->blocks = OX_CEIL_DIV(p->g.ic, p->unit), p->x_blocks = p->g.groups * p->blocks;
  if (t->x_plain || t->x_apart) return;
  p->x_blocks = OX_CEIL_DIV(p->g.groups * p->g.ic, OX_BLOCK);
  for (int64_t g = 1; g < OX_MIN(p->g.groups, OX_BLOCK); g++) /* leads repeat */
    p->blocks = OX_MAX(p->blocks, OX_CEIL_DIV(ox_bconv_direct_lead(t, g) + p->g.ic, OX_BLOCK));
}

/* Where tiles of several panels read the same pixels, X is copied with its padding once, by a stage of its own. */
static void pad_once(ox_bconv_direct_plan *p) {
  const ox_conv_geom *g = &p->g;
  int64_t f[OX_CONV_AXES + 3] = {0, 0, 0, g->batch, p->x_blocks, p->unit}, floats;
  for (int a = 0; a < OX_CONV_AXES; a++) f[a] = (g->out[a] - 1) * g->stride[a] + p->tap_max[a] - p->tap_min[a] + 1;
  if (!ox_conv_product_ok(f, OX_COUNT(f), &floats) || f[0] * f[1] * f[2] > 2 * p->in_pixels + PAD_PIXELS) return;
  p->padded = true, p->x_pixels = f[0] * f[1] * f[2];
  memcpy(p->x_dim, f, sizeof p->x_dim);
  p->head.n_stages = 2, p->head.n_tiles[0] = g->batch * p->x_blocks;
  p->head.shared_bytes = (size_t)floats * sizeof(float);
}

/* A thread that steals takes the upper half of the remaining tiles, so with an odd number of equal tiles two threads
 * would wait for the last one. Then the smallest tile runs as two halves. No sum depends on it. */
static bool count_tiles(ox_bconv_direct_plan *p) {
  const ox_conv_geom *g = &p->g;
  int64_t n[] = {g->batch, g->groups, g->out[0], p->tiles_h, p->tiles_w, p->tiles_m};
  if (!ox_conv_product_ok(n, OX_COUNT(n), &p->n_whole)) return false;
  bool even =
      p->tiles_w * p->tile_w == g->out[2] && p->tiles_h * p->tile_h == g->out[1] && p->tiles_m * p->tile_m == p->panels;
  p->halved = p->n_whole % 2 == 0 || p->n_whole == 1 ? -1 : even ? 0 : p->n_whole - 1;
  if (p->halved >= 0 && !ox_bconv_direct_divides(p)) p->halved = -1;
  p->head.n_tiles[p->head.n_stages - 1] = p->n_whole + (p->halved >= 0);
  return true;
}

static const ox_bconv_stem *stem_of(const ox_bconv_direct_plan *p) {
  for (const ox_bconv_stem *s = p->v->stems; p->merged > 1 && s < p->v->stems + OX_BCONV_MOST_STEMS; s++)
    if (s->taps == p->merged && s->stride == p->g.stride[2]) return s;
  return NULL;
}

/* |at|: floats between neighbouring outputs of each axis; NULL: outputs lie one behind the other. */
static bool plan_at(ox_bconv_plan *head, const ox_bconv_variant *v, const int64_t at[OX_CONV_AXES], int64_t plane) {
  ox_bconv_direct_plan *p = (ox_bconv_direct_plan *)head;
  p->g = head->task.g;
  ox_conv_geom *g = &p->g;
  int64_t xs[] = {g->batch, g->groups, g->ic + OX_BLOCK, g->in[0], g->in[1], g->in[2]};
  int64_t ys[] = {g->batch, g->groups, g->oc + OX_BLOCK, g->out[0], g->out[1], g->out[2]}, floats;
  if (!ox_conv_product_ok(xs, OX_COUNT(xs), &floats) || !ox_conv_product_ok(ys, OX_COUNT(ys), &floats)) return false;
  if (!ox_bconv_direct_weight_floats(&head->task)) return false;
  p->v = v, p->few = v == ox_bconv_select(head->task.isa)->few;
  p->post = ox_bconv_clamp(&head->task.act, &p->lo, &p->hi);
  p->in_pixels = g->in[0] * g->in[1] * g->in[2], p->pixels = g->out[0] * g->out[1] * g->out[2];
  head->n_stages = 1;
  if (g->batch == 0 || p->pixels == 0) return true; /* no tiles */
  p->taps = ox_conv_taps(g), p->k = g->ic * p->taps, p->panels = panels_of(g);
  p->last_channels = g->oc - (p->panels - 1) * OX_BLOCK;
  ox_bconv_tile reg = ox_bconv_next(p->v, p->panels, p->last_channels);
  p->np = reg.np, p->mr = reg.mr;
  bool plain = head->task.x_plain;
  p->unit = plain ? 1 : OX_BLOCK;
  count_blocks(p);
  double share = far_share(&head->task);
  p->far = share < 1;
  int64_t read = OX_MAX((int64_t)((double)p->taps * share), 1); /* taps of an output */
  p->k_blocks = OX_MIN(OX_MAX(p->v->k_block / (p->unit * read), 1), p->blocks);
  p->k_blocks = OX_CEIL_DIV(p->blocks, OX_CEIL_DIV(p->blocks, p->k_blocks)); /* evenly */
  if (!at) ox_bconv_flatten(g, p->pixels);
  p->y_plane = at ? plane : p->pixels * OX_BLOCK;
  p->y_at[2] = OX_BLOCK, p->y_at[1] = g->out[2] * OX_BLOCK, p->y_at[0] = g->out[1] * p->y_at[1];
  if (at) memcpy(p->y_at, at, sizeof p->y_at);
  find_taps(p);
  p->stem = stem_of(p);
  int64_t tiles_px, tiles_m;
  find_counts(p, &tiles_px, &tiles_m);
  cut(p, tiles_px);
  p->tile_m = OX_ROUND_UP(OX_CEIL_DIV(p->panels, tiles_m), p->np);
  p->tiles_m = OX_CEIL_DIV(p->panels, p->tile_m);
  p->segs_bytes = OX_ROUND_UP((size_t)(p->k_blocks * p->taps) * sizeof(ox_bconv_seg), OX_ALIGN_BYTES);
  memcpy(p->x_dim, g->in, sizeof p->x_dim), p->x_pixels = p->in_pixels;
  size_t copy = 0;
  bool inside = all_inside(p);
  if (!inside && !p->far && p->tiles_m > 1) pad_once(p);
  if (!inside && !p->far && !p->padded && !find_scratch(p, &copy)) return false;
  head->scratch_bytes = p->segs_bytes + copy * sizeof(float);
  return count_tiles(p);
}

bool ox_bconv_direct_plan_on(ox_bconv_plan *p, const ox_bconv_variant *v) { return plan_at(p, v, NULL, 0); }

bool ox_bconv_direct_plan_at(ox_bconv_plan *p, const int64_t at[OX_CONV_AXES], int64_t plane) {
  return plan_at(p, ox_bconv_select(p->task.isa)->apart, at, plane);
}

static bool plan(ox_bconv_plan *p) { return ox_bconv_direct_plan_on(p, ox_bconv_select(p->task.isa)); }

extern const ox_bconv_form ox_bconv_form_direct;
const ox_bconv_form ox_bconv_form_direct = {.name = "direct",
                                            .plan_bytes = sizeof(ox_bconv_direct_plan),
                                            .cost_ns = cost_ns,
                                            .weight_floats = ox_bconv_direct_weight_floats,
                                            .weight_units = ox_bconv_direct_weight_units,
                                            .unit_filter = ox_bconv_direct_unit_filter,
                                            .pack = ox_bconv_direct_pack,
                                            .scales = ox_bconv_direct_scales,
                                            .scale = ox_bconv_direct_scale,
                                            .plan = plan,
                                            .run = ox_bconv_direct_run};

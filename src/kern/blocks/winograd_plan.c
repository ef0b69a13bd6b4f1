/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/winograd_plan.c - which tasks Winograd's convolution supports, its cost, its tiles. Depends on shapes
 * and instruction set only. */
#include <math.h>

#include "base/cksize.h"
#include "kern/blocks/winograd.h"
#include "kern/carried.h"

/* ---- cost ---- */

/* The distance between the taps along |axis|, 1 if there is one tap; 0: it is not constant. */
static int64_t dilation_of(const ox_conv_geom *g, int axis) {
  if (g->n_taps[axis] == 1) return 1;
  int64_t d = g->tap[axis][1] - g->tap[axis][0];
  for (int64_t i = 2; i < g->n_taps[axis]; i++)
    if (g->tap[axis][i] != g->tap[axis][i - 1] + d) return 0;
  return d > 0 ? d : 0;
}

/* Outputs lie where the inputs do. */
static bool untouched(const ox_conv_geom *g, int axis) {
  return g->n_taps[axis] == 1 && g->stride[axis] == 1 && g->tap[axis][0] == 0 && g->in[axis] == g->out[axis];
}

static ox_wino_axis axis_of(const ox_conv_geom *g, int axis, int64_t x_step, int64_t y_step) {
  return (ox_wino_axis){g->in[axis], g->out[axis], g->tap[axis][0], dilation_of(g, axis), x_step, y_step};
}

/* Windows that are more than an image apart read padding for most of Y: other forms are faster. */
static bool deep_ok(const ox_wino_view *v) {
  if (!v->deep) return true;
  return v->taps <= OX_WINO_MAX_TAPS && v->depth.dilation > 0 && v->depth.dilation < OX_MAX(v->depth.in, 2);
}

static bool square_view(const ox_conv_geom *g, ox_wino_kind k, ox_wino_view *out) {
  int64_t row_x, row_y;
  if (g->n_taps[0] > OX_WINO_MAX_TAPS / 9) return false;
  if (!ox_mul_i64_ok(g->in[2], OX_BLOCK, &row_x) || !ox_mul_i64_ok(g->out[2], OX_BLOCK, &row_y)) return false;
  for (int a = 1; a < OX_CONV_AXES; a++)
    if (g->stride[a] != ox_wino_stride(k) || g->n_taps[a] != 3) return false;
  *out = (ox_wino_view){{axis_of(g, 1, row_x, row_y), axis_of(g, 2, OX_BLOCK, OX_BLOCK)},
                        .depth = axis_of(g, 0, 0, 0),
                        .depth_stride = g->stride[0],
                        .taps = 9 * g->n_taps[0],
                        .windows = g->n_taps[0],
                        .deep = !untouched(g, 0)};
  return deep_ok(out);
}

/* The axes outside of the line are images, those within it rows. Windows of several lines: the axis next to the line
 * has taps, too. */
static bool line_view(const ox_conv_geom *g, ox_wino_kind k, ox_wino_view *out) {
  static const int64_t least[OX_WINO_KINDS] = {[OX_WINO_LINE3] = 2,
                                               [OX_WINO_LINE5] = 4,
                                               [OX_WINO_LINE7] = 6,
                                               [OX_WINO_LONG_LINE] = 6,
                                               [OX_WINO_LINE3_STRIDE2] = 3};
  const int axis = ox_wino_line_axis(g);
  const bool deep = axis > 0 && !untouched(g, axis - 1);
  const int64_t taps = g->n_taps[axis], most = k == OX_WINO_LONG_LINE ? OX_WINO_MAX_TAPS : ox_wino_taps(k);
  if (taps < least[k] || taps > most || g->stride[axis] != ox_wino_stride(k)) return false;
  int64_t images = 1, rows = 1, step;
  for (int a = 0; a < OX_CONV_AXES; a++) {
    int64_t *n = a < axis ? &images : &rows;
    if (a == axis || (deep && a == axis - 1)) continue;
    if (!untouched(g, a) || !ox_mul_i64_ok(*n, g->in[a], n)) return false;
  }
  if (!ox_mul_i64_ok(rows, OX_BLOCK, &step)) return false;
  if (deep && (k == OX_WINO_LONG_LINE || k == OX_WINO_LINE3_STRIDE2 || images > 1)) return false;
  *out = (ox_wino_view){{{rows, rows, 0, 1, OX_BLOCK, OX_BLOCK}, axis_of(g, axis, step, step)},
                        .depth = {images, images, 0, 1, 0, 0},
                        .depth_stride = 1,
                        .taps = ox_conv_taps(g),
                        .windows = ox_wino_windows(g, k),
                        .deep = deep};
  if (deep) out->depth = axis_of(g, axis - 1, 0, 0), out->depth_stride = g->stride[axis - 1];
  return deep_ok(out);
}

bool ox_wino_view_of(const ox_bconv_task *t, ox_wino_kind k, ox_wino_view *out) {
  const ox_conv_geom *g = &t->g;
  if (t->exact || t->x_plain || g->groups < 1 || g->ic < 1 || g->oc < 1) return false;
  if (g->groups > 1 && !t->x_apart && g->ic % OX_BLOCK) return false;
  if (g->groups > 1 && !t->y_apart && g->oc % OX_BLOCK) return false;
  if (!(ox_wino_is_line(k) ? line_view(g, k, out) : square_view(g, k, out))) return false;
  for (int a = 0; a < 2; a++) {
    const ox_wino_axis *x = &out->axis[a];
    if (x->dilation < 1 || (x->dilation > 1 && ox_wino_stride(k) > 1)) return false;
    if (x->dilation > 1 && x->dilation >= x->in) return false; /* one tap inside: others are faster */
  }
  return true;
}

/* Images of Y whose window |w| reads an image, not padding. */
static int64_t images_met(const ox_wino_view *v, int64_t w) {
  int64_t first = v->depth.first + w * v->depth.dilation, s = v->depth_stride;
  int64_t begin = first < 0 ? OX_CEIL_DIV(-first, s) : 0;
  int64_t end = first < v->depth.in ? OX_CEIL_DIV(v->depth.in - first, s) : 0;
  return OX_MAX(OX_MIN(end, v->depth.out) - begin, 0);
}

/* Images that are interleaved along an axis, and the tiles of each. */
static int64_t interleaved(const ox_wino_axis *a, int m, int64_t *out_tiles) {
  int64_t n = OX_MAX(OX_MIN(a->dilation, a->out), 1);
  *out_tiles = OX_CEIL_DIV(OX_CEIL_DIV(a->out, n), m);
  return n;
}

enum { SLAB = 4 /* images of Y that a strip goes through, at least, if there are so many */ };

/* The slabs that images of |tiles| are cut to, for strips of |most|. Those of a slab follow each other in X, too. */
static int64_t slabs_of(const ox_wino_view *v, int64_t tiles, int64_t most) {
  if (!v->deep || v->depth.out == 0) return 1;
  bool shares = v->depth_stride == 1 && v->depth.dilation == 1;
  return shares ? OX_CEIL_DIV(v->depth.out, OX_MAX(most / OX_MAX(tiles, 1), SLAB)) : v->depth.out;
}

enum {
  LEAST_TILES = 14,     /* of a strip: fewer read the weights too often */
  MOST_TILES = 20,      /* more leave L2: n x n points, */
  MOST_OF_LINES = 64,   /* n points */
  MOST_SHARED = 32,     /* of a strip that several pieces of work read */
  EACH_BYTES = 1 << 20, /* of V: so many each worker keeps in its L2 */
  WANTED = 16           /* pieces of work */
};

static int64_t most_tiles(ox_wino_kind k) { return ox_wino_is_line(k) ? MOST_OF_LINES : MOST_TILES; }

static const double bytes_per_ns = 33; /* the rate at which a core reads weights from memory */

bool ox_wino_work_of(const ox_bconv_task *t, ox_wino_kind k, ox_wino_work *out) {
  const ox_conv_geom *g = &t->g;
  ox_wino_view view;
  if (!ox_wino_view_of(t, k, &view)) return false;
  const ox_wino_variant *v = ox_wino_select(t->isa);
  double groups = (double)g->groups, ic = (double)OX_CEIL_DIV(g->ic, OX_BLOCK),
         oc = (double)OX_CEIL_DIV(g->oc, OX_BLOCK);
  int64_t down, across, in_h = interleaved(&view.axis[0], ox_wino_rows_m(k), &down),
                        in_w = interleaved(&view.axis[1], ox_wino_m(k), &across);
  double of_image = (double)in_h * (double)in_w * (double)down, met = 0;
  double lines = (double)g->batch * (double)view.depth.out * of_image;
  double tiles = lines * (double)across, more = lines * (double)(view.windows - 1);
  for (int64_t w = 0; w < view.windows && view.deep; w++) met += (double)images_met(&view, w);
  if (view.deep) { /* images at the ends of slabs are transformed for both */
    int64_t slabs = slabs_of(&view, in_h * in_w * down * across, most_tiles(k));
    more = (double)g->batch * of_image * (double)across * (double)(slabs * (view.windows - 1));
  }
  *out = (ox_wino_work){.weights = groups * (double)g->ic * (double)view.windows * oc * OX_BLOCK, .tiles = tiles};
  double sums = out->weights * ox_wino_tile_points(k) * fmax(tiles, 4) / v->macs_per_ns;
  if (view.deep && view.depth.out > 0) sums *= met / (double)(view.depth.out * view.windows);
  if (g->oc % OX_WINO_PAIR && g->oc % OX_WINO_PAIR <= OX_BLOCK) sums += sums / oc / 5; /* an odd block is slower */
  out->products_ns = sums;
  out->transforms_ns = groups * (tiles * (ic + oc) + more * ic) * v->transform_ns[k];
  return true;
}

double ox_wino_cost_ns(const ox_bconv_task *t, ox_wino_kind k) {
  ox_wino_work w;
  if (!ox_wino_work_of(t, k, &w)) return INFINITY;
  double bytes = w.weights * ox_wino_tile_weights(k) * 4;
  return fmax(w.products_ns, bytes / bytes_per_ns) + bytes / 200 + w.transforms_ns + 1000;
}

/* ---- plan ---- */

static const double ns_piece_min = 15e3;

/* Tiles of V from window to window, for strips of |count| tiles of each image. */
static size_t window_step(const ox_wino_view *v, size_t count) { return v->deep ? count : 1; }

ox_wino_strip ox_wino_strip_of(const ox_wino_plan *p, int64_t s) {
  const int64_t line = s / p->per_line, part = s % p->per_line, slab = line % p->slabs;
  const int64_t begin = p->line * part / p->per_line, first = p->slices * slab / p->slabs;
  ox_wino_strip t = {.begin = (line / p->slabs * p->slices + first) * p->line + begin,
                     .slices = p->slices * (slab + 1) / p->slabs - first,
                     .count = (size_t)(p->line * (part + 1) / p->per_line - begin)};
  t.tiles = (size_t)t.slices * t.count, t.window = window_step(&p->view, t.count);
  t.inputs = t.tiles + (size_t)(p->view.windows - 1) * t.window;
  /* odd numbers of cache lines: the points of a tile lie in different sets of the cache */
  t.v_point = ((size_t)p->blocks * t.inputs | 1) * OX_BLOCK, t.m_point = (2 * t.tiles | 1) * OX_BLOCK;
  return t;
}

void ox_wino_cut(ox_wino_plan *p, int64_t most) {
  const ox_wino_view *v = &p->view;
  const int64_t image = p->tiles / OX_MAX(p->head.task.g.batch * v->depth.out, 1);
  p->slices = v->deep ? v->depth.out : 1;
  p->line = v->deep ? image : v->windows > 1 ? p->across : p->tiles;
  p->slabs = slabs_of(v, image, most);
  p->per_line = OX_CEIL_DIV(p->line, OX_MAX(most / OX_CEIL_DIV(p->slices, p->slabs), 1));
  p->strips = p->tiles / (p->line * p->slices) * p->slabs * p->per_line;
  const size_t count = (size_t)OX_CEIL_DIV(p->line, p->per_line), windows = (size_t)v->windows;
  p->most = count * (size_t)OX_CEIL_DIV(p->slices, p->slabs);
  p->v_floats = ((size_t)p->blocks * (p->most + (windows - 1) * window_step(v, count)) | 1) * OX_BLOCK *
                (size_t)ox_wino_tile_points(p->kind);
}

/* The pieces of work are strips, if there are at least half as many as wanted. Else the strips' pairs are divided, too.
 * V is then made by each worker, or by a stage of its own, whose results come from other cores' caches. */
static void divide(ox_wino_plan *p) {
  double total = ox_wino_cost_ns(&p->head.task, p->kind) / (double)p->head.task.g.groups;
  int64_t wanted = (int64_t)fmin(fmax(total / ns_piece_min, 1), WANTED);
  int64_t most = most_tiles(p->kind);
  ox_wino_cut(p, OX_MAX(OX_MIN(p->tiles / wanted, most), LEAST_TILES));
  p->in_parts = p->out_parts = 1;
  p->shared = p->strips * 2 < wanted && p->pairs > 1;
  if (!p->shared) return;
  ox_wino_cut(p, OX_MAX(most, MOST_SHARED));
  int64_t parts = OX_CEIL_DIV(wanted, p->strips);
  p->in_parts = OX_MIN(p->blocks, parts), p->out_parts = OX_MIN(p->pairs, parts);
}

static bool sizes_ok(const int64_t *v, int n) {
  int64_t all = 1;
  for (int i = 0; i < n; i++)
    if (v[i] < 0 || !ox_mul_i64_ok(all, v[i], &all)) return false;
  return all < (int64_t)1 << 48;
}

bool ox_wino_plan_counts(ox_wino_plan *p, ox_wino_kind k) {
  ox_bconv_plan *head = &p->head;
  const ox_conv_geom *g = &head->task.g;
  if (!ox_wino_view_of(&head->task, k, &p->view)) return false;
  const ox_wino_axis *a = p->view.axis;
  const int64_t m = ox_wino_m(k), points = ox_wino_tile_points(k), beside = OX_WINO_MAX_TAPS * OX_WINO_MAX_M;
  const ox_wino_axis *depth = &p->view.depth;
  int64_t x[] = {g->batch, g->groups, g->ic + OX_BLOCK, depth->in, a[0].in, a[1].in, points};
  int64_t y[] = {g->batch, g->groups, g->oc + OX_BLOCK, depth->out, a[0].out + m, a[1].out + beside, points};
  if (!sizes_ok(x, OX_COUNT(x)) || !sizes_ok(y, OX_COUNT(y)) || !ox_wino_weight_floats(&head->task, k)) return false;
  p->kind = k, p->v = ox_wino_select(head->task.isa);
  p->blocks = OX_CEIL_DIV(g->ic, OX_BLOCK), p->pairs = OX_CEIL_DIV(g->oc, OX_WINO_PAIR);
  p->interleaved[0] = interleaved(&a[0], ox_wino_rows_m(k), &p->down),
  p->interleaved[1] = interleaved(&a[1], (int)m, &p->across);
  p->tiles = g->batch * depth->out * p->interleaved[0] * p->interleaved[1] * p->down * p->across;
  p->whole = 0;
  while (p->whole < p->view.windows && p->view.deep && images_met(&p->view, p->whole) < depth->out) p->whole++;
  head->n_stages = 1;
  return true;
}

bool ox_wino_plan_init(ox_bconv_plan *head, ox_wino_kind k) {
  ox_wino_plan *p = (ox_wino_plan *)head;
  const ox_conv_geom *g = &head->task.g;
  if (!ox_wino_plan_counts(p, k)) return false;
  if (p->tiles == 0) return true;
  divide(p);
  size_t m_floats = (2 * p->most | 1) * OX_BLOCK * (size_t)ox_wino_tile_points(k), rows = ox_wino_rows_floats(k);
  const size_t v_bytes = (size_t)p->strips * p->v_floats * sizeof(float);
  p->each = p->shared && head->task.alone && p->strips <= OX_WINO_EACH_STRIPS && v_bytes <= EACH_BYTES;
  head->scratch_bytes = OX_MAX(rows, m_floats) * sizeof(float) + (p->each ? v_bytes : 0);
  if (!p->shared) head->scratch_bytes += p->v_floats * sizeof(float);
  int64_t strips = g->groups * p->strips;
  head->n_tiles[0] = strips;
  if (!p->shared) return true;
  head->shared_bytes = p->each ? sizeof(ox_carried) : (size_t)g->groups * v_bytes;
  head->n_stages = 2;
  head->n_tiles[0] = p->each ? 1 : strips * p->in_parts, head->n_tiles[1] = strips * p->out_parts;
  return true;
}

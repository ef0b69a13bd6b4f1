/* SPDX-License-Identifier: Apache-2.0
 * kern/conv/conv_plan.c - how a convolution is cut: mode, blocks, tiles. Depends on shapes and variant only. */
#include <string.h>

#include "base/cksize.h"
#include "kern/conv/conv.h"
#include "kern/move/move.h"

enum {
  KC = 160,             /* k per block: 160 rows of 48 pixels fit L1 */
  FEW_PIXELS = 128,     /* of more, a last vector that is not full is a small part */
  SLOT_FLOATS = 6144,   /* small planes together stay in L1 */
  PHASE_FLOATS = 32768, /* phase planes of a depthwise block stay in L2 */
  TILES = 24            /* to aim at: two threads then end within 4 % of each other */
};
static const double ns_per_mac = 2.0 / 150, ns_per_weight = 4.0 / 12; /* assumes 150 GFLOP/s and 12 GB/s a core */
static const double ns_tile_min = 8e3, ns_tile_max = 100e3;

static double tile_target(double total_ns) {
  double t = total_ns / TILES;
  return t < ns_tile_min ? ns_tile_min : t > ns_tile_max ? ns_tile_max : t;
}

/* How many of |n| units, each of |unit_ns|, make a tile. */
static int64_t units_per_tile(double target, double unit_ns, int64_t n) {
  if (unit_ns * (double)n <= target) return n;
  int64_t k = (int64_t)(target / unit_ns);
  return k < 1 ? 1 : k;
}

bool ox_conv_product_ok(const int64_t *v, int n, int64_t *out) {
  *out = 1;
  for (int i = 0; i < n; i++)
    if (v[i] < 0 || !ox_mul_i64_ok(*out, v[i], out)) return false;
  return *out < (int64_t)1 << 48;
}

/* 1x1 taps at 0 with stride 1: output pixels are input pixels, one long row. */
static void flatten_pointwise(ox_conv_plan *p) {
  ox_conv_geom *g = &p->g;
  for (int a = 0; a < OX_CONV_AXES; a++)
    if (g->n_taps[a] != 1 || g->tap[a][0] != 0 || g->stride[a] != 1 || g->in[a] != g->out[a]) return;
  p->pointwise = true;
  g->in[2] = g->out[2] = p->pixels;
  g->in[0] = g->in[1] = g->out[0] = g->out[1] = 1;
}

/* Halves the outermost axis of a block until |planes| planes that are longer by |far| fit. Answers how many floats are
 * copied for all blocks; infinite if even the smallest does not fit. */
static double find_blocks(ox_conv_plan *p, const int64_t *planes, const int64_t *far) {
  double n, all = 1;
  for (int a = 0; a < OX_CONV_AXES; a++) p->block[a] = p->g.out[a];
  for (int a = 0;;) {
    n = 1;
    for (int b = 0; b < OX_CONV_AXES; b++) n *= (double)planes[b] * (double)(p->block[b] + far[b]);
    while (a < OX_CONV_AXES && p->block[a] == 1) a++;
    if (a == OX_CONV_AXES && n > (double)PHASE_FLOATS * 512) return __builtin_inf();
    if (n <= PHASE_FLOATS || a == OX_CONV_AXES) break;
    p->block[a] = (p->block[a] + 1) / 2;
  }
  for (int a = 0; a < OX_CONV_AXES; a++) all *= (double)OX_CEIL_DIV(p->g.out[a], p->block[a]);
  return n * all;
}

static bool plan_depthwise(ox_conv_plan *p) {
  const ox_conv_geom *g = &p->g;
  static const int64_t nothing[OX_CONV_AXES] = {0};
  int64_t far[OX_CONV_AXES], taps = 1, phases = 1;
  for (int a = 0; a < OX_CONV_AXES; a++) {
    int64_t lo = g->tap[a][0], hi = lo;
    for (int64_t t = 1; t < g->n_taps[a]; t++) lo = OX_MIN(lo, g->tap[a][t]), hi = OX_MAX(hi, g->tap[a][t]);
    p->tap_min[a] = lo, far[a] = (hi - lo) / g->stride[a];
    taps *= g->n_taps[a];
  }
  /* A few taps far apart (dilation 65536) would copy everything between them for each block. */
  double by_tap = find_blocks(p, g->n_taps, nothing), by_phase = find_blocks(p, g->stride, far);
  p->by_tap = by_phase > 8 * by_tap;
  if (p->by_tap) find_blocks(p, g->n_taps, nothing), memset(far, 0, sizeof far);
  else if (by_phase > 1e300) return false;
  for (int a = 0; a < OX_CONV_AXES; a++) {
    p->n_planes[a] = p->by_tap ? g->n_taps[a] : g->stride[a];
    phases *= p->n_planes[a];
  }
  int64_t blocks = 1, plane = 1, rows = p->block[0] * p->block[1];
  for (int a = 0; a < OX_CONV_AXES; a++) {
    p->n_block[a] = OX_CEIL_DIV(g->out[a], p->block[a]);
    p->phase_len[a] = p->block[a] + far[a];
    blocks *= p->n_block[a], plane *= p->phase_len[a];
  }
  int64_t lanes = p->v->lanes, per_row = OX_CEIL_DIV(p->block[2], lanes);
  int64_t flat = ((p->block[0] - 1) * p->phase_len[1] + p->block[1] - 1) * p->phase_len[2] + p->block[2];
  p->by_row = rows * per_row * taps <= OX_CEIL_DIV(flat, lanes) * taps + rows * (per_row * 3 + 4);
  p->table_bytes = (size_t)taps * sizeof(int32_t);
  p->flat_at = phases * plane + OX_CONV_PANEL * 8; /* vectors run over the ends */
  p->slot = p->flat_at + (p->by_row ? 0 : flat) + OX_CONV_PANEL * 8;
  p->slots = blocks == 1 && g->oc == 1 ? OX_MIN(OX_MAX(SLOT_FLOATS / p->slot, 1), 8) : 1;
  p->scratch_bytes = (size_t)(p->slot * p->slots) * sizeof(float);
  double block_ns = (double)(phases * plane) * 0.1 + (double)(rows * per_row * lanes) * (double)taps * 0.02 + 20;
  int64_t units = g->batch * g->groups * g->oc;
  p->tile_ch = units_per_tile(tile_target(block_ns * (double)(units * blocks)), block_ns * (double)blocks, units);
  if (p->tile_ch > 1 || blocks == 1) {
    p->n_tiles[0] = OX_CEIL_DIV(units, p->tile_ch);
  } else {
    p->tile_ch = 0; /* a tile is one block of one channel */
    p->n_tiles[0] = units * blocks;
  }
  p->n_stages = 1;
  return true;
}

/* An odd number of cache lines per row spreads the rows over the sets of a cache. */
static size_t row_floats(int64_t pixels) {
  size_t n = OX_ROUND_UP((size_t)pixels, 16);
  return n / 16 % 2 ? n : n + 16;
}

/* Stage 0 gathers all of B into shared memory. */
static void plan_gather(ox_conv_plan *p) {
  int64_t outer = p->g.batch * p->g.groups;
  p->shared_b = true;
  p->ldb = p->mode == OX_CONV_CHANNELS ? (size_t)p->pixels : row_floats(p->pixels);
  p->gather_k = OX_MAX(OX_MIN(p->k, 16384 / p->pixels), 1);
  p->gather_tiles = OX_CEIL_DIV(p->k, p->gather_k);
  p->shared_bytes = (size_t)outer * (size_t)p->k * p->ldb * sizeof(float);
  p->n_tiles[0] = outer * p->gather_tiles;
}

static void plan_channels(ox_conv_plan *p) {
  const ox_conv_geom *g = &p->g;
  double per_row = (double)p->k * OX_MAX((double)p->pixels * ns_per_mac, ns_per_weight);
  int64_t unit = p->v->channel_unit > OX_CONV_PANEL ? p->v->channel_unit : OX_CONV_PANEL;
  int64_t units = OX_CEIL_DIV(g->oc, unit), outer = g->batch * g->groups;
  double target = tile_target(per_row * (double)(g->oc * outer));
  p->tile_m = unit * units_per_tile(target, per_row * (double)unit, units);
  p->tiles_m = OX_CEIL_DIV(g->oc, p->tile_m);
  p->direct = p->pointwise;
  p->tile_px = p->pixels, p->tiles_px = 1, p->kc = p->k;
  if (p->direct) {
    p->ldb = (size_t)p->pixels;
    p->n_stages = 1, p->n_tiles[0] = outer * p->tiles_m;
    return;
  }
  plan_gather(p);
  p->n_stages = 2, p->n_tiles[1] = outer * p->tiles_m;
}

static void plan_pixels(ox_conv_plan *p) {
  const ox_conv_geom *g = &p->g;
  int64_t lanes = p->v->lanes, unit = p->v->pixel_unit, outer = g->batch * g->groups;
  p->px_lanes = lanes;
  int64_t n_kc = OX_MAX(OX_CEIL_DIV(p->k, KC), 1);
  p->kc = OX_CEIL_DIV(p->k, n_kc);
  double unit_ns = (double)p->k * ((double)OX_ROUND_UP(g->oc, 4) * ns_per_mac + 0.1) * (double)unit;
  int64_t units = OX_CEIL_DIV(p->pixels, unit);
  double target = tile_target(unit_ns * (double)(units * outer));
  int64_t per_tile = OX_MIN(units_per_tile(target, unit_ns, units), OX_CONV_MAX_PIXELS / unit);
  p->tiles_px = OX_CEIL_DIV(units, per_tile);
  p->tile_px = OX_CEIL_DIV(OX_CEIL_DIV(p->pixels, lanes), p->tiles_px) * lanes; /* at most; see px_begin */
  p->tile_m = g->oc;
  if (per_tile == 1 && unit_ns > 1.5 * target) {
    int64_t parts = (int64_t)(unit_ns / target + 0.5);
    p->tile_m = OX_MAX(OX_ROUND_UP(OX_CEIL_DIV(g->oc, parts), OX_CONV_PANEL), 64);
  }
  p->tiles_m = OX_CEIL_DIV(g->oc, p->tile_m);
  p->direct = p->pointwise;
  p->n_stages = 1, p->n_tiles[0] = outer * p->tiles_px * p->tiles_m;
  if (p->direct) {
    p->ldb = (size_t)p->pixels;
  } else if (p->tiles_m > 1 && p->pixels <= OX_CONV_MAX_PIXELS) { /* several tiles read the same part of B */
    p->n_stages = 2, p->n_tiles[1] = p->n_tiles[0];
    plan_gather(p);
  } else {
    p->ldb = row_floats(p->tile_px);
    p->scratch_bytes = (size_t)p->kc * p->ldb * sizeof(float);
  }
}

/* Channels go in lanes where the last vector of pixels would be mostly padding. */
static bool few_pixels(const ox_conv_plan *p) {
  int64_t lanes = p->v->lanes, padded = OX_ROUND_UP(p->pixels, lanes);
  if (p->pixels > FEW_PIXELS || lanes == 1) return false;
  int64_t channels = OX_ROUND_UP(p->g.oc, lanes);
  return (double)channels / (double)p->g.oc * 1.08 < (double)padded / (double)p->pixels;
}

void ox_conv_geom_move_unit_axes(ox_conv_geom *g) {
  for (int turn = 0; turn < OX_CONV_AXES - 1; turn++) {
    bool unit = g->in[2] == 1 && g->out[2] == 1 && g->n_taps[2] == 1 && g->tap[2][0] == 0;
    if (!unit) return;
    const int64_t *tap = g->tap[2];
    int64_t stride = g->stride[2];
    for (int i = 2; i > 0; i--) {
      g->in[i] = g->in[i - 1], g->out[i] = g->out[i - 1], g->stride[i] = g->stride[i - 1];
      g->n_taps[i] = g->n_taps[i - 1], g->tap[i] = g->tap[i - 1];
    }
    g->in[0] = g->out[0] = g->n_taps[0] = 1, g->stride[0] = stride, g->tap[0] = tap;
  }
}

bool ox_conv_plan_init(ox_conv_plan *p, const ox_conv_geom *g, const ox_act *act, const ox_conv_variant *v) {
  memset(p, 0, sizeof *p);
  p->g = *g, p->v = v, p->act = *act;
  ox_conv_geom_move_unit_axes(&p->g);
  g = &p->g;
  bool clip = act->kind == OX_ACT_CLIP, relu = act->kind == OX_ACT_RELU;
  p->post = act->kind != OX_ACT_NONE && !clip && !relu;
  p->lo = relu ? 0 : clip ? act->a : -__builtin_inff();
  p->hi = clip ? act->b : __builtin_inff();
  int64_t taps, total, all[8] = {g->batch, g->groups, g->oc, g->out[0], g->out[1], g->out[2]};
  int64_t in_all[6] = {g->batch, g->groups, g->ic, g->in[0], g->in[1], g->in[2]};
  if (!ox_conv_product_ok(g->n_taps, OX_CONV_AXES, &taps) || !ox_mul_i64_ok(taps, g->ic, &p->k)) return false;
  if (!ox_conv_product_ok(g->out, OX_CONV_AXES, &p->pixels) || !ox_conv_product_ok(g->in, OX_CONV_AXES, &p->in_pixels)) return false;
  if (!ox_conv_product_ok(in_all, 6, &total) || !ox_conv_product_ok(all, 6, &total)) return false;
  p->panels = OX_CEIL_DIV(g->oc, OX_CONV_PANEL);
  if (total == 0) {
    p->mode = OX_CONV_EMPTY, p->n_stages = 1, p->n_tiles[0] = 1;
    return true;
  }
  if (ox_conv_is_depthwise(g->ic, g->oc) && taps > 0) {
    p->mode = OX_CONV_DEPTHWISE;
    return plan_depthwise(p);
  }
  flatten_pointwise(p);
  if (few_pixels(p)) {
    p->mode = OX_CONV_CHANNELS;
    plan_channels(p);
  } else {
    p->mode = OX_CONV_PIXELS;
    plan_pixels(p);
  }
  return true;
}

bool ox_conv_plan_max(ox_conv_plan *p, const ox_conv_geom *g, const ox_conv_variant *v) {
  if (!ox_conv_plan_init(p, g, &(ox_act){OX_ACT_NONE, 0, 0}, v)) return false;
  p->pool_max = true, p->pad = -__builtin_inff();
  return true;
}

const char *ox_conv_form(const ox_conv_plan *p) {
  switch (p->mode) {
    case OX_CONV_EMPTY:
      return "empty";
    case OX_CONV_DEPTHWISE:
      return p->by_tap ? "depthwise, a plane for each tap" : "depthwise";
    case OX_CONV_CHANNELS:
      return p->direct ? "channels in lanes, 1x1" : "channels in lanes, gathered first";
    case OX_CONV_PIXELS:
      return p->direct ? "pixels in lanes, 1x1" : p->shared_b ? "pixels in lanes, gathered first" : "pixels in lanes";
  }
  return NULL;
}

void ox_conv_plan_tables(ox_conv_plan *p, void *memory) {
  if (p->mode != OX_CONV_DEPTHWISE) return;
  const ox_conv_geom *g = &p->g;
  const int64_t *s = g->stride, *len = p->phase_len;
  int64_t plane = len[0] * len[1] * len[2], n = 0;
  p->tap_off = memory;
  for (int64_t d = 0; d < g->n_taps[0]; d++)
    for (int64_t h = 0; h < g->n_taps[1]; h++)
      for (int64_t w = 0; w < g->n_taps[2]; w++) {
        int64_t cd = g->tap[0][d] - p->tap_min[0], ch = g->tap[1][h] - p->tap_min[1], cw = g->tap[2][w] - p->tap_min[2];
        if (p->by_tap) {
          p->tap_off[n] = (int32_t)(n * plane), n++;
          continue;
        }
        int64_t phase = (cd % s[0] * s[1] + ch % s[1]) * s[2] + cw % s[2];
        p->tap_off[n++] = (int32_t)(phase * plane + (cd / s[0] * len[1] + ch / s[1]) * len[2] + cw / s[2]);
      }
}

size_t ox_conv_weight_floats(int64_t groups, int64_t oc, int64_t k) {
  if (groups < 0 || oc < 0 || k < 0 || k > INT64_MAX / 64) return 0;
  size_t n = (size_t)OX_CEIL_DIV(oc, OX_CONV_PANEL) * OX_CONV_PANEL;
  if (!ox_mul_ok(n, (size_t)groups, &n) || !ox_mul_ok(n, (size_t)k, &n)) return 0;
  return n;
}

/* Rows of up to OX_CONV_PANEL channels, as columns. */
void ox_conv_pack_panel(const ox_conv_variant *v, float *dst, int64_t i, const float *rows, int64_t n, int64_t k) {
  enum { COLUMNS = 64 /* read from all rows before any of them is left */ };
  int64_t row = OX_CONV_PANEL * (int64_t)sizeof(float), from = k * (int64_t)sizeof(float);
  dst += i * k * OX_CONV_PANEL;
  ox_transpose_fn transpose = ox_transpose_select(sizeof(float), ox_isa_implied(v->needs));
  for (int64_t at = 0; at < k; at += COLUMNS)
    transpose((const char *)rows + at * (int64_t)sizeof(float), from, (char *)(dst + at * OX_CONV_PANEL), row, n,
              OX_MIN(k - at, (int64_t)COLUMNS));
  for (int64_t j = n; j < OX_CONV_PANEL; j++)
    for (int64_t at = 0; at < k; at++) dst[at * OX_CONV_PANEL + j] = 0;
}

void ox_conv_pack_weights(const ox_conv_variant *v, float *dst, const float *w, int64_t oc, int64_t k, int64_t g0,
                          int64_t g1, const ox_stop *stop) {
  int64_t panels = OX_CEIL_DIV(oc, OX_CONV_PANEL);
  ox_stop_pace pace = {.stop = stop};
  for (int64_t i = g0 * panels; i < g1 * panels && !ox_stop_moved(&pace, (size_t)(k * OX_CONV_PANEL) * sizeof *w); i++) {
    int64_t first = i % panels * OX_CONV_PANEL;
    ox_conv_pack_panel(v, dst, i, w + (i / panels * oc + first) * k, OX_MIN(oc - first, (int64_t)OX_CONV_PANEL), k);
  }
}

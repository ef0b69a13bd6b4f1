/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/form_strassen.c - Strassen's form: what it serves, what it costs, how it is cut. Weights are those of the
 * direct form. Depends on shapes and instruction set only. */
#include <math.h>

#include "base/cksize.h"
#include "kern/blocks/bconv_strassen.h"

extern const ox_bconv_form ox_bconv_form_direct, ox_bconv_form_strassen;

enum {
  TILES = 32,      /* to aim at */
  PART = 8,        /* blocks of a half of the channels, about: weights of a group and their sums stay in L2 */
  GOOD_STRIPS = 7, /* share the making of sums of weights */
  FEW_TILES = 8,
  MOST_TILES_M = 4 /* of groups: each makes the sums of X */
};
static const double ns_tile_min = 10e3, ns_tile_max = 150e3;
static const double ns_per_weight = 4.0 / 20; /* 20 GB/s a core */
/* Products that take as long as the sums of one float of X, as the additions to one of Y, and as the sums of one weight
 * in a tile, as measured on Zen 5 where tensors come from L3. */
static const double least_gain = 1.025; /* as much as estimates may be wrong */
static const double x_macs = 10, y_macs = 12, w_macs = 1.5;

/* ---- what it serves, and for how much ---- */

static bool serves(const ox_bconv_task *t) {
  const ox_conv_geom *g = &t->g;
  const ox_sw_variant *v = ox_sw_select(t->isa);
  if (t->exact || t->isa & OX_PLAIN_SUMS || t->x_plain || g->groups != 1) return false;
  if (g->batch > 1) return false; /* each image would make its own sums of weights */
  if (g->ic < 2 * OX_BLOCK || g->oc < 2 * v->np * OX_BLOCK) return false;
  for (int a = 0; a < OX_CONV_AXES; a++)
    if (g->n_taps[a] != 1 || g->tap[a][0] != 0 || (g->out[a] - 1) * g->stride[a] >= g->in[a]) return false;
  double pixels = (double)g->out[0] * (double)g->out[1] * (double)g->out[2];
  return pixels >= (double)v->mr;
}

static size_t weight_floats(const ox_bconv_task *t) { return ox_bconv_form_direct.weight_floats(t); }
static int64_t weight_units(const ox_bconv_task *t) { return ox_bconv_form_direct.weight_units(t); }
static int64_t unit_filter(const ox_bconv_task *t, int64_t u) { return ox_bconv_form_direct.unit_filter(t, u); }
static void pack(const ox_bconv_task *t, float *dst, const float *w, int64_t u0, int64_t u1, const ox_stop *stop) {
  ox_bconv_form_direct.pack(t, dst, w, u0, u1, stop);
}
static bool scales(const ox_bconv_task *t) { return ox_bconv_form_direct.scales(t); }
static void scale(const ox_bconv_task *t, float *to, const float *from, const float *by, int64_t u0, int64_t u1) {
  ox_bconv_form_direct.scale(t, to, from, by, u0, u1);
}

/* ---- plan ---- */

static bool is_dense(const ox_conv_geom *g) {
  for (int a = 0; a < OX_CONV_AXES; a++)
    if (g->stride[a] != 1 || g->in[a] != g->out[a]) return false;
  return true;
}

/* Tiles of pixels and of groups of panels, so many that they suit some threads. */
static void cut(ox_sw_plan *p) {
  const int64_t batch = OX_MAX(p->head.task.g.batch, 1);
  p->all_strips = OX_CEIL_DIV(OX_CEIL_DIV(p->pixels, 2), p->v->mr);
  double total = ox_bconv_form_direct.cost_ns(&p->head.task);
  double target = OX_MIN(OX_MAX(total / TILES, ns_tile_min), ns_tile_max),
         n = OX_MAX(total / target / (double)batch, 1);
  p->tiles_px = OX_MAX((p->all_strips + GOOD_STRIPS / 2) / GOOD_STRIPS, 1);
  if (p->tiles_px * p->groups * batch < FEW_TILES) p->tiles_px = OX_MAX((p->all_strips + 2) / 4, 1);
  int64_t tiles_m = OX_MIN(OX_MIN(OX_MAX((int64_t)(n / (double)p->tiles_px + 0.5), 1), p->groups), MOST_TILES_M);
  p->tile_m = OX_CEIL_DIV(p->groups, tiles_m), p->tiles_m = OX_CEIL_DIV(p->groups, p->tile_m);
  p->strips = OX_CEIL_DIV(p->all_strips, p->tiles_px);
}

static bool plan(ox_bconv_plan *head) {
  ox_sw_plan *p = (ox_sw_plan *)head;
  const ox_conv_geom *g = &head->task.g;
  int64_t xs[] = {g->batch, g->ic + OX_BLOCK, g->in[0], g->in[1], g->in[2]}, floats;
  int64_t ys[] = {g->batch, g->oc + OX_BLOCK, g->out[0], g->out[1], g->out[2]};
  if (!ox_conv_product_ok(xs, OX_COUNT(xs), &floats) || !ox_conv_product_ok(ys, OX_COUNT(ys), &floats)) return false;
  if (!weight_floats(&head->task)) return false;
  const ox_act *act = &head->task.act;
  p->v = ox_sw_select(head->task.isa), p->direct = ox_bconv_select(head->task.isa);
  p->post = act->kind != OX_ACT_NONE && act->kind != OX_ACT_RELU && act->kind != OX_ACT_CLIP;
  p->lo = act->kind == OX_ACT_RELU ? 0 : act->kind == OX_ACT_CLIP ? act->a : -INFINITY;
  p->hi = act->kind == OX_ACT_CLIP ? act->b : INFINITY;
  p->in_pixels = g->in[0] * g->in[1] * g->in[2], p->pixels = g->out[0] * g->out[1] * g->out[2];
  head->n_stages = 1;
  if (g->batch == 0) return true; /* no tiles */
  p->x_blocks = OX_CEIL_DIV(g->ic, OX_BLOCK), p->panels = OX_CEIL_DIV(g->oc, OX_BLOCK);
  p->halves = g->ic / OX_BLOCK / 2, p->parts = OX_CEIL_DIV(p->halves, PART);
  p->groups = g->oc / OX_BLOCK / (2 * p->v->np);
  p->gathers = !is_dense(g);
  int64_t part = OX_CEIL_DIV(p->halves, p->parts);
  p->strip_floats = (OX_SW_SUMS + (p->gathers ? OX_SW_SINGLES : 0)) * p->halves * p->v->mr * OX_BLOCK;
  p->t_floats = OX_SW_SUMS * p->v->np * part * OX_BLOCK * OX_BLOCK;
  p->c_floats = p->parts > 1 ? 4 * p->v->np * p->v->mr * OX_BLOCK : 0;
  cut(p);
  int64_t own[] = {p->strips, p->strip_floats + p->c_floats}, n[] = {g->batch, p->tiles_px, p->tiles_m};
  if (!ox_conv_product_ok(own, OX_COUNT(own), &floats)) return false;
  head->scratch_bytes = (size_t)(floats + p->t_floats) * sizeof(float) + (size_t)p->x_blocks * sizeof(ox_bconv_seg);
  return ox_conv_product_ok(n, OX_COUNT(n), &head->n_tiles[0]);
}

static double cost_ns(const ox_bconv_task *t) {
  const ox_conv_geom *g = &t->g;
  ox_sw_plan p = {.head.task = *t};
  if (!serves(t) || !plan(&p.head)) return INFINITY;
  double outer = (double)g->batch, pixels = (double)p.pixels, x = (double)g->ic, y = (double)(p.panels * OX_BLOCK);
  double tiles = (double)p.tiles_px, odd = (double)(p.pixels % 2);
  double xs = (double)(2 * p.halves * OX_BLOCK), ys = (double)(p.groups * 2 * p.v->np * OX_BLOCK); /* in halves */
  double macs =
      pixels * (x * y - xs * ys) + (pixels + odd) * (xs * ys * 7 / 8 + x_macs * xs * (double)p.tiles_m + y_macs * ys);
  macs += w_macs * tiles * xs * ys;
  if (xs < x) macs += y_macs * pixels * ys;
  return least_gain * OX_MAX(outer * macs / p.direct->macs_per_ns, x * y * ns_per_weight) + 1000;
}

const ox_bconv_form ox_bconv_form_strassen = {.name = "strassen",
                                              .plan_bytes = sizeof(ox_sw_plan),
                                              .cost_ns = cost_ns,
                                              .weight_floats = weight_floats,
                                              .weight_units = weight_units,
                                              .unit_filter = unit_filter,
                                              .pack = pack,
                                              .scales = scales,
                                              .scale = scale,
                                              .plan = plan,
                                              .run = ox_sw_run};

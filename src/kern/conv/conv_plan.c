/* SPDX-License-Identifier: Apache-2.0
 * kern/conv/conv_plan.c - chooses the mode of a convolution, by shapes and variant only, and runs its tiles. */
#include <string.h>

#include "base/cksize.h"
#include "kern/conv/conv_modes.h"

bool ox_conv_product_ok(const int64_t *v, int n, int64_t *out) {
  *out = 1;
  for (int i = 0; i < n; i++)
    if (v[i] < 0 || !ox_mul_i64_ok(*out, v[i], out)) return false;
  return *out < (int64_t)1 << 48; /* times any element's size it fits 63 bits */
}

/* One tap at 0 and stride 1: each output pixel reads the input pixel at its place, so the plane is one long row. */
static void flatten_pointwise(ox_conv_plan *p) {
  ox_conv_geom *g = &p->g;
  for (int a = 0; a < OX_CONV_AXES; a++)
    if (g->n_taps[a] != 1 || g->tap[a][0] != 0 || g->stride[a] != 1 || g->in[a] != g->out[a]) return;
  p->pointwise = true;
  g->in[2] = g->out[2] = p->pixels;
  g->in[0] = g->in[1] = g->out[0] = g->out[1] = 1;
}

void ox_conv_geom_move_unit_axes(ox_conv_geom *g) {
  for (int moved = 0; moved < OX_CONV_AXES - 1; moved++) {
    bool unit = g->in[2] == 1 && g->out[2] == 1 && g->n_taps[2] == 1 && g->tap[2][0] == 0;
    if (!unit) return;
    const int64_t *tap = g->tap[2];
    for (int i = 2; i > 0; i--) {
      g->in[i] = g->in[i - 1], g->out[i] = g->out[i - 1], g->stride[i] = g->stride[i - 1];
      g->n_taps[i] = g->n_taps[i - 1], g->tap[i] = g->tap[i - 1];
    }
    g->in[0] = g->out[0] = g->n_taps[0] = 1, g->stride[0] = 1, g->tap[0] = tap; /* one output: any stride will do */
  }
}

/* Pixels would fill at most half of a panel's columns: output channels become the columns instead. */
static bool is_few(const ox_conv_plan *p, const ox_gemm_variant *v) { return p->pixels * 2 <= v->nr; }

bool ox_conv_plan_init(ox_conv_plan *p, const ox_conv_geom *g, const ox_act *act, const ox_conv_variant *v) {
  memset(p, 0, sizeof *p);
  p->g = *g, p->v = v, p->act = *act;
  ox_conv_geom_move_unit_axes(&p->g);
  g = &p->g;
  int64_t taps, total, all[8] = {g->batch, g->groups, g->oc, g->out[0], g->out[1], g->out[2]};
  int64_t in_all[6] = {g->batch, g->groups, g->ic, g->in[0], g->in[1], g->in[2]};
  if (!ox_conv_product_ok(g->n_taps, OX_CONV_AXES, &taps) || !ox_mul_i64_ok(taps, g->ic, &p->k)) return false;
  if (!ox_conv_product_ok(g->out, OX_CONV_AXES, &p->pixels)) return false;
  if (!ox_conv_product_ok(g->in, OX_CONV_AXES, &p->in_pixels)) return false;
  if (!ox_conv_product_ok(in_all, 6, &total) || !ox_conv_product_ok(all, 6, &total)) return false;
  p->n_stages = 1, p->n_tiles[0] = 1;
  if (total == 0) return true; /* OX_CONV_EMPTY */
  if (ox_conv_is_depthwise(g->ic, g->oc) && taps > 0) {
    p->mode = OX_CONV_DEPTHWISE;
    return ox_conv_planes_plan(p);
  }
  const ox_gemm_variant *product = ox_gemm_select(OX_F32, ox_isa_implied(v->needs));
  flatten_pointwise(p);
  p->mode = is_few(p, product) ? OX_CONV_FEW : OX_CONV_PIXELS;
  if (p->mode == OX_CONV_FEW)
    ox_conv_few_plan(p, product);
  else
    ox_conv_pixels_plan(p, product);
  return true;
}

bool ox_conv_plan_max(ox_conv_plan *p, const ox_conv_geom *g, const ox_conv_variant *v) {
  if (!ox_conv_plan_init(p, g, &(ox_act){OX_ACT_NONE, 0, 0}, v)) return false;
  if (p->mode == OX_CONV_DEPTHWISE) p->planes.pool_max = true, p->planes.pad = -__builtin_inff();
  return true;
}

void ox_conv_plan_tables(ox_conv_plan *p, void *memory) {
  if (p->mode == OX_CONV_DEPTHWISE) ox_conv_planes_tables(p, memory);
}

const char *ox_conv_form(const ox_conv_plan *p) {
  switch (p->mode) {
    case OX_CONV_EMPTY:
      return "empty";
    case OX_CONV_DEPTHWISE:
      return p->planes.by_tap ? "depthwise, a plane for each tap" : "depthwise";
    case OX_CONV_FEW:
      return p->few.direct ? "products of few rows, 1x1" : "products of few rows, gathered first";
    case OX_CONV_PIXELS:
      return p->product.shared                          ? "products, gathered first"
             : p->product.gemm.b_mode == OX_GEMM_DIRECT ? "products in place"
                                                        : "products";
  }
  return NULL;
}

void ox_conv_run(const ox_conv_plan *p, const ox_conv_args *a, uint32_t stage, int64_t begin, int64_t end,
                 void *scratch) {
  bool gather = stage + 1 < p->n_stages;
  for (int64_t t = begin; t < end; t++) {
    if (p->mode == OX_CONV_DEPTHWISE)
      ox_conv_planes_tile(p, a, t, scratch);
    else if (p->mode == OX_CONV_PIXELS)
      gather ? ox_conv_pixels_gather(p, a, t) : ox_conv_pixels_tile(p, a, t, scratch);
    else if (p->mode == OX_CONV_FEW)
      gather ? ox_conv_few_gather(p, a, t) : ox_conv_few_tile(p, a, t);
  }
}

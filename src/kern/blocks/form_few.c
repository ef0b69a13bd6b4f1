/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/form_few.c - few outputs, as at the end of networks that produce images or masks: the direct form's
 * tiles with input channels as lanes, so that all lanes are used. Weights: [segment][output][16 channels]; a segment
 * of k channels takes the memory of [k][16]. */
#include <math.h>
#include <string.h>

#include "kern/blocks/bconv_direct.h"

enum { MOST = 8 /* outputs */ };

extern const ox_bconv_form ox_bconv_form_direct, ox_bconv_form_few;

static bool serves(const ox_bconv_task *t) {
  const ox_conv_geom *g = &t->g;
  int64_t last = g->ic % OX_BLOCK;
  return g->groups == 1 && !t->x_plain && g->oc <= MOST && (last == 0 || g->oc <= last);
}

/* One vector load per product; then the lanes of each sum are added. */
static double cost_ns(const ox_bconv_task *t) {
  const ox_conv_geom *g = &t->g;
  const double slower = 1.6, adds = 24; /* adds: the cost of adding the lanes of a sum, in products */
  if (!serves(t) || !(ox_bconv_form_direct.cost_ns(t) < INFINITY)) return INFINITY;
  double sums = (double)g->batch * (double)(g->out[0] * g->out[1]) * (double)g->out[2] * (double)g->oc;
  double products = slower * (double)OX_CEIL_DIV(g->ic, OX_BLOCK) * (double)ox_conv_taps(g) + adds;
  return sums * products * OX_BLOCK / ox_bconv_select(t->isa)->macs_per_ns + 1000;
}

static void pack(const ox_bconv_task *t, float *dst, const float *w, int64_t u0, int64_t u1, const ox_stop *stop) {
  const ox_conv_geom *g = &t->g;
  const ox_f32u *from = (const ox_f32u *)w;
  int64_t taps = ox_conv_taps(g);
  (void)stop;
  if (u0 == u1) return;
  memset(dst, 0, ox_bconv_direct_weight_floats(t) * sizeof *dst);
  for (int64_t o = 0; o < g->oc; o++)
    for (int64_t c = 0; c < g->ic; c++) {
      int64_t block = c / OX_BLOCK * OX_BLOCK, n = OX_MIN(OX_BLOCK, g->ic - block);
      for (int64_t i = 0; i < taps; i++)
        dst[(block * taps + i * n + o) * OX_BLOCK + c - block] = from[(o * g->ic + c) * taps + i];
    }
}

static bool plan(ox_bconv_plan *p) { return ox_bconv_direct_plan_on(p, ox_bconv_select(p->task.isa)->few); }

const ox_bconv_form ox_bconv_form_few = {.name = "direct, few outputs",
                                         .plan_bytes = sizeof(ox_bconv_direct_plan),
                                         .cost_ns = cost_ns,
                                         .weight_floats = ox_bconv_direct_weight_floats,
                                         .weight_units = ox_bconv_direct_weight_units,
                                         .unit_filter = ox_bconv_direct_unit_filter,
                                         .pack = pack,
                                         .plan = plan,
                                         .run = ox_bconv_direct_run};

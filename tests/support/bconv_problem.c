/* SPDX-License-Identifier: Apache-2.0
 * support/bconv_problem.c - see bconv_problem.h. */
#include "support/bconv_problem.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/block_layout.h"
#include "support/conv_sum.h"
#include "support/levels.h"

uint32_t bconv_seed;

uint32_t bconv_next(uint32_t n) { return (test_random(&bconv_seed) >> 8) % n; }

static float *noise(int64_t n) {
  float *p = malloc((size_t)n * sizeof *p + OX_PAD_BYTES);
  for (int64_t i = 0; i < n; i++) p[i] = (float)bconv_next(20001) * 1e-4f - 1.0f;
  return p;
}

static void geometry(bconv_problem *p, const bconv_shape *s, const int64_t more[3]) {
  ox_conv_geom *g = &p->t.g;
  *g = (ox_conv_geom){.batch = s->batch, .groups = s->groups, .ic = s->ic, .oc = s->oc};
  for (int a = 0; a < 3; a++) {
    g->in[a] = s->in[a], g->stride[a] = s->stride[a], g->n_taps[a] = s->kernel[a], g->tap[a] = p->taps[a];
    int64_t room = s->in[a] + 2 * s->pad[a] - (s->kernel[a] - 1) * s->dilation[a] - 1;
    g->out[a] = (room < 0 ? s->in[a] != 0 : room / s->stride[a] + 1) + (more ? more[a] : 0);
    for (int64_t t = 0; t < s->kernel[a]; t++) p->taps[a][t] = t * s->dilation[a] - s->pad[a];
  }
  p->k = g->ic * g->n_taps[0] * g->n_taps[1] * g->n_taps[2];
  p->in_pixels = g->in[0] * g->in[1] * g->in[2], p->pixels = g->out[0] * g->out[1] * g->out[2];
  p->ic = g->groups * g->ic, p->oc = g->groups * g->oc, p->n_y = g->batch * p->oc * p->pixels;
}

void bconv_problem_solve(bconv_problem *p) {
  const ox_conv_geom *g = &p->t.g;
  for (int64_t i = 0; i < p->n_y; i++) {
    int64_t plane = i / p->pixels, at = i % p->pixels;
    int64_t o[3] = {at / g->out[2] / g->out[1], at / g->out[2] % g->out[1], at % g->out[2]};
    p->size[i] = 2;
    double v = conv_sum_at(g, p->x, p->w + plane % p->oc * p->k, plane / g->oc, o, &p->size[i]);
    if (p->bias) v += (double)p->bias[plane % p->oc];
    if (p->z) v += (double)p->z[i];
    if (fabs(v) > (double)FLT_MAX) v = copysign(HUGE_VAL, v); /* as a float, and no factor brings it back */
    if (p->slope && v < 0) v *= (double)p->slope[plane % p->oc];
    p->want[i] = ox_act_f64(p->t.act, v);
  }
}

void bconv_problem_init_more(bconv_problem *p, const bconv_shape *s, const int64_t more[3]) {
  memset(p, 0, sizeof *p);
  geometry(p, s, more);
  p->t.x_plain = s->plain, p->t.alone = bconv_next(2);
  p->x = noise(s->batch * p->ic * p->in_pixels), p->w = noise(p->oc * p->k);
  p->bias = bconv_next(3) ? noise(p->oc) : NULL, p->z = bconv_next(2) ? noise(p->n_y) : NULL;
  p->t.act = (ox_act){bconv_next(OX_ACT_SOFTPLUS + 1), 0.25f, 0.5f};
  p->slope = bconv_next(4) ? NULL : noise(OX_ROUND_UP(p->oc, OX_BLOCK));
  if (p->slope) p->t.act.kind = OX_ACT_NONE;
  if (p->t.act.kind == OX_ACT_THRESHOLDED_RELU) p->t.act.a = -1e9f; /* no sum may lie at its jump */
  p->want = malloc((size_t)p->n_y * sizeof(double) + 1), p->size = malloc((size_t)p->n_y * sizeof(double) + 1);
  bconv_problem_solve(p);
}

void bconv_problem_init(bconv_problem *p, const bconv_shape *s) { bconv_problem_init_more(p, s, NULL); }

void bconv_problem_deinit(bconv_problem *p) {
  free(p->x), free(p->w), free(p->bias), free(p->z), free(p->slope), free(p->want), free(p->size);
}

/* ---- blocks ---- */

int64_t bconv_block_floats(const bconv_problem *p, int64_t channels, int64_t pixels) {
  return p->t.g.batch * OX_CEIL_DIV(channels, OX_BLOCK) * pixels * OX_BLOCK;
}

float *bconv_to_blocks(const bconv_problem *p, const float *from, int64_t channels, int64_t pixels) {
  int64_t n = bconv_block_floats(p, channels, pixels);
  float *to = malloc((size_t)n * sizeof *to + OX_PAD_BYTES);
  memset(to, 0xff, (size_t)n * sizeof *to + OX_PAD_BYTES); /* NaN */
  for (int64_t i = 0; from && i < p->t.g.batch * channels * pixels; i++) to[block_at(i, channels, pixels)] = from[i];
  return to;
}

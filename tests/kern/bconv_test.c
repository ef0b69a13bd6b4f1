/* SPDX-License-Identifier: Apache-2.0
 * kern/bconv_test.c - every form of convolution between tensors in blocks, on every instruction set, against a naive
 * sum in double precision: named shapes that hurt, then seeded random geometries. Lanes past the last channel hold NaN.
 * Tolerance: 4e-6 of the sum of magnitudes; forms that need not be exact, 4e-5. */
#include "support/check.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu_kind.h"
#include "kern/blocks/bconv_direct.h"
#include "kern/blocks/bconv_split.h"
#include "kern/emulated/emulated.h"
#include "support/conv_sum.h"
#include "support/levels.h"

typedef struct shape {
  const char *name;
  bool plain;                    /* X is an image */
  int64_t batch, groups, ic, oc; /* ic, oc: per group */
  int64_t in[3], kernel[3], stride[3], dilation[3], pad[3];
} shape;

#define ONES \
  { 1, 1, 1 }
static const shape shapes[] = {
    {"one", 0, 1, 1, 1, 1, ONES, ONES, ONES, ONES, {0, 0, 0}},
    {"no batch", 0, 0, 1, 16, 16, {1, 3, 4}, {1, 2, 2}, ONES, ONES, {0, 0, 0}},
    {"no outputs", 0, 2, 1, 16, 16, {1, 3, 0}, ONES, ONES, ONES, {0, 0, 0}},
    {"vector", 0, 1, 1, 300, 37, ONES, ONES, ONES, ONES, {0, 0, 0}},
    {"vectors", 0, 3, 1, 300, 37, ONES, ONES, ONES, ONES, {0, 0, 0}},
    {"7x7 pointwise", 0, 1, 1, 70, 100, {1, 7, 7}, ONES, ONES, ONES, {0, 0, 0}},
    {"14x14 pointwise, k in blocks", 0, 1, 1, 1000, 70, {1, 14, 14}, ONES, ONES, ONES, {0, 0, 0}},
    {"pointwise s2", 0, 2, 1, 40, 33, {1, 15, 14}, ONES, {1, 2, 2}, ONES, {0, 0, 0}},
    {"pointwise, padded", 0, 1, 1, 33, 20, {1, 5, 6}, ONES, ONES, ONES, {0, 1, 1}},
    {"pointwise, a block and a half", 0, 2, 1, 23, 24, {1, 9, 37}, ONES, ONES, ONES, {0, 0, 0}},
    {"k in blocks, a block and a bit", 0, 1, 1, 600, 17, {1, 7, 9}, ONES, ONES, ONES, {0, 0, 0}},
    {"3x3, two blocks and a half", 0, 1, 1, 24, 40, {1, 13, 21}, {1, 3, 3}, ONES, ONES, {0, 1, 1}},
    {"large pointwise, a block and a half", 0, 1, 1, 144, 24, {1, 56, 56}, ONES, ONES, ONES, {0, 0, 0}},
    {"large pointwise", 0, 1, 1, 24, 144, {1, 56, 56}, ONES, ONES, ONES, {0, 0, 0}},
    {"7x7, 3x3", 0, 2, 1, 20, 33, {1, 7, 7}, {1, 3, 3}, ONES, ONES, {0, 1, 1}},
    {"7x7, 3x3, all channels", 0, 1, 1, 512, 512, {1, 7, 7}, {1, 3, 3}, ONES, ONES, {0, 1, 1}},
    {"28x28, 3x3", 0, 1, 1, 64, 48, {1, 28, 28}, {1, 3, 3}, ONES, ONES, {0, 1, 1}},
    {"56x56, 3x3 s2", 0, 1, 1, 40, 32, {1, 56, 56}, {1, 3, 3}, {1, 2, 2}, ONES, {0, 1, 1}},
    {"3x3, not padded", 0, 1, 1, 17, 16, {1, 20, 21}, {1, 3, 3}, ONES, ONES, {0, 0, 0}},
    {"even kernel", 0, 1, 1, 32, 32, {1, 13, 12}, {1, 4, 4}, {1, 2, 2}, ONES, {0, 1, 1}},
    {"pads beyond the image", 0, 1, 1, 2, 3, {1, 2, 3}, {1, 2, 2}, ONES, ONES, {0, 9, 7}},
    {"dilation beyond the image", 0, 1, 1, 2, 3, {1, 5, 5}, {1, 3, 3}, ONES, {1, 9, 9}, {0, 9, 9}},
    {"dilated", 0, 1, 1, 32, 32, {1, 33, 33}, {1, 3, 3}, ONES, {1, 6, 6}, {0, 6, 6}},
    {"dilated down alone", 0, 1, 1, 20, 40, {1, 47, 16}, {1, 3, 3}, ONES, {1, 2, 1}, {0, 1, 1}},
    {"dilated as far as it is wide", 0, 2, 1, 16, 33, {1, 12, 9}, {1, 3, 3}, ONES, {1, 8, 9}, {0, 8, 9}},
    {"taps leave the image", 0, 2, 1, 40, 50, {1, 17, 19}, {1, 3, 3}, ONES, {1, 12, 11}, {0, 12, 11}},
    {"only one tap stays", 0, 1, 1, 23, 24, {1, 9, 10}, {1, 3, 3}, ONES, {1, 24, 24}, {0, 24, 24}},
    {"a pixel", 0, 1, 1, 40, 50, {1, 1, 1}, {1, 3, 3}, ONES, ONES, {0, 1, 1}},
    {"two pixels, two images", 0, 2, 1, 33, 35, {1, 1, 2}, {1, 3, 3}, ONES, ONES, {0, 1, 1}},
    {"a pixel of four", 0, 1, 2, 16, 32, {1, 2, 2}, {1, 3, 3}, {1, 2, 2}, ONES, {0, 1, 1}},
    {"a column of three", 0, 1, 1, 20, 40, {1, 3, 1}, {1, 5, 5}, ONES, ONES, {0, 2, 2}},
    {"no tap stays at the edges", 0, 1, 1, 20, 33, {1, 7, 15}, {1, 2, 3}, ONES, {1, 3, 9}, {0, 12, 25}},
    {"taps leave, strides", 0, 1, 1, 700, 20, {1, 20, 31}, {1, 3, 3}, {1, 2, 3}, {1, 12, 14}, {0, 12, 14}},
    {"taps leave, groups and depth", 0, 1, 2, 32, 16, {7, 3, 21}, {3, 1, 5}, ONES, {5, 1, 9}, {5, 0, 18}},
    {"a column", 0, 2, 1, 19, 21, {1, 131, 1}, {1, 5, 1}, {1, 2, 3}, ONES, {0, 2, 0}},
    {"a row, long, dilated", 0, 1, 1, 32, 40, {1, 1, 5000}, {1, 1, 3}, ONES, {1, 1, 64}, {0, 0, 64}},
    {"a row of five taps", 0, 2, 1, 40, 50, {1, 1, 331}, {1, 1, 5}, ONES, ONES, {0, 0, 2}},
    {"columns of three taps s2", 0, 2, 1, 40, 33, {1, 41, 9}, {1, 3, 1}, {1, 2, 1}, ONES, {0, 1, 0}},
    {"columns of seven taps", 0, 1, 1, 24, 33, {1, 17, 17}, {1, 7, 1}, ONES, ONES, {0, 3, 0}},
    {"rows of seven taps, groups", 0, 1, 2, 32, 48, {1, 9, 29}, {1, 1, 7}, ONES, {1, 1, 2}, {0, 0, 6}},
    {"lines through depth", 0, 1, 1, 20, 16, {19, 3, 5}, {4, 1, 1}, ONES, ONES, {2, 0, 0}},
    {"a row of eleven taps, dilated", 0, 2, 1, 33, 40, {1, 1, 500}, {1, 1, 11}, ONES, {1, 1, 5}, {0, 0, 25}},
    {"a row of sixty taps, groups", 0, 1, 2, 48, 48, {1, 1, 77}, {1, 1, 60}, ONES, ONES, {0, 0, 30}},
    {"taps far apart", 0, 1, 1, 16, 16, {1, 1, 9000}, {1, 1, 3}, ONES, {1, 1, 4000}, {0, 0, 4000}},
    {"depth only", 0, 1, 1, 5, 6, {67, 1, 1}, {3, 1, 1}, ONES, {2, 1, 1}, {2, 0, 0}},
    {"3-D", 0, 1, 1, 20, 18, {6, 7, 9}, {3, 2, 3}, {2, 1, 1}, {1, 2, 1}, {1, 1, 1}},
    {"groups of blocks", 0, 2, 3, 32, 16, {1, 11, 17}, {1, 3, 3}, {1, 2, 1}, {1, 1, 2}, {0, 1, 2}},
    {"groups of four", 0, 2, 32, 4, 4, {1, 9, 9}, {1, 3, 3}, ONES, ONES, {0, 1, 1}},
    {"groups of eight", 0, 1, 5, 8, 8, {1, 9, 9}, {1, 3, 3}, {1, 2, 2}, ONES, {0, 1, 1}},
    {"groups of two to eight", 0, 2, 7, 2, 8, {1, 9, 30}, {1, 3, 5}, {1, 1, 2}, {1, 2, 3}, {0, 2, 4}},
    {"groups of one to four", 0, 1, 9, 1, 4, {3, 9, 9}, {1, 3, 3}, ONES, ONES, {0, 1, 1}},
    {"groups of eight to sixteen", 0, 1, 3, 8, 16, {1, 60, 61}, {1, 3, 3}, ONES, ONES, {0, 1, 1}},
    {"groups of four, pointwise s2", 0, 1, 10, 4, 4, {1, 12, 11}, ONES, {1, 2, 2}, ONES, {0, 0, 0}},
    {"groups of four, taps beyond the image", 0, 1, 10, 4, 4, {1, 3, 3}, {1, 3, 3}, ONES, {1, 7, 7}, {0, 7, 7}},
    {"depthwise", 0, 2, 50, 1, 1, {1, 15, 33}, {1, 3, 3}, ONES, ONES, {0, 1, 1}},
    {"depthwise s2", 0, 1, 9, 1, 1, {1, 30, 31}, {1, 5, 5}, {1, 2, 2}, ONES, {0, 2, 2}},
    {"depthwise, cut once", 0, 1, 1040, 1, 1, {1, 9, 14}, {1, 3, 3}, ONES, ONES, {0, 1, 1}},
    {"three outputs", 0, 2, 1, 64, 3, {1, 30, 37}, {1, 3, 3}, ONES, ONES, {0, 1, 1}},
    {"one output, a block and a half", 0, 1, 1, 24, 1, {1, 19, 70}, {1, 5, 5}, ONES, ONES, {0, 2, 2}},
    {"one output, s2, dilated", 0, 1, 1, 33, 1, {1, 40, 71}, {1, 3, 3}, {1, 2, 2}, {1, 2, 3}, {0, 2, 3}},
    {"eight outputs, a row", 0, 2, 1, 72, 8, {1, 1, 900}, {1, 1, 3}, ONES, {1, 1, 40}, {0, 0, 40}},
    {"pointwise, two pairs of panels", 0, 2, 1, 96, 128, {1, 7, 7}, ONES, ONES, ONES, {0, 0, 0}},
    {"pointwise, an even number of pixels", 0, 1, 1, 64, 128, {1, 10, 12}, ONES, ONES, ONES, {0, 0, 0}},
    {"pointwise, three pairs of pairs of panels", 0, 1, 1, 96, 192, {1, 7, 7}, ONES, ONES, ONES, {0, 0, 0}},
    {"pointwise s2, five of them, stretches of k", 0, 1, 1, 1600, 320, {1, 14, 13}, ONES, {1, 2, 1}, ONES, {0, 0, 0}},
    {"pointwise, stretches of k", 0, 1, 1, 1600, 64, {1, 9, 19}, ONES, ONES, ONES, {0, 0, 0}},
    {"pointwise s2, whole blocks", 0, 2, 1, 32, 64, {1, 27, 32}, ONES, {1, 2, 3}, ONES, {0, 0, 0}},
    {"pointwise, a block without a partner", 0, 2, 1, 80, 128, {1, 9, 9}, ONES, ONES, ONES, {0, 0, 0}},
    {"pointwise, a block and panels left", 0, 1, 1, 112, 176, {1, 14, 14}, ONES, ONES, ONES, {0, 0, 0}},
    {"pointwise, one panel left", 0, 1, 1, 64, 80, {1, 7, 7}, ONES, ONES, ONES, {0, 0, 0}},
    {"pointwise, stretches of k, a block left", 0, 1, 1, 1616, 144, {1, 7, 9}, ONES, ONES, ONES, {0, 0, 0}},
    {"many images", 0, 19, 1, 64, 100, {1, 7, 7}, {1, 3, 3}, ONES, ONES, {0, 1, 1}},
    {"many images, k in blocks", 0, 9, 1, 330, 70, {1, 7, 7}, ONES, ONES, ONES, {0, 0, 0}},
    {"image, only its borders copied", 1, 2, 1, 3, 16, {1, 21, 251}, {1, 3, 3}, {1, 2, 2}, ONES, {0, 1, 1}},
    {"image, wide borders", 1, 1, 1, 2, 9, {1, 23, 260}, {1, 3, 3}, {1, 3, 2}, {1, 2, 2}, {0, 3, 3}},
    {"blocks, only borders copied", 0, 1, 1, 20, 32, {1, 13, 190}, {1, 3, 3}, {1, 2, 2}, ONES, {0, 1, 1}},
    {"rows in pieces", 0, 1, 1, 33, 40, {1, 3, 900}, {1, 2, 3}, ONES, ONES, {0, 0, 1}},
    {"k in blocks, 3x3 s2", 0, 2, 1, 300, 48, {1, 15, 15}, {1, 3, 3}, {1, 2, 2}, ONES, {0, 1, 1}},
    {"image, 7x7 s2", 1, 2, 1, 3, 64, {1, 57, 61}, {1, 7, 7}, {1, 2, 2}, ONES, {0, 3, 3}},
    {"image, 3x3 s2", 1, 1, 1, 3, 32, {1, 64, 64}, {1, 3, 3}, {1, 2, 2}, ONES, {0, 1, 1}},
    {"image, 3x3 s2, a row of whole strips", 1, 2, 1, 3, 16, {1, 9, 55}, {1, 3, 3}, {1, 2, 2}, ONES, {0, 1, 1}},
    {"image, 3x3 s2, half strips", 1, 1, 1, 4, 9, {1, 8, 57}, {1, 3, 3}, {1, 1, 2}, ONES, {0, 0, 1}},
    {"image, 3x3 s2, short strips", 1, 2, 1, 3, 64, {1, 9, 17}, {1, 3, 3}, {1, 2, 2}, ONES, {0, 1, 1}},
    {"image, 3x3 s2, a third panel", 1, 1, 1, 2, 40, {1, 7, 43}, {1, 3, 3}, {1, 2, 2}, ONES, {0, 1, 1}},
    {"image, one row of three taps", 1, 1, 1, 1, 5, {1, 1, 403}, {1, 1, 3}, {1, 1, 2}, ONES, {0, 0, 2}},
    {"image, one channel", 1, 1, 1, 1, 16, {1, 28, 28}, {1, 5, 5}, ONES, ONES, {0, 2, 2}},
    {"image, dilated", 1, 1, 1, 4, 16, {1, 28, 29}, {1, 3, 3}, ONES, {1, 2, 3}, {0, 2, 3}},
    {"image in patches", 1, 1, 1, 3, 48, {1, 64, 64}, {1, 16, 16}, {1, 16, 16}, ONES, {0, 0, 0}},
    {"sound", 1, 1, 1, 1, 32, {1, 1, 4000}, {1, 1, 10}, {1, 1, 5}, ONES, {0, 0, 0}},
    {"volume", 1, 1, 1, 2, 17, {9, 10, 11}, {3, 3, 3}, {1, 2, 1}, ONES, {1, 1, 1}},
};

static uint32_t seed;
static uint32_t next(uint32_t n) { return (test_random(&seed) >> 8) % n; }
static float *noise(int64_t n) {
  float *p = malloc((size_t)n * sizeof *p + OX_PAD_BYTES);
  for (int64_t i = 0; i < n; i++) p[i] = (float)next(20001) * 1e-4f - 1.0f;
  return p;
}

typedef struct problem {
  ox_bconv_task t;
  int64_t taps[3][64];
  int64_t k, in_pixels, pixels, ic, oc, n_y; /* ic, oc: of all groups */
  float *x, *w, *bias, *z;                   /* as ONNX has them */
  float *slope;                              /* to the end of the last block */
  double *want, *size;                       /* size: the sum of magnitudes */
} problem;

/* |more|: outputs of each axis that pads at its end add; NULL: none. */
static void geometry(problem *p, const shape *s, const int64_t more[3]) {
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

static void solve(problem *p) {
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

static void problem_init_more(problem *p, const shape *s, const int64_t more[3]) {
  memset(p, 0, sizeof *p);
  geometry(p, s, more);
  p->t.x_plain = s->plain, p->t.alone = next(2);
  p->x = noise(s->batch * p->ic * p->in_pixels), p->w = noise(p->oc * p->k);
  p->bias = next(3) ? noise(p->oc) : NULL, p->z = next(2) ? noise(p->n_y) : NULL;
  p->t.act = (ox_act){next(OX_ACT_SOFTPLUS + 1), 0.25f, 0.5f};
  p->slope = next(4) ? NULL : noise(OX_ROUND_UP(p->oc, OX_BLOCK));
  if (p->slope) p->t.act.kind = OX_ACT_NONE;
  if (p->t.act.kind == OX_ACT_THRESHOLDED_RELU) p->t.act.a = -1e9f; /* no sum may lie at its jump */
  p->want = malloc((size_t)p->n_y * sizeof(double) + 1), p->size = malloc((size_t)p->n_y * sizeof(double) + 1);
  solve(p);
}

static void problem_init(problem *p, const shape *s) { problem_init_more(p, s, NULL); }

static void problem_deinit(problem *p) {
  free(p->x), free(p->w), free(p->bias), free(p->z), free(p->slope), free(p->want), free(p->size);
}

/* ---- blocks ---- */

static int64_t block_floats(const problem *p, int64_t channels, int64_t pixels) {
  return p->t.g.batch * OX_CEIL_DIV(channels, OX_BLOCK) * pixels * OX_BLOCK;
}

/* Where element (image, channel, pixel) lies in blocks. */
static int64_t block_at(int64_t i, int64_t channels, int64_t pixels) {
  int64_t px = i % pixels, c = i / pixels % channels, image = i / pixels / channels;
  return ((image * OX_CEIL_DIV(channels, OX_BLOCK) + c / OX_BLOCK) * pixels + px) * OX_BLOCK + c % OX_BLOCK;
}

static float *to_blocks(const problem *p, const float *from, int64_t channels, int64_t pixels) {
  int64_t n = block_floats(p, channels, pixels);
  float *to = malloc((size_t)n * sizeof *to + OX_PAD_BYTES);
  memset(to, 0xff, (size_t)n * sizeof *to + OX_PAD_BYTES); /* NaN */
  for (int64_t i = 0; from && i < p->t.g.batch * channels * pixels; i++) to[block_at(i, channels, pixels)] = from[i];
  return to;
}

static bool is_as(double got, double want, double tolerance) {
  if (isnan(want)) return isnan(got);
  return got == want || fabs(got - want) <= tolerance;
}

/* A unit sees its own filters only, at any address. */
static void pack_unit(const ox_bconv_form *f, const problem *p, float *packed, int64_t u) {
  int64_t filter = p->t.g.ic * ox_conv_taps(&p->t.g), first = f->unit_filter(&p->t, u),
          end = f->unit_filter(&p->t, u + 1);
  size_t bytes = (size_t)((end - first) * filter) * sizeof(float);
  char *own = malloc(bytes + 2);
  memcpy(own + u % 2, p->w + first * filter, bytes);
  f->pack(&p->t, packed, (const float *)(own + u % 2), u, u + 1, NULL);
  free(own);
}

static void read_filters(const void *ctx, int64_t first, int64_t n, float *to) {
  memcpy(to, ((const problem *)ctx)->w + first, (size_t)n * sizeof *to);
}

/* One to three tiles at a time, last first: the order must not matter. */
static void run_backwards(const ox_bconv_plan *plan, const ox_conv_args *a, char *scratch) {
  for (uint32_t s = 0; s < plan->n_stages; s++)
    for (int64_t end = plan->n_tiles[s], begin; end > 0; end = begin) {
      begin = OX_MAX(end - 1 - end % 3, 0);
      plan->form->run(plan, a, s, begin, end, scratch);
    }
}

/* The same in order, so that a call may go on with what the one before has left. */
static void run_forwards(const ox_bconv_plan *plan, const ox_conv_args *a, char *scratch) {
  for (uint32_t s = 0; s < plan->n_stages; s++)
    for (int64_t begin = 0, end; begin < plan->n_tiles[s]; begin = end) {
      end = OX_MIN(begin + 1 + begin % 3, plan->n_tiles[s]);
      plan->form->run(plan, a, s, begin, end, scratch);
    }
}

/* With Y in the place of |z| the bits are those of |a|. */
static void check_in_place(const ox_bconv_plan *plan, const ox_conv_args *a, const problem *p, float *z, char *scratch,
                           const char *name) {
  ox_conv_args b = *a;
  b.y = z;
  run_forwards(plan, &b, scratch);
  for (int64_t i = 0; i < p->n_y; i++) {
    int64_t at = block_at(i, p->oc, p->pixels);
    if (memcmp(&z[at], &a->y[at], sizeof *z) != 0)
      fail_msg("%s, shape %s: [%lld] is %g in place, else %g", plan->form->name, name, (long long)i, (double)z[at],
               (double)a->y[at]);
  }
}

/* Nothing is written past the end of Y. */
static void check_form(const problem *p, const ox_bconv_form *f, const char *isa, const char *name) {
  double tolerance = p->t.isa & OX_PRECISION_BF16   ? 0x1p-7
                     : p->t.isa & OX_PRECISION_TF32 ? 0x1p-14
                     : p->t.exact                   ? 4e-6
                                                    : 4e-5;
  ox_bconv_plan *plan = calloc(1, f->plan_bytes);
  plan->form = f, plan->task = p->t;
  if (!f->plan(plan)) fail_msg("%s: no plan", name);
  char *scratch = malloc(plan->scratch_bytes + OX_PAD_BYTES), *shared = malloc(plan->shared_bytes + OX_PAD_BYTES);
  memset(scratch, 0xff, plan->scratch_bytes + OX_PAD_BYTES), memset(shared, 0xff, plan->shared_bytes + OX_PAD_BYTES);
  float *x = p->t.x_plain ? p->x : to_blocks(p, p->x, p->ic, p->in_pixels), *y = to_blocks(p, NULL, p->oc, p->pixels);
  float *z = to_blocks(p, p->z, p->oc, p->pixels);
  size_t floats = f->weight_floats(&p->t);
  float *packed = malloc(floats * sizeof *packed + OX_PAD_BYTES);
  for (int64_t u = floats ? f->weight_units(&p->t) : 0; u-- > 0;) pack_unit(f, p, packed, u);
  ox_conv_args a = {.x = x,
                    .w = floats ? packed : p->w,
                    .bias = p->bias,
                    .z = p->z ? z : NULL,
                    .y = y,
                    .shared = shared,
                    .slope = p->slope};
  if (p->t.reads_w) a.filters = read_filters, a.filters_ctx = p;
  run_backwards(plan, &a, scratch);
  for (int64_t i = 0; i < p->n_y; i++) {
    double got = (double)y[block_at(i, p->oc, p->pixels)];
    if (!is_as(got, p->want[i], tolerance * p->size[i]))
      fail_msg("%s on %s, shape %s, activation %u: [%lld] is %g, wanted %g", f->name, isa, name, p->t.act.kind,
               (long long)i, got, p->want[i]);
  }
  for (int i = 0; i < OX_PAD_BYTES; i++)
    assert_int_equal(((unsigned char *)(y + block_floats(p, p->oc, p->pixels)))[i], 0xff);
  if (p->z) check_in_place(plan, &a, p, z, scratch, name);
  if (x != p->x) free(x);
  free(z), free(y), free(packed), free(scratch), free(shared), free(plan);
}

/* All forms that serve, on all instruction sets, the direct one as if AVX-512 went in halves, too; those that serve
 * exact tasks are held to it. */
static int check_forms(problem *p, const char *name) {
  extern const ox_bconv_form ox_bconv_form_direct;
  size_t n_forms;
  const ox_bconv_form *const *forms = ox_bconv_forms(&n_forms);
  int served = 0;
  for (size_t l = 0; level_next(&l); l++)
    for (size_t i = 0; i < n_forms; i++) {
      p->t.isa = test_levels[l].have, p->t.exact = true;
      if (!(forms[i]->cost_ns(&p->t) < INFINITY)) p->t.exact = false;
      if (!(forms[i]->cost_ns(&p->t) < INFINITY)) continue;
      served++;
      for (int way = 0; way < 3; way++) {
        p->t.reads_w = way == 1;
        if (way == 2 && (forms[i] != &ox_bconv_form_direct || !(p->t.isa & OX_AVX512))) continue;
        if (way == 2) p->t.isa |= OX_AVX512_HALVES;
        check_form(p, forms[i], test_levels[l].name, name);
      }
      p->t.reads_w = false;
    }
  return served;
}

/* The form on a matrix unit, emulated, at so many of its precisions. */
#define EMULATED_PLAN(suffix, needs) \
  static bool plan_##suffix(ox_bconv_plan *p) { return ox_bconv_split_plan_on(p, &ox_split_kernels__##suffix); }
EMULATED(EMULATED_PLAN)

static void check_split(problem *p, const char *name, size_t n_precisions) {
#define EMULATED_ROW(suffix, needs) {needs, #suffix, plan_##suffix},
  static const struct {
    ox_isa needs;
    const char *isa;
    bool (*plan)(ox_bconv_plan *p);
  } rows[] = {EMULATED(EMULATED_ROW)};
  static const ox_isa precisions[] = {0, OX_PRECISION_TF32, OX_PRECISION_BF16};
  extern const ox_bconv_form ox_bconv_form_split;
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    ox_bconv_form f = ox_bconv_form_split;
    f.plan = rows[i].plan, p->t.exact = true;
    for (size_t j = 0; j < n_precisions && !(rows[i].needs & ~ox_isa_host()); j++) {
      ox_bconv_split_plan probe = {.head.task = p->t};
      p->t.isa = precisions[j];
      if (f.plan(&probe.head)) check_form(p, &f, rows[i].isa, name);
    }
  }
}

static void test_shapes_that_hurt(void **state) {
  (void)state;
  seed = 7;
  for (size_t i = 0; i < OX_COUNT(shapes); i++) {
    problem p;
    problem_init(&p, &shapes[i]);
    int served = check_forms(&p, shapes[i].name);
    if (served == 0) fail_msg("no form serves %s", shapes[i].name);
    check_split(&p, shapes[i].name, 3);
    problem_deinit(&p);
  }
}

static void test_pads_at_the_end(void **state) {
  (void)state;
  static const int64_t more[][3] = {{2, 0, 0}, {0, 3, 0}, {0, 0, 5}, {1, 1, 1}};
  seed = 9;
  for (size_t i = 0; i < OX_COUNT(shapes); i++)
    for (size_t k = 0; k < OX_COUNT(more); k++) {
      problem p;
      problem_init_more(&p, &shapes[i], more[k]);
      bool small = p.n_y * p.k < 1 << 18;
      if (small) check_forms(&p, shapes[i].name);
      if (small) check_split(&p, shapes[i].name, 1);
      problem_deinit(&p);
    }
}

static shape random_shape(void) {
  int axes = 1 + (int)next(3);
  shape s = {.name = "random", .plain = next(4) == 0, .batch = 1 + next(2), .groups = 1};
  s.ic = 1 + next(s.plain ? 4 : next(3) ? 40 : 200), s.oc = 1 + next(next(3) ? 40 : 120);
  if (!s.plain && next(4) == 0) s.groups = 1 + next(4), s.ic = s.oc = next(2) ? 16 * (1 + next(3)) : 1u << next(4);
  for (int a = 0; a < 3; a++) {
    bool dead = a < 3 - axes;
    s.in[a] = dead ? 1 : 1 + next(axes == 1 ? 200 : axes == 2 ? 24 : 8);
    s.kernel[a] = dead || next(3) == 0 ? 1 : 1 + next(4);
    s.stride[a] = dead || next(2) ? 1 : 1 + next(3);
    s.dilation[a] = dead ? 1 : 1 + next(3);
    s.pad[a] = dead || next(2) ? 0 : next(5);
  }
  return s;
}

static void test_random_shapes(void **state) {
  (void)state;
  seed = 11;
  for (int i = 0; i < 300; i++) {
    shape s = random_shape();
    problem p;
    problem_init(&p, &s);
    check_forms(&p, s.name);
    check_split(&p, s.name, 1);
    problem_deinit(&p);
  }
}

/* Single elements of input and weights that no sum of terms may get wrong: NaN and infinities come out where they do
 * in float64, in no other element. */
static void test_extremes(void **state) {
  (void)state;
  static const shape square[] = {{"extremes", 0, 1, 1, 40, 35, {1, 9, 9}, {1, 3, 3}, ONES, ONES, {0, 1, 1}},
                                 {"in groups", 0, 1, 10, 4, 4, {1, 9, 9}, {1, 3, 3}, ONES, ONES, {0, 1, 1}},
                                 {"depthwise", 0, 1, 40, 1, 1, {1, 9, 9}, {1, 3, 3}, ONES, ONES, {0, 1, 1}},
                                 {"pointwise", 0, 1, 1, 40, 35, {1, 9, 9}, ONES, ONES, ONES, {0, 0, 0}},
                                 {"pointwise, whole pairs", 0, 1, 1, 64, 64, {1, 9, 9}, ONES, ONES, ONES, {0, 0, 0}},
                                 {"pointwise, a block left", 0, 1, 1, 48, 80, {1, 9, 9}, ONES, ONES, ONES, {0, 0, 0}},
                                 {"image", 1, 1, 1, 40, 35, {1, 9, 9}, {1, 3, 3}, ONES, ONES, {0, 1, 1}}};
  static const float values[][2] = {{INFINITY, 0.5f}, {INFINITY, INFINITY}, {INFINITY, -INFINITY},
                                    {NAN, 1},         {FLT_MAX, 1},         {1e-40f, -1e-45f},
                                    {-0.0f, 0}};
  static const float weights[] = {0.5f, 0, 0x1p-149f, INFINITY, NAN, FLT_MAX};
  seed = 13;
  for (size_t s = 0; s < OX_COUNT(square); s++)
    for (size_t v = 0; v < OX_COUNT(values); v++)
      for (size_t w = 0; w < OX_COUNT(weights); w++) {
        problem p;
        problem_init(&p, &square[s]);
        p.x[(37 * 9 + 4) * 9 + 4] = values[v][0], p.x[(37 * 9 + 4) * 9 + 5] = values[v][1];
        int64_t taps = p.k / p.t.g.ic, channel = 37 % p.t.g.ic; /* the tap that reads no padding */
        p.w[21 * p.k + channel * taps + taps / 2] = weights[w], p.t.act.kind = OX_ACT_NONE;
        solve(&p);
        p.t.exact = true;
        check_forms(&p, square[s].name);
        check_split(&p, square[s].name, 1);
        problem_deinit(&p);
      }
}

/* Lines and lanes times factors, on each instruction set; what lies behind stays. */
static void test_scales(void **state) {
  (void)state;
  enum { LINES = 5, ALL = LINES * OX_BLOCK };
  for (size_t l = 0; level_next(&l); l++) {
    const ox_bconv_variant *v = ox_bconv_select(test_levels[l].have);
    float from[ALL], by[OX_BLOCK], to[2][ALL + 1];
    for (int i = 0; i < ALL; i++) from[i] = (float)(i % 37) - 18.5f;
    for (int i = 0; i < OX_BLOCK; i++) by[i] = 0.25f * (float)(i - 3);
    by[1] = NAN, from[7] = INFINITY, from[3 * OX_BLOCK + 2] = -NAN, to[0][ALL] = to[1][ALL] = 7;
    v->scale_lines(to[0], from, by, LINES), v->scale_lanes(to[1], from, by, LINES);
    for (int i = 0; i < ALL; i++) {
      float want[2] = {from[i] * by[i / OX_BLOCK], from[i] * by[i % OX_BLOCK]};
      for (int k = 0; k < 2; k++)
        if (isnan(want[k]) ? !isnan(to[k][i]) : to[k][i] != want[k])
          fail_msg("%s: %s [%d] is %g, wanted %g", v->name, k ? "lanes" : "lines", i, (double)to[k][i],
                   (double)want[k]);
    }
    assert_true(to[0][ALL] == 7 && to[1][ALL] == 7);
  }
}

/* Two threads share the tiles of layers of MobileNet, EfficientNet and a TCN evenly. */
static void test_even_tiles(void **state) {
  (void)state;
  extern const ox_bconv_form ox_bconv_form_direct, ox_bconv_form_strassen;
  static const ox_bconv_form *const forms[] = {&ox_bconv_form_direct, &ox_bconv_form_strassen};
  static const shape odd[] = {{"a stem", 1, 1, 1, 3, 32, {1, 224, 224}, {1, 3, 3}, {1, 2, 2}, ONES, {0, 1, 1}},
                              {"14x14", 0, 1, 1, 80, 480, {1, 14, 14}, ONES, ONES, ONES, {0, 0, 0}},
                              {"7x7", 0, 1, 1, 576, 160, {1, 7, 7}, ONES, ONES, ONES, {0, 0, 0}},
                              {"7x7, three bands", 0, 1, 1, 672, 192, {1, 7, 7}, ONES, ONES, ONES, {0, 0, 0}},
                              {"a row", 0, 1, 1, 64, 256, {1, 1, 1000}, ONES, ONES, ONES, {0, 0, 0}}};
  for (size_t i = 0; i < OX_COUNT(odd); i++) {
    problem p;
    problem_init(&p, &odd[i]);
    for (size_t l = 0; level_next(&l); l++)
      for (size_t f = 0; f < OX_COUNT(forms); f++) {
        p.t.isa = test_levels[l].have, p.t.exact = false;
        if (!(forms[f]->cost_ns(&p.t) < INFINITY)) continue;
        ox_bconv_plan *plan = calloc(1, forms[f]->plan_bytes);
        plan->form = forms[f], plan->task = p.t;
        assert_true(forms[f]->plan(plan));
        int64_t n = plan->n_tiles[plan->n_stages - 1];
        if (n % 2) fail_msg("%s, %s, %s: %lld tiles", odd[i].name, forms[f]->name, test_levels[l].name, (long long)n);
        free(plan);
      }
    problem_deinit(&p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_shapes_that_hurt), cmocka_unit_test(test_pads_at_the_end),
      cmocka_unit_test(test_random_shapes),    cmocka_unit_test(test_extremes),
      cmocka_unit_test(test_scales),           cmocka_unit_test(test_even_tiles),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 * kern/bottleneck_test.c - convolutions some rows at a time against the forms one after the other, bit for bit, on
 * every instruction set: named shapes at the edges, then seeded random ones. The forms themselves: kern/bconv_test.c. */
#include "support/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kern/blocks/bottleneck.h"

typedef struct shape {
  const char *name;
  int64_t batch, ic, mid, oc; /* ic, oc 0: no expand, no project */
  int64_t in[2], kernel[2], stride[2], dilation[2], pad[2];
} shape;

#define ONES \
  { 1, 1 }
static const shape shapes[] = {
    {"one pixel", 1, 1, 1, 1, ONES, ONES, ONES, ONES, {0, 0}},
    {"no batch", 0, 16, 32, 16, {8, 8}, {3, 3}, ONES, ONES, {1, 1}},
    {"channels that fill no block", 2, 5, 19, 7, {9, 8}, {3, 3}, ONES, ONES, {1, 1}},
    {"s2, odd", 1, 16, 33, 24, {15, 13}, {3, 3}, {2, 2}, ONES, {1, 1}},
    {"5x5", 2, 24, 40, 24, {12, 12}, {5, 5}, ONES, ONES, {2, 2}},
    {"5x5s2", 1, 24, 40, 40, {14, 14}, {5, 5}, {2, 2}, ONES, {2, 2}},
    {"no expand", 1, 0, 48, 20, {20, 20}, {3, 3}, ONES, ONES, {1, 1}},
    {"no project", 2, 20, 48, 0, {20, 20}, {3, 3}, {2, 2}, ONES, {1, 1}},
    {"many steps", 1, 24, 144, 24, {56, 56}, {3, 3}, ONES, ONES, {1, 1}},
    {"many steps, s2", 1, 16, 96, 24, {112, 112}, {3, 3}, {2, 2}, ONES, {1, 1}},
    {"one row does not fit", 1, 8, 700, 8, {4, 300}, {3, 3}, ONES, ONES, {1, 1}},
    {"rows that nobody reads", 1, 8, 32, 8, {17, 9}, {2, 2}, {4, 3}, ONES, {0, 0}},
    {"dilated", 1, 8, 32, 8, {17, 9}, {3, 3}, ONES, {3, 2}, {3, 2}},
    {"pads beyond the image", 1, 8, 32, 8, {3, 4}, {3, 3}, ONES, ONES, {6, 5}},
    {"project to two blocks and a half", 1, 24, 40, 40, {20, 20}, {3, 3}, ONES, ONES, {1, 1}},
    {"5x5, ends share a tile", 1, 20, 24, 8, {28, 9}, {5, 5}, ONES, ONES, {2, 2}},
    {"5x5, ends share half a tile", 3, 8, 24, 0, {26, 9}, {5, 5}, ONES, ONES, {2, 2}},
    {"one axis", 1, 30, 60, 20, {1, 90}, {1, 5}, ONES, ONES, {0, 2}},
};

static uint32_t seed = 1;
static uint32_t next(uint32_t n) {
  seed = seed * 1664525u + 1013904223u;
  return (seed >> 8) % n;
}
static float *noise(int64_t n) {
  float *p = malloc((size_t)n * sizeof *p + OX_PAD_BYTES);
  for (int64_t i = 0; i < n; i++) p[i] = (float)next(20001) * 1e-4f - 1.0f;
  return p;
}
static int64_t floats_of(int64_t batch, int64_t channels, const int64_t *pixels) {
  return batch * OX_ROUND_UP(channels, 16) * pixels[0] * pixels[1] * pixels[2];
}

static const int64_t zero[1] = {0};

static ox_conv_geom pointwise(const shape *s, int64_t ic, int64_t oc, const int64_t *pixels) {
  ox_conv_geom g = {.batch = s->batch, .groups = 1, .ic = ic, .oc = oc};
  for (int i = 0; i < 3; i++) g.in[i] = g.out[i] = pixels[i], g.stride[i] = g.n_taps[i] = 1, g.tap[i] = zero;
  return g;
}

static ox_conv_geom depthwise(const shape *s, int64_t taps[2][16]) {
  ox_conv_geom g = {.batch = s->batch,
                    .groups = s->mid,
                    .ic = 1,
                    .oc = 1,
                    .in = {1},
                    .out = {1},
                    .stride = {1},
                    .n_taps = {1},
                    .tap = {zero}};
  for (int i = 0; i < 2; i++) {
    int64_t room = s->in[i] + 2 * s->pad[i] - (s->kernel[i] - 1) * s->dilation[i] - 1;
    g.in[i + 1] = s->in[i], g.out[i + 1] = room / s->stride[i] + 1, g.stride[i + 1] = s->stride[i];
    for (int64_t t = 0; t < s->kernel[i]; t++) taps[i][t] = t * s->dilation[i] - s->pad[i];
    g.n_taps[i + 1] = s->kernel[i], g.tap[i + 1] = taps[i];
  }
  return g;
}

/* All tiles of the form itself, from x to y. */
static void run_form(const ox_bconv_form *f, const ox_bconv_task *t, const ox_conv_args *a) {
  ox_bconv_plan *p = calloc(1, f->plan_bytes);
  p->form = f, p->task = *t;
  assert_true(f->plan(p));
  void *scratch = aligned_alloc(64, OX_ROUND_UP(p->scratch_bytes, 64) + 64);
  f->run(p, a, 0, 0, p->n_tiles[0], scratch);
  free(p), free(scratch);
}

typedef struct problem {
  ox_bottleneck_task t;
  ox_bottleneck_args a;
  float *w[3], *bias[3], *x, *z, *y, *want;
  int64_t n_y;
} problem;

static void solve(problem *p) {
  const float *x = p->x;
  float *made[3] = {0};
  for (int i = 0; i < 3; i++) {
    if (!p->t.has[i]) continue;
    const ox_conv_geom *g = &p->t.part[i].g;
    made[i] = malloc((size_t)floats_of(g->batch, g->groups * g->oc, g->out) * sizeof(float) + OX_PAD_BYTES);
    ox_conv_args a = {.x = x, .w = p->w[i], .bias = p->bias[i], .z = i == OX_PROJECT ? p->z : NULL, .y = made[i]};
    run_form(ox_bottleneck_form(i), &p->t.part[i], &a);
    x = made[i];
  }
  p->want = made[2] ? made[2] : made[1];
  free(made[0]);
  if (made[2]) free(made[1]);
}

static void problem_init(problem *p, const shape *s, ox_isa isa, int64_t taps[2][16]) {
  static const uint32_t acts[] = {OX_ACT_NONE, OX_ACT_RELU, OX_ACT_CLIP, OX_ACT_SILU, OX_ACT_HARD_SWISH};
  memset(p, 0, sizeof *p);
  ox_conv_geom d = depthwise(s, taps),
               parts[3] = {pointwise(s, s->ic, s->mid, d.in), d, pointwise(s, s->mid, s->oc, d.out)};
  for (int i = 0; i < 3; i++) {
    ox_bconv_task *t = &p->t.part[i];
    *t = (ox_bconv_task){.isa = isa, .g = parts[i], .act = {acts[next(OX_COUNT(acts))], -0.25f, 0.5f}};
    p->t.has[i] = i == OX_DEPTHWISE || (i == OX_EXPAND ? s->ic : s->oc) > 0;
    if (!p->t.has[i]) continue;
    const ox_conv_geom *g = &t->g;
    const ox_bconv_form *f = ox_bottleneck_form(i);
    float *plain = noise(g->groups * g->oc * g->ic * g->n_taps[1] * g->n_taps[2]);
    p->w[i] = malloc(f->weight_floats(t) * sizeof(float) + OX_PAD_BYTES);
    f->pack(t, p->w[i], plain, 0, f->weight_units(t), NULL);
    p->bias[i] = next(3) ? noise(g->groups * g->oc) : NULL;
    p->a.w[i] = p->w[i], p->a.bias[i] = p->bias[i];
    free(plain);
  }
  const ox_conv_geom *first = &parts[p->t.has[0] ? 0 : 1], *last = &parts[p->t.has[2] ? 2 : 1];
  p->n_y = floats_of(s->batch, last->groups * last->oc, last->out);
  p->x = noise(floats_of(s->batch, first->groups * first->ic, first->in));
  p->z = p->t.has[2] && next(2) ? noise(p->n_y) : NULL;
  p->y = malloc((size_t)p->n_y * sizeof(float) + OX_PAD_BYTES);
  p->a.x = p->x, p->a.z = p->z, p->a.y = p->y;
  solve(p);
}

static void problem_deinit(problem *p) {
  for (int i = 0; i < 3; i++) free(p->w[i]), free(p->bias[i]);
  free(p->x), free(p->z), free(p->y), free(p->want);
}

/* Each plane's sums of tiles add up to that of its outputs. */
static void check_sums(const problem *p, const ox_bottleneck_plan *plan, const float *sums, const char *name) {
  const ox_conv_geom *g = &p->t.part[OX_DEPTHWISE].g;
  int64_t pixels = g->out[1] * g->out[2], planes = g->batch * plan->blocks;
  for (int64_t i = 0; i < planes * OX_BLOCK; i++) {
    double got = 0, want = 0, size = 0;
    if (i / OX_BLOCK % plan->blocks * OX_BLOCK + i % OX_BLOCK >= g->groups) continue;
    for (int64_t t = 0; t < plan->row_tiles; t++)
      got += (double)sums[(i / OX_BLOCK * plan->row_tiles + t) * OX_BLOCK + i % OX_BLOCK];
    for (int64_t j = 0; j < pixels; j++) {
      double y = (double)p->y[(i / OX_BLOCK * pixels + j) * OX_BLOCK + i % OX_BLOCK];
      want += y, size += fabs(y);
    }
    if (!(fabs(got - want) <= (double)pixels * 0x1p-24 * size)) /* the bound of a plain sum */
      fail_msg("%s: a channel's sum is %g, wanted %g", name, got, want);
  }
}

/* Tiles in calls of |each|, of one worker; |backwards|: the last ones first. */
static void check(const problem *p, const char *name, const char *isa, int64_t each, bool backwards) {
  ox_bottleneck_plan plan;
  if (!ox_bottleneck_serves(&p->t) || !ox_bottleneck_plan_init(&plan, &p->t)) fail_msg("%s: no plan", name);
  float *scratch = aligned_alloc(64, OX_ROUND_UP(plan.scratch_bytes, 64) + 64);
  memset(scratch, 0xff, plan.scratch_bytes), memset(p->y, 0xff, (size_t)p->n_y * sizeof(float)); /* NaN */
  ox_carried carried;
  ox_carried_begin(&carried);
  int64_t calls = OX_CEIL_DIV(plan.n_tiles, each);
  const size_t sums_bytes = (size_t)(plan.n_tiles * plan.blocks * OX_BLOCK) * sizeof(float);
  ox_bottleneck_args a = p->a;
  if (!p->t.has[OX_PROJECT]) a.sums = malloc(sums_bytes + 1), memset(a.sums, 0xff, sums_bytes);
  for (int64_t i = 0; i < calls; i++) {
    int64_t t = (backwards ? calls - 1 - i : i) * each;
    ox_bottleneck_run(&plan, &a, t, OX_MIN(t + each, plan.n_tiles), &carried, scratch);
  }
  if (a.sums) check_sums(p, &plan, a.sums, name);
  for (int64_t i = 0; i < p->n_y; i++)
    if (!(p->y[i] == p->want[i] || (isnan(p->y[i]) && isnan(p->want[i]))))
      fail_msg("%s, %s, %lld tiles a call: [%lld] is %g, wanted %g", isa, name, (long long)each, (long long)i,
               (double)p->y[i], (double)p->want[i]);
  free(scratch), free(a.sums);
}

static shape random_shape(void) {
  shape s = {.name = "random", .batch = 1 + next(2), .ic = next(4) ? 1 + next(40) : 0, .mid = 1 + next(70)};
  s.oc = !s.ic || next(4) ? 1 + next(40) : 0;
  for (int i = 0; i < 2; i++) {
    s.in[i] = 6 + next(40), s.kernel[i] = 1 + next(5), s.stride[i] = 1 + next(3), s.dilation[i] = 1;
    s.pad[i] = next(3);
  }
  return s;
}

static void test_as_the_forms(void **state) {
  ox_isa isa = ox_isa_cap(ox_isa_host(), *state);
  if (strcmp(ox_window_select(isa)->name, *state) != 0) skip();
  seed = 3;
  for (size_t i = 0; i < OX_COUNT(shapes) + 60; i++) {
    shape s = i < OX_COUNT(shapes) ? shapes[i] : random_shape();
    int64_t taps[2][16];
    problem p;
    problem_init(&p, &s, isa, taps);
    for (int backwards = 0; backwards < 2; backwards++)
      check(&p, s.name, *state, 1, backwards), check(&p, s.name, *state, 3, backwards);
    check(&p, s.name, *state, 1 << 20, false);
    problem_deinit(&p);
  }
}

static void test_what_is_not_served(void **state) {
  (void)state;
  int64_t taps[2][16];
  problem p;
  problem_init(&p, &shapes[2], ox_isa_host(), taps);
  const ox_bottleneck_task t = p.t;
  ox_bottleneck_task bad[6] = {t, t, t, t, t, t};
  bad[0].has[OX_EXPAND] = bad[0].has[OX_PROJECT] = false;
  bad[1].part[OX_EXPAND].g.stride[2] = 2;
  bad[2].part[OX_PROJECT].g.ic++;
  bad[3].part[OX_DEPTHWISE].g.oc = 2;
  bad[4].part[OX_DEPTHWISE].g.in[0] = 2;
  bad[5].part[OX_EXPAND].g.groups = 2;
  assert_true(ox_bottleneck_serves(&t));
  for (size_t i = 0; i < OX_COUNT(bad); i++)
    if (ox_bottleneck_serves(&bad[i])) fail_msg("row %zu is served", i);
  problem_deinit(&p);
}

int main(void) {
  static char *const names[] = {"avx512", "avx2", "neon", "scalar"};
  struct CMUnitTest tests[OX_COUNT(names) + 1] = {cmocka_unit_test(test_what_is_not_served)};
  for (size_t i = 0; i < OX_COUNT(names); i++)
    tests[i + 1] = (struct CMUnitTest){names[i], test_as_the_forms, NULL, NULL, names[i]};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

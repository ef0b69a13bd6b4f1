/* SPDX-License-Identifier: Apache-2.0
 * kern/conv_test.c - every variant of the float32 convolution against a naive sum in double precision: named shapes
 * at the edges, then seeded random geometries. Tolerance: 4e-6 of the sum of magnitudes. */
#include "support/check.h"
#include "support/conv_sum.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kern/conv/conv.h"
#include "kern/conv/conv_f64.h"

typedef struct shape {
  const char *name;
  int64_t batch, groups, ic, oc; /* ic, oc: per group */
  int64_t in[3], kernel[3], stride[3], dilation[3], pad[3];
} shape;

static const shape shapes[] = {
    {"one", 1, 1, 1, 1, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}},
    {"no channels", 1, 1, 0, 5, {1, 3, 4}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}},
    {"no batch", 0, 2, 3, 5, {1, 3, 4}, {1, 2, 2}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}},
    {"vector of inputs", 3, 1, 300, 37, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}},
    {"7x7 image, 3x3", 2, 1, 20, 33, {1, 7, 7}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}},
    {"14x14 pointwise", 1, 1, 300, 70, {1, 14, 14}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}},
    {"all rows split", 1, 1, 512, 200, {1, 13, 13}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}},
    {"first layer", 1, 1, 3, 16, {1, 57, 61}, {1, 7, 7}, {1, 2, 2}, {1, 1, 1}, {0, 3, 3}},
    {"pads beyond the image", 1, 1, 2, 3, {1, 2, 3}, {1, 2, 2}, {1, 1, 1}, {1, 1, 1}, {0, 9, 7}},
    {"dilation beyond the image", 1, 1, 2, 3, {1, 5, 5}, {1, 3, 3}, {1, 1, 1}, {1, 9, 9}, {0, 9, 9}},
    {"a column, width 1", 2, 1, 19, 21, {1, 131, 1}, {1, 5, 1}, {1, 2, 3}, {1, 1, 1}, {0, 2, 0}},
    {"depth only", 1, 1, 5, 6, {67, 1, 1}, {3, 1, 1}, {1, 1, 1}, {2, 1, 1}, {2, 0, 0}},
    {"depthwise column", 1, 9, 1, 1, {1, 77, 1}, {1, 3, 1}, {1, 1, 2}, {1, 1, 1}, {0, 1, 0}},
    {"grouped", 2, 5, 4, 7, {1, 11, 17}, {1, 3, 3}, {1, 2, 1}, {1, 1, 2}, {0, 1, 2}},
    {"depthwise", 2, 9, 1, 1, {1, 15, 33}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}},
    {"depthwise s2", 1, 9, 1, 1, {1, 112, 112}, {1, 5, 5}, {1, 2, 2}, {1, 1, 1}, {0, 2, 2}},
    {"depthwise s3, two outputs", 1, 3, 1, 2, {1, 31, 29}, {1, 3, 2}, {1, 3, 3}, {1, 2, 1}, {0, 2, 1}},
    {"depthwise 1-D, long, causal", 1, 4, 1, 1, {1, 1, 1000}, {1, 1, 3}, {1, 1, 1}, {1, 1, 128}, {0, 0, 256}},
    {"depthwise, in blocks", 1, 2, 1, 1, {1, 300, 300}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}},
    {"3-D", 1, 1, 5, 18, {6, 7, 9}, {3, 2, 3}, {2, 1, 1}, {1, 2, 1}, {1, 1, 1}},
    {"depthwise 3-D", 1, 3, 1, 1, {6, 7, 9}, {3, 2, 3}, {2, 1, 2}, {1, 2, 1}, {1, 1, 1}},
};

static uint32_t seed = 1;
static uint32_t next(uint32_t n) {
  seed = seed * 1664525u + 1013904223u;
  return (seed >> 8) % n;
}
static float *noise(int64_t n) {
  float *p = malloc((size_t)n * sizeof *p + 1);
  for (int64_t i = 0; i < n; i++) p[i] = (float)next(20001) * 1e-4f - 1.0f;
  return p;
}

typedef struct problem {
  ox_conv_geom g;
  int64_t taps[3][64];
  int64_t k, pixels, n_y, oc_all;
  float *x, *w, *bias, *z;
  double *want, *size; /* size: the sum of magnitudes */
  ox_act act;
} problem;

static void geometry(problem *p, const shape *s) {
  p->g = (ox_conv_geom){.batch = s->batch, .groups = s->groups, .ic = s->ic, .oc = s->oc};
  for (int a = 0; a < 3; a++) {
    p->g.in[a] = s->in[a], p->g.stride[a] = s->stride[a], p->g.n_taps[a] = s->kernel[a], p->g.tap[a] = p->taps[a];
    int64_t room = s->in[a] + 2 * s->pad[a] - (s->kernel[a] - 1) * s->dilation[a] - 1;
    p->g.out[a] = room < 0 ? 1 : room / s->stride[a] + 1;
    for (int64_t t = 0; t < s->kernel[a]; t++) p->taps[a][t] = t * s->dilation[a] - s->pad[a];
  }
}

static void problem_solve(problem *p) {
  const ox_conv_geom *g = &p->g;
  for (int64_t i = 0; i < p->n_y; i++) {
    int64_t plane = i / p->pixels, at = i % p->pixels;
    int64_t o[3] = {at / g->out[2] / g->out[1], at / g->out[2] % g->out[1], at % g->out[2]};
    p->size[i] = 2;
    double v = conv_sum_at(g, p->x, p->w + plane % p->oc_all * p->k, plane / g->oc, o, &p->size[i]);
    if (p->bias) v += (double)p->bias[plane % p->oc_all];
    if (p->z) v += (double)p->z[i];
    p->want[i] = ox_act_f64(p->act, v);
  }
}

static void problem_init(problem *p, const shape *s) {
  memset(p, 0, sizeof *p);
  geometry(p, s);
  const ox_conv_geom *g = &p->g;
  p->k = g->ic * g->n_taps[0] * g->n_taps[1] * g->n_taps[2];
  p->pixels = g->out[0] * g->out[1] * g->out[2], p->oc_all = g->groups * g->oc;
  p->n_y = g->batch * p->oc_all * p->pixels;
  p->x = noise(g->batch * g->groups * g->ic * g->in[0] * g->in[1] * g->in[2]);
  p->w = noise(p->oc_all * p->k);
  p->bias = next(3) ? noise(p->oc_all) : NULL;
  p->z = next(2) ? noise(p->n_y) : NULL;
  p->act = (ox_act){next(OX_ACT_SOFTPLUS + 1), 0.25f, 0.5f};
  p->want = malloc((size_t)p->n_y * sizeof(double) + 1), p->size = malloc((size_t)p->n_y * sizeof(double) + 1);
  problem_solve(p);
}

static void problem_deinit(problem *p) {
  free(p->x), free(p->w), free(p->bias), free(p->z), free(p->want), free(p->size);
}

static bool is_as(double got, double want, double tolerance) {
  if (isnan(want)) return isnan(got);
  return got == want || fabs(got - want) <= tolerance;
}

/* Tiles one by one, last first: the order must not matter. */
static void check_problem(const problem *p, const ox_conv_variant *v, const char *name) {
  const ox_conv_geom *g = &p->g;
  ox_conv_plan plan;
  if (!ox_conv_plan_init(&plan, g, &p->act, v)) fail_msg("%s: no plan", name);
  void *tables = malloc(plan.table_bytes + 1), *scratch = malloc(plan.scratch_bytes + 1);
  void *shared = malloc(plan.shared_bytes + 1);
  ox_conv_plan_tables(&plan, tables);
  memset(scratch, 0xff, plan.scratch_bytes + 1), memset(shared, 0xff, plan.shared_bytes + 1); /* NaN */
  float *y = malloc((size_t)p->n_y * sizeof *y + 1);
  ox_conv_args a = {.x = p->x, .w = p->w, .bias = p->bias, .z = p->z, .y = y, .shared = shared};
  for (uint32_t s = 0; s < plan.n_stages; s++)
    for (int64_t t = plan.n_tiles[s]; t-- > 0;) ox_conv_run(&plan, &a, s, t, t + 1, scratch);
  for (int64_t i = 0; i < p->n_y; i++)
    if (!is_as((double)y[i], p->want[i], 4e-6 * p->size[i]))
      fail_msg("%s, shape %s, activation %u: [%lld] is %g, wanted %g", v->name, name, p->act.kind, (long long)i,
               (double)y[i], p->want[i]);
  free(tables), free(scratch), free(shared), free(y);
}

static shape random_shape(void) {
  int axes = 1 + (int)next(3);
  shape s = {.name = "random",
             .batch = 1 + next(2),
             .groups = 1 + next(3),
             .ic = 1 + next(next(4) ? 8 : 200),
             .oc = 1 + next(next(3) ? 5 : 70)};
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

static void check(void **state) {
  const ox_conv_variant *v = *state;
  if (v->needs & ~ox_isa_host()) skip();
  seed = 7;
  problem p;
  for (size_t i = 0; i < OX_COUNT(shapes); i++) {
    problem_init(&p, &shapes[i]);
    check_problem(&p, v, shapes[i].name);
    problem_deinit(&p);
  }
  for (int i = 0; i < 300; i++) {
    shape s = random_shape();
    problem_init(&p, &s);
    check_problem(&p, v, s.name);
    problem_deinit(&p);
  }
}

/* Single elements of input and weights that no sum of terms may get wrong: NaN and infinities come out where they do
 * in float64, in no other element. Places: the middle of the image, two neighbours; the channel is the one of the
 * weight. */
static void check_extremes(void **state) {
  static const shape images[] = {
      {"a row for each channel", 1, 1, 40, 35, {1, 9, 9}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}},
      {"a row for each pixel", 1, 1, 40, 35, {1, 9, 9}, {1, 9, 9}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}}};
  static const struct {
    const char *name;
    float x, neighbour, w;
  } rows[] = {{"infinity", INFINITY, 0.5f, 0.5f},
              {"two infinities", INFINITY, INFINITY, 0.5f},
              {"infinity less infinity", INFINITY, -INFINITY, 0.5f},
              {"NaN", NAN, 1, 1},
              {"infinity by zero", INFINITY, 0.5f, 0},
              {"infinity by a denormal", INFINITY, 0.5f, 0x1p-149f},
              {"infinity by the largest denormal", -INFINITY, 0.5f, 0x1.fffffcp-127f},
              {"infinite weight", 0.5f, 1, INFINITY},
              {"infinite weight by zero", 0, 1, INFINITY},
              {"infinite weight by denormals", 1e-40f, -1e-45f, -INFINITY},
              {"NaN weight", 0, 0, NAN},
              {"largest", FLT_MAX, -FLT_MAX, 0.75f},
              {"largest bfloat16", 0x1.fep127f, 0x1.fep127f, 0.25f},
              {"largest weight", 0.5f, 0.25f, FLT_MAX},
              {"overflow", FLT_MAX, 0, FLT_MAX}};
  const ox_conv_variant *v = *state;
  if (v->needs & ~ox_isa_host()) skip();
  seed = 11;
  for (size_t n = 0; n < 2 * OX_COUNT(rows); n++) {
    const size_t i = n / 2;
    problem p;
    problem_init(&p, &images[n % 2]);
    p.x[(37 * 9 + 4) * 9 + 4] = rows[i].x, p.x[(37 * 9 + 4) * 9 + 5] = rows[i].neighbour;
    p.w[21 * p.k + (2 * 37 + 1) * (p.k / 40) / 2] = rows[i].w, p.act.kind = OX_ACT_NONE;
    problem_solve(&p);
    for (int64_t j = 0; j < p.n_y; j++)
      if (fabs(p.want[j]) > (double)FLT_MAX) p.want[j] = copysign(HUGE_VAL, p.want[j]);
    check_problem(&p, v, rows[i].name);
    problem_deinit(&p);
  }
}

static void test_f64_sums_directly(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(shapes); i++) {
    problem p;
    problem_init(&p, &shapes[i]);
    int64_t n_x = p.g.batch * p.g.groups * p.g.ic * p.g.in[0] * p.g.in[1] * p.g.in[2], n_w = p.oc_all * p.k;
    double *x = malloc((size_t)n_x * 8 + 1), *w = malloc((size_t)n_w * 8 + 1), *y = malloc((size_t)p.n_y * 8 + 1);
    for (int64_t j = 0; j < n_x; j++) x[j] = (double)p.x[j];
    for (int64_t j = 0; j < n_w; j++) w[j] = (double)p.w[j];
    ox_conv_f64(&p.g, x, w, NULL, y, 0, p.g.batch * p.oc_all);
    for (int64_t j = 0; j < p.n_y; j++) {
      int64_t plane = j / p.pixels;
      double v = y[j] + (p.bias ? (double)p.bias[plane % p.oc_all] : 0) + (p.z ? (double)p.z[j] : 0);
      if (!(fabs(ox_act_f64(p.act, v) - p.want[j]) <= 1e-12 * p.size[j])) fail_msg("shape %s", shapes[i].name);
    }
    free(x), free(w), free(y);
    problem_deinit(&p);
  }
}

int main(void) {
  size_t n_built, n = 0;
  const ox_conv_variant *const *built = ox_conv_variants(&n_built);
  struct CMUnitTest tests[20];
  for (size_t i = 0; i < n_built; i++) {
    const ox_conv_variant *v = built[i];
    tests[n++] = (struct CMUnitTest){v->name, check, NULL, NULL, (void *)v};
    tests[n++] = (struct CMUnitTest){v->name, check_extremes, NULL, NULL, (void *)v};
  }
  tests[n++] = (struct CMUnitTest){"float64", test_f64_sums_directly, NULL, NULL, NULL};
  return _cmocka_run_group_tests("conv", tests, n, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 * kern/window_test.c - windows over blocks of channels on every instruction set, against naive sums and maxima in
 * double precision: named shapes at the edges, then seeded random geometries. Lanes past the last channel hold NaN. */
#include "support/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kern/blocks/window.h"
#include "support/levels.h"

extern const ox_bconv_form ox_bconv_form_depthwise;

typedef struct shape {
  const char *name;
  int64_t batch, channels;
  int64_t in[3], kernel[3], stride[3], dilation[3], pad[3];
} shape;

static const shape shapes[] = {
    {"one", 1, 1, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}},
    {"no batch", 0, 3, {1, 5, 5}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}},
    {"a block, 1 x 1 image", 1, 16, {1, 1, 1}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}},
    {"17 channels, 7x7", 2, 17, {1, 7, 7}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}},
    {"3x3s2", 1, 33, {1, 14, 14}, {1, 3, 3}, {1, 2, 2}, {1, 1, 1}, {0, 1, 1}},
    {"3x3s2, odd, no pads", 1, 15, {1, 15, 19}, {1, 3, 3}, {1, 2, 2}, {1, 1, 1}, {0, 0, 0}},
    {"5x5", 1, 20, {1, 14, 28}, {1, 5, 5}, {1, 1, 1}, {1, 1, 1}, {0, 2, 2}},
    {"5x5 wider than the image", 1, 20, {1, 3, 3}, {1, 5, 5}, {1, 1, 1}, {1, 1, 1}, {0, 2, 2}},
    {"5x5s2", 1, 20, {1, 28, 29}, {1, 5, 5}, {1, 2, 2}, {1, 1, 1}, {0, 2, 2}},
    {"7x7", 1, 20, {1, 14, 11}, {1, 7, 7}, {1, 1, 1}, {1, 1, 1}, {0, 3, 3}},
    {"2x2s2", 1, 18, {1, 11, 13}, {1, 2, 2}, {1, 2, 2}, {1, 1, 1}, {0, 0, 0}},
    {"2x2s2, pads", 1, 18, {1, 11, 13}, {1, 2, 2}, {1, 2, 2}, {1, 1, 1}, {0, 1, 1}},
    {"dilated", 1, 5, {1, 9, 23}, {1, 3, 3}, {1, 1, 1}, {1, 2, 3}, {0, 2, 3}},
    {"dilation beyond the image", 1, 3, {1, 5, 5}, {1, 3, 3}, {1, 1, 1}, {1, 9, 9}, {0, 9, 9}},
    {"taps that enter and leave one by one", 1, 5, {1, 2, 90}, {1, 1, 3}, {1, 1, 1}, {1, 1, 30}, {0, 0, 50}},
    {"so with strides", 1, 5, {1, 2, 90}, {1, 1, 3}, {1, 1, 3}, {1, 1, 40}, {0, 0, 70}},
    {"pads beyond the image", 1, 3, {1, 2, 3}, {1, 2, 2}, {1, 1, 1}, {1, 1, 1}, {0, 9, 7}},
    {"pads beyond the image, 3x3", 1, 3, {1, 2, 3}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 9, 12}},
    {"s3, 3x2", 1, 35, {1, 31, 29}, {1, 3, 2}, {1, 3, 3}, {1, 2, 1}, {0, 2, 1}},
    {"1-D, causal", 1, 4, {1, 1, 300}, {1, 1, 3}, {1, 1, 1}, {1, 1, 128}, {0, 0, 256}},
    {"a column", 1, 9, {1, 77, 1}, {1, 3, 1}, {1, 1, 2}, {1, 1, 1}, {0, 1, 0}},
    {"in tiles of rows", 1, 2, {1, 100, 60}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}},
    {"3-D", 2, 19, {6, 7, 9}, {3, 2, 3}, {2, 1, 2}, {1, 2, 1}, {1, 1, 1}},
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

typedef struct problem {
  ox_conv_geom g;
  int64_t taps[3][64];
  int64_t n_taps, pixels, in_pixels, blocks;
  float *x, *w, *bias, *z; /* planes of channels */
  ox_act act;
} problem;

static void problem_init(problem *p, const shape *s) {
  memset(p, 0, sizeof *p);
  p->g = (ox_conv_geom){.batch = s->batch, .groups = s->channels, .ic = 1, .oc = 1};
  for (int a = 0; a < 3; a++) {
    p->g.in[a] = s->in[a], p->g.stride[a] = s->stride[a], p->g.n_taps[a] = s->kernel[a], p->g.tap[a] = p->taps[a];
    int64_t room = s->in[a] + 2 * s->pad[a] - (s->kernel[a] - 1) * s->dilation[a] - 1;
    p->g.out[a] = room < 0 ? 1 : room / s->stride[a] + 1;
    for (int64_t t = 0; t < s->kernel[a]; t++) p->taps[a][t] = t * s->dilation[a] - s->pad[a];
  }
  const ox_conv_geom *g = &p->g;
  p->n_taps = g->n_taps[0] * g->n_taps[1] * g->n_taps[2], p->pixels = g->out[0] * g->out[1] * g->out[2];
  p->in_pixels = g->in[0] * g->in[1] * g->in[2], p->blocks = (s->channels + 15) / 16;
  p->x = noise(s->batch * s->channels * p->in_pixels), p->w = noise(s->channels * p->n_taps);
  p->bias = next(3) ? noise(s->channels) : NULL;
  p->z = next(2) ? noise(s->batch * s->channels * p->pixels) : NULL;
  p->act = (ox_act){next(OX_ACT_SOFTPLUS + 1), 0.25f, 0.5f};
}

static void problem_deinit(problem *p) { free(p->x), free(p->w), free(p->bias), free(p->z); }

static const float *input_at(const problem *p, int64_t plane, int64_t out, int64_t tap) {
  const ox_conv_geom *g = &p->g;
  int64_t o[3] = {out / g->out[2] / g->out[1], out / g->out[2] % g->out[1], out % g->out[2]};
  int64_t t[3] = {tap / g->n_taps[2] / g->n_taps[1], tap / g->n_taps[2] % g->n_taps[1], tap % g->n_taps[2]}, at = 0;
  for (int a = 0; a < 3; a++) {
    int64_t i = o[a] * g->stride[a] + p->taps[a][t[a]];
    if (i < 0 || i >= g->in[a]) return NULL;
    at = at * g->in[a] + i;
  }
  return p->x + plane * p->in_pixels + at;
}

/* Channels of planes into blocks, or back; what lies past the last channel is NaN. */
static float *to_blocks(const float *x, int64_t batch, int64_t channels, int64_t pixels) {
  int64_t blocks = (channels + 15) / 16, n = batch * blocks * pixels * 16;
  float *y = malloc((size_t)n * sizeof *y + OX_PAD_BYTES);
  for (int64_t i = 0; i < n; i++) {
    int64_t c = i / 16 / pixels % blocks * 16 + i % 16, b = i / 16 / pixels / blocks;
    y[i] = c < channels ? x[(b * channels + c) * pixels + i / 16 % pixels] : NAN;
  }
  return y;
}

static double block_at(const problem *p, const float *y, int64_t plane, int64_t pixel) {
  int64_t b = plane / p->g.groups, c = plane % p->g.groups;
  return (double)y[((b * p->blocks + c / 16) * p->pixels + pixel) * 16 + c % 16];
}

static bool is_as(double got, double want, double tolerance) {
  if (isnan(want)) return isnan(got);
  return got == want || fabs(got - want) <= tolerance;
}

/* What is left of |plane| in |parts| sums. */
static void check_sum(const problem *p, const float *y, const float *sums, int64_t parts, int64_t plane,
                      const char *name) {
  int64_t block = plane / p->g.groups * p->blocks + plane % p->g.groups / 16;
  double want = 0, size = 0, got = 0;
  for (int64_t i = 0; i < p->pixels; i++) want += block_at(p, y, plane, i), size += fabs(block_at(p, y, plane, i));
  for (int64_t i = 0; i < parts; i++) got += (double)sums[(block * parts + i) * 16 + plane % p->g.groups % 16];
  if (!is_as(got, want, (double)p->pixels * 0x1p-24 * size)) /* the bound of a plain sum */
    fail_msg("%s: the sum of plane %lld is %g, wanted %g", name, (long long)plane, got, want);
}

/* Tiles one by one, last first: the order must not matter. */
static void check_conv(const problem *p, ox_isa isa, const char *name) {
  const ox_conv_geom *g = &p->g;
  const ox_bconv_form *f = &ox_bconv_form_depthwise;
  ox_bconv_plan *plan = calloc(1, f->plan_bytes);
  plan->form = f, plan->task = (ox_bconv_task){.isa = isa, .g = *g, .act = p->act};
  if (!isfinite(f->cost_ns(&plan->task)) || !f->plan(plan)) fail_msg("%s: no plan", name);
  float *w = malloc(f->weight_floats(&plan->task) * sizeof *w + 1),
        *x = to_blocks(p->x, g->batch, g->groups, p->in_pixels);
  float *z = p->z ? to_blocks(p->z, g->batch, g->groups, p->pixels) : NULL;
  float *y = malloc((size_t)(g->batch * p->blocks * p->pixels * 16) * sizeof *y + 1);
  void *scratch = malloc(plan->scratch_bytes + 1);
  for (int64_t u = f->weight_units(&plan->task); u-- > 0;)
    f->pack(&plan->task, w, p->w + f->unit_filter(&plan->task, u) * ox_conv_taps(g), u, u + 1, NULL);
  const int64_t parts = f->n_sums(plan), n_sums = g->batch * p->blocks * parts * 16;
  float *sums = malloc((size_t)n_sums * sizeof *sums + 1);
  memset(sums, 0xff, (size_t)n_sums * sizeof *sums);
  ox_conv_args a = {.x = x, .w = w, .bias = p->bias, .z = z, .y = y, .sums = sums};
  for (int64_t t = plan->n_tiles[0]; t-- > 0;) f->run(plan, &a, 0, t, t + 1, scratch);
  for (int64_t i = 0; i < g->batch * g->groups && p->pixels; i++) check_sum(p, y, sums, parts, i, name);
  for (int64_t i = 0; i < g->batch * g->groups * p->pixels; i++) {
    int64_t plane = i / p->pixels, c = plane % g->groups;
    double sum = p->bias ? (double)p->bias[c] : 0, size = 2;
    for (int64_t t = 0; t < p->n_taps; t++) {
      const float *in = input_at(p, plane, i % p->pixels, t);
      if (in) sum += (double)*in * (double)p->w[c * p->n_taps + t], size += fabs((double)*in);
    }
    double want = ox_act_f64(p->act, sum + (p->z ? (double)p->z[i] : 0)), got = block_at(p, y, plane, i % p->pixels);
    if (!is_as(got, want, 4e-6 * size))
      fail_msg("%s, %s, activation %u: [%lld] is %g, wanted %g", ox_window_select(isa)->name, name, p->act.kind,
               (long long)i, got, want);
  }
  free(plan), free(w), free(x), free(z), free(y), free(scratch), free(sums);
}

/* Maxima, which leave NaN out, or sums over the factors of an average. */
static void check_pool(const problem *p, ox_isa isa, ox_window_kind kind, const char *name) {
  const ox_conv_geom *g = &p->g;
  ox_window win;
  if (!ox_window_init(&win, kind, g, &(ox_act){OX_ACT_NONE, 0, 0}, isa)) fail_msg("%s: no plan", name);
  float *x = to_blocks(p->x, g->batch, g->groups, p->in_pixels), *inverse[3];
  float *y = malloc((size_t)(g->batch * p->blocks * p->pixels * 16) * sizeof *y + 1);
  void *scratch = malloc(win.scratch_bytes + 1);
  for (int a = 0; a < 3; a++) inverse[a] = noise(g->out[a]);
  int64_t rows = g->out[0] * g->out[1], tile = ox_window_tile_rows(&win, g->batch * p->blocks);
  for (int64_t b = 0; b < g->batch * p->blocks && g->out[2]; b++)
    for (int64_t r = 0; r < rows; r += tile) {
      ox_window_plane w = {.x = x + b * p->in_pixels * 16,
                           .ring = g->in[0] * g->in[1],
                           .pitch = g->in[2] * 16,
                           .y = y + b * p->pixels * 16,
                           .inverse = kind == OX_WINDOW_SUM ? (const float *const *)inverse : NULL};
      ox_window_rows(&win, &w, r, OX_MIN(r + tile, rows), scratch);
    }
  for (int64_t i = 0; i < g->batch * g->groups * p->pixels; i++) {
    int64_t at = i % p->pixels;
    double want = kind == OX_WINDOW_MAX ? -INFINITY : 0, got = block_at(p, y, i / p->pixels, at), size = 1;
    for (int64_t t = 0; t < p->n_taps; t++) {
      const float *in = input_at(p, i / p->pixels, at, t);
      if (in) want = kind == OX_WINDOW_SUM ? want + (double)*in : (double)*in > want ? (double)*in : want, size += 1;
    }
    if (kind == OX_WINDOW_SUM)
      want *= (double)inverse[0][at / g->out[2] / g->out[1]] * (double)inverse[1][at / g->out[2] % g->out[1]] *
              (double)inverse[2][at % g->out[2]];
    if (!is_as(got, want, kind == OX_WINDOW_MAX ? 0 : 4e-6 * size))
      fail_msg("%s, %s: [%lld] is %g, wanted %g", win.v->name, name, (long long)i, got, want);
  }
  free(x), free(y), free(scratch);
  for (int a = 0; a < 3; a++) free(inverse[a]);
}

static void check_all(const problem *p, ox_isa isa, const char *name) {
  check_conv(p, isa, name);
  check_pool(p, isa, OX_WINDOW_MAX, name);
  check_pool(p, isa, OX_WINDOW_SUM, name);
}

static shape random_shape(void) {
  int axes = 1 + (int)next(3);
  shape s = {.name = "random", .batch = 1 + next(2), .channels = 1 + next(40)};
  for (int a = 0; a < 3; a++) {
    bool dead = a < 3 - axes;
    s.in[a] = dead ? 1 : 1 + next(axes == 1 ? 200 : axes == 2 ? 30 : 8);
    s.kernel[a] = dead || next(4) == 0 ? 1 : 1 + next(7);
    s.stride[a] = dead || next(2) ? 1 : 1 + next(3);
    s.dilation[a] = dead || next(3) ? 1 : 1 + next(3);
    s.pad[a] = dead || next(3) == 0 ? 0 : next(5);
  }
  return s;
}

static ox_isa isa_of(void **state) {
  ox_isa isa = ox_isa_cap(ox_isa_host(), *state);
  if (strcmp(ox_window_select(isa)->name, *state) != 0) skip();
  return isa;
}

static void test_shapes(void **state) {
  ox_isa isa = isa_of(state);
  problem p;
  seed = 7;
  for (size_t i = 0; i < OX_COUNT(shapes) + 200; i++) {
    shape s = i < OX_COUNT(shapes) ? shapes[i] : random_shape();
    problem_init(&p, &s);
    check_all(&p, isa, s.name);
    problem_deinit(&p);
  }
}

/* One element of the input that no result may get wrong: it shows in the windows that hold it, and nowhere else. */
static void test_extremes(void **state) {
  static const shape square = {"extremes", 1, 20, {1, 9, 9}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}};
  static const struct {
    const char *name;
    float x, w;
  } rows[] = {{"infinity", INFINITY, 0.5f},        {"minus infinity", -INFINITY, 0.5f},
              {"infinity by zero", INFINITY, 0},   {"NaN", NAN, 1},
              {"infinite weight", 0.5f, INFINITY}, {"denormal", 1e-42f, 1}};
  ox_isa isa = isa_of(state);
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    problem p;
    seed = 11;
    problem_init(&p, &square);
    p.x[18 * 81 + 4 * 9 + 4] = p.x[18 * 81] = rows[i].x, p.w[18 * 9 + 4] = rows[i].w, p.act.kind = OX_ACT_RELU;
    check_conv(&p, isa, rows[i].name);
    p.act.kind = OX_ACT_SILU;
    check_conv(&p, isa, rows[i].name);
    check_pool(&p, isa, OX_WINDOW_MAX, rows[i].name);
    check_pool(&p, isa, OX_WINDOW_SUM, rows[i].name);
    problem_deinit(&p);
  }
}

/* The pass over a row: SiLU wherever its exponential is tiny, huge or neither, at any place of runs of 1 to 8 blocks.
 */
static void test_activation_pass(void **state) {
  static const float edges[] = {0,     -0.0f,  INFINITY, -INFINITY, NAN,   1e-42f, -1e-42f, 1e9f,    -1e9f,
                                3e38f, -3e38f, 87.3f,    -86.9f,    88.9f, -88.9f, -104,    -1.7e7f, -3e22f};
  const ox_window_variant *v = ox_window_select(isa_of(state));
  const ox_act silu = {OX_ACT_SILU, 0, 0};
  for (int i = -900; i < 900 + (int)OX_COUNT(edges); i++) {
    float x = i < 900 ? (float)i * 0.097f : edges[i - 900], y[8 * OX_BLOCK + 1];
    double want = (double)x / (1 + exp(-(double)x));
    size_t n = (size_t)(1 + (i + 900) % 8) * OX_BLOCK;
    for (size_t j = 0; j <= n; j++) y[j] = x;
    v->act(&silu, y, n);
    for (size_t j = 0; j < n; j++)
      if (!(test_ulps(y[j], want) <= 2.5) && !(fabs((double)y[j] - want) <= 2e-36))
        fail_msg("%s: silu(%a) is %a, wanted %a", v->name, (double)x, (double)y[j], want);
    assert_memory_equal(&y[n], &x, sizeof x);
  }
}

int main(void) {
  static char *const names[] = {"avx512", "avx2", "neon", "scalar"};
  struct CMUnitTest tests[3 * OX_COUNT(names)];
  for (size_t i = 0; i < OX_COUNT(names); i++) {
    tests[3 * i] = (struct CMUnitTest){names[i], test_shapes, NULL, NULL, names[i]};
    tests[3 * i + 1] = (struct CMUnitTest){names[i], test_extremes, NULL, NULL, names[i]};
    tests[3 * i + 2] = (struct CMUnitTest){names[i], test_activation_pass, NULL, NULL, names[i]};
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}

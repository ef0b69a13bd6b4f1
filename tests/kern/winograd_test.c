/* SPDX-License-Identifier: Apache-2.0
 * kern/winograd_test.c - what bconv_test.c does not ask of the Winograd forms: how large their rounding errors are,
 * which outputs an infinity may touch, that strips do not show in the results, and what they leave to others. */
#include "support/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kern/blocks/bconv.h"
#include "support/levels.h"

static const ox_bconv_form *form_called(const char *name) {
  size_t n;
  const ox_bconv_form *const *all = ox_bconv_forms(&n);
  for (size_t i = 0; i < n; i++)
    if (!strcmp(all[i]->name, name)) return all[i];
  fail_msg("no form %s", name);
  return NULL;
}
static const char *const names[] = {"winograd2", "winograd4", "winograd2 of stride 2", "winograd4 late"};
enum { STRIDE2 = 2 };

/* A convolution whose channels are whole blocks: X and Y lie [batch][block][pixel][16]. */
typedef struct problem {
  ox_bconv_task t;
  int64_t taps[3][3];
  float *x, *w, *y;
  size_t n_x, n_w, n_y;
} problem;

static void problem_init(problem *p, int64_t batch, int64_t ic, int64_t oc, int64_t d, int64_t h, int64_t w,
                         int64_t pad) {
  memset(p, 0, sizeof *p);
  p->t.g = (ox_conv_geom){.batch = batch, .groups = 1, .ic = ic, .oc = oc};
  const int64_t in[3] = {d, h, w};
  for (int a = 0; a < 3; a++) {
    ox_conv_geom *g = &p->t.g;
    g->in[a] = in[a], g->out[a] = a ? in[a] + 2 * pad - 2 : in[a];
    g->stride[a] = 1, g->n_taps[a] = a ? 3 : 1, g->tap[a] = p->taps[a];
    for (int64_t k = 0; k < g->n_taps[a]; k++) p->taps[a][k] = a ? k - pad : 0;
  }
  const int64_t *out = p->t.g.out;
  p->n_x = (size_t)(batch * ic * d * h * w), p->n_w = (size_t)(oc * ic * 9);
  p->n_y = (size_t)(batch * oc * out[0] * out[1] * out[2]);
  p->x = calloc(p->n_x, sizeof(float)), p->w = calloc(p->n_w, sizeof(float));
  p->y = malloc(p->n_y * sizeof(float) + OX_PAD_BYTES);
}

/* For the form names[f]: the same input, fewer outputs. */
static void set_form(problem *p, size_t f, ox_isa isa) {
  ox_conv_geom *g = &p->t.g;
  p->t.isa = isa;
  for (int a = 1; a < 3; a++) {
    g->stride[a] = f == STRIDE2 ? 2 : 1;
    g->out[a] = (g->in[a] - 1 - p->taps[a][0] * 2 - 2) / g->stride[a] + 1;
  }
  p->n_y = (size_t)(g->batch * g->oc * g->out[0] * g->out[1] * g->out[2]);
}

static void problem_deinit(problem *p) { free(p->x), free(p->w), free(p->y); }

static void run_form(problem *p, const char *name) {
  const ox_bconv_form *f = form_called(name);
  ox_bconv_plan *plan = calloc(1, f->plan_bytes);
  plan->form = f, plan->task = p->t;
  assert_true(f->plan(plan));
  float *w = malloc(f->weight_floats(&p->t) * sizeof *w + OX_PAD_BYTES);
  f->pack(&p->t, w, p->w, 0, f->weight_units(&p->t), NULL);
  void *scratch = malloc(plan->scratch_bytes + OX_PAD_BYTES), *shared = malloc(plan->shared_bytes + OX_PAD_BYTES);
  ox_conv_args a = {.x = p->x, .w = w, .y = p->y, .shared = shared};
  memset(p->y, 0xff, p->n_y * sizeof *p->y);
  for (uint32_t s = 0; s < plan->n_stages; s++) f->run(plan, &a, s, 0, plan->n_tiles[s], scratch);
  free(plan), free(w), free(scratch), free(shared);
}

/* Element |i| of Y in double; *size: the sum of magnitudes. */
static double sum_at(const problem *p, size_t i, double *size) {
  const ox_conv_geom *g = &p->t.g;
  int64_t at = (int64_t)i, lane = at % OX_BLOCK, x = (at /= OX_BLOCK) % g->out[2], y = (at /= g->out[2]) % g->out[1];
  int64_t d = (at /= g->out[1]) % g->out[0], o = (at /= g->out[0]) % (g->oc / OX_BLOCK) * OX_BLOCK + lane;
  int64_t n = at / (g->oc / OX_BLOCK);
  double sum = 0;
  *size = 0;
  for (int64_t c = 0; c < g->ic; c++)
    for (int64_t k = 0; k < 9; k++) {
      int64_t ih = y * g->stride[1] + g->tap[1][k / 3], iw = x * g->stride[2] + g->tap[2][k % 3];
      if (ih < 0 || iw < 0 || ih >= g->in[1] || iw >= g->in[2]) continue;
      int64_t plane = (n * (g->ic / OX_BLOCK) + c / OX_BLOCK) * g->in[0] + d;
      double v = (double)p->x[((plane * g->in[1] + ih) * g->in[2] + iw) * OX_BLOCK + c % OX_BLOCK] *
                 (double)p->w[(o * g->ic + c) * 9 + k];
      sum += v, *size += fabs(v);
    }
  return sum;
}

static uint32_t seed;
static float uniform(void) { return (float)(test_random(&seed) >> 8) * 0x1p-24f; }
static float normal(void) { return sqrtf(-2 * logf(uniform() + 1e-7f)) * cosf(6.2831853f * uniform()); }

/* ---- rounding errors ---- */

static float rectified(void) { return fmaxf(normal(), 0) + 0.5f; } /* after an activation: one sign */
static float heavy(void) { return expf(1.5f * normal()); }         /* a few far above the rest */

/* Largest error over the largest sum of magnitudes. Winograd's errors follow the tile, not the single output. */
static double error_of(problem *p) {
  double error = 0, largest = 0;
  for (size_t i = 0; i < p->n_y; i++) {
    double size, want = sum_at(p, i, &size), off = fabs((double)p->y[i] - want);
    if (!(off <= error)) error = off;
    if (size > largest) largest = size;
  }
  return error / largest;
}

static void test_errors_stay_near_those_of_plain_sums(void **state) {
  (void)state;
  static float (*const draws[])(void) = {normal, rectified, heavy};
  static const double most[] = {3e-7, 1e-6, 3e-7, 1e-6}; /* plain sums have 1e-7 to 3e-7 */
  for (size_t k = 0; k < OX_COUNT(draws); k++) {
    problem p;
    seed = 5;
    problem_init(&p, 1, 128, 32, 1, 22, 22, 1);
    for (size_t i = 0; i < p.n_x; i++) p.x[i] = draws[k]();
    for (size_t i = 0; i < p.n_w; i++) p.w[i] = normal() + (k ? 0.3f : 0);
    for (size_t l = 0; level_next(&l); l++)
      for (size_t f = 0; f < OX_COUNT(names); f++) {
        set_form(&p, f, test_levels[l].have);
        run_form(&p, names[f]);
        double error = error_of(&p);
        if (!(error <= most[f])) fail_msg("%s on %s, data %zu: error %g", names[f], test_levels[l].name, k, error);
      }
    problem_deinit(&p);
  }
}

/* ---- what is not finite ---- */

static bool is_as(double got, double want, double tolerance) {
  if (isnan(want)) return isnan(got);
  return got == want || fabs(got - want) <= tolerance;
}

/* One special number at each place of a tile in turn: outputs that do not see it are as without it. */
static void test_a_spoiled_tile_is_summed_plainly(void **state) {
  (void)state;
  static const float values[] = {INFINITY, -INFINITY, NAN, 3e38f};
  problem p;
  seed = 9;
  problem_init(&p, 1, 16, 16, 1, 11, 11, 1);
  for (size_t i = 0; i < p.n_w; i++) p.w[i] = normal();
  for (size_t l = 0; level_next(&l); l++)
    for (int place = 0; place < 36; place++) {
      for (size_t i = 0; i < p.n_x; i++) p.x[i] = normal();
      p.x[((3 + place / 6) * 11 + 3 + place % 6) * OX_BLOCK + 5] = values[place % 4];
      for (size_t f = 0; f < OX_COUNT(names); f++) {
        set_form(&p, f, test_levels[l].have);
        run_form(&p, names[f]);
        for (size_t i = 0; i < p.n_y; i++) {
          double size, want = sum_at(&p, i, &size);
          if (fabs(want) > 3.4028235e38) want = copysign(INFINITY, want);
          if (!is_as((double)p.y[i], want, 4e-6 * fmin(size, 1e38) + 1e-4))
            fail_msg("%s on %s, place %d: [%zu] is %g, wanted %g", names[f], test_levels[l].name, place, i,
                     (double)p.y[i], want);
        }
      }
    }
  problem_deinit(&p);
}

/* ---- shapes ---- */

/* The same image alone and among others, where strips begin elsewhere: the same bits. */
static void test_strips_do_not_show(void **state) {
  (void)state;
  static const int64_t sizes[][2] = {{33, 35}, {9, 70}, {5, 5}};
  for (size_t s = 0; s < OX_COUNT(sizes); s++)
    for (size_t l = 0; level_next(&l); l++)
      for (size_t f = 0; f < OX_COUNT(names); f++) {
        problem one, many;
        seed = 3;
        problem_init(&one, 1, 32, 80, 1, sizes[s][0], sizes[s][1], 1);
        problem_init(&many, 5, 32, 80, 1, sizes[s][0], sizes[s][1], 1);
        for (size_t i = 0; i < many.n_x; i++) many.x[i] = normal();
        for (size_t i = 0; i < many.n_w; i++) many.w[i] = one.w[i] = normal();
        set_form(&one, f, test_levels[l].have), set_form(&many, f, test_levels[l].have);
        run_form(&many, names[f]);
        for (size_t n = 0; n < 5; n++) {
          memcpy(one.x, many.x + n * one.n_x, one.n_x * sizeof(float));
          run_form(&one, names[f]);
          assert_memory_equal(one.y, many.y + n * one.n_y, one.n_y * sizeof(float));
        }
        problem_deinit(&one), problem_deinit(&many);
      }
}

/* Depth goes by as more images; pads may be wide, none, or negative. */
static void test_volumes_and_pads(void **state) {
  (void)state;
  for (int64_t pad = -2; pad <= 7; pad++)
    for (size_t l = 0; level_next(&l); l++)
      for (size_t f = 0; f < OX_COUNT(names); f++) {
        problem p;
        seed = 4;
        problem_init(&p, 2, 32, 48, 3, 9, 13, pad);
        for (size_t i = 0; i < p.n_x; i++) p.x[i] = normal();
        for (size_t i = 0; i < p.n_w; i++) p.w[i] = normal();
        set_form(&p, f, test_levels[l].have);
        run_form(&p, names[f]);
        double error = error_of(&p);
        if (!(error <= 1e-6)) fail_msg("%s on %s, pad %d: error %g", names[f], test_levels[l].name, (int)pad, error);
        problem_deinit(&p);
      }
}

/* More than what goes through the products at a time, and not a whole number of that. */
static void test_many_channels(void **state) {
  (void)state;
  problem p;
  seed = 6;
  problem_init(&p, 2, 272, 48, 1, 7, 9, 1);
  for (size_t i = 0; i < p.n_x; i++) p.x[i] = normal();
  for (size_t i = 0; i < p.n_w; i++) p.w[i] = normal();
  for (size_t l = 0; level_next(&l); l++)
    for (size_t f = 0; f < OX_COUNT(names); f++) {
      set_form(&p, f, test_levels[l].have);
      run_form(&p, names[f]);
      double error = error_of(&p);
      if (!(error <= 1e-6)) fail_msg("%s on %s: error %g", names[f], test_levels[l].name, error);
    }
  problem_deinit(&p);
}

/* Where U is large and there are many tiles it is made in the run, else it is packed. */
static void test_when_u_is_made_late(void **state) {
  (void)state;
  static const struct {
    int64_t batch, channels, size;
    bool late;
  } rows[] = {{8, 512, 7, true}, {8, 256, 14, true}, {1, 512, 7, false}, {1, 256, 14, false}, {8, 128, 28, false}};
  static const ox_isa levels[] = {OX_AVX2, OX_AVX2 | OX_AVX512};
  for (size_t i = 0; i < OX_COUNT(rows); i++)
    for (size_t l = 0; l < OX_COUNT(levels); l++) {
      if (levels[l] & ~ox_isa_host()) continue;
      problem p;
      problem_init(&p, rows[i].batch, rows[i].channels, rows[i].channels, 1, rows[i].size, rows[i].size, 1);
      p.t.isa = levels[l];
      const char *name = ox_bconv_choose(&p.t)->name;
      if (rows[i].late != !strcmp(name, "winograd4 late"))
        fail_msg("%d images, %d channels, level %zu: %s", (int)rows[i].batch, (int)rows[i].channels, l, name);
      problem_deinit(&p);
    }
}

/* ---- what is not served ---- */

static void test_what_is_left_to_others(void **state) {
  (void)state;
  static int64_t wide[3] = {-2, 0, 2}, uneven[3] = {-2, 0, 1}, beyond[3] = {-INT64_MAX / 2, 0, INT64_MAX / 2};
  for (size_t f = 0; f < OX_COUNT(names); f++) {
    const ox_bconv_form *form = form_called(names[f]);
    problem p;
    problem_init(&p, 1, 32, 32, 1, 30, 30, 1);
    set_form(&p, f, ox_isa_host());
    assert_true(form->cost_ns(&p.t) < INFINITY);
    ox_bconv_task t[8];
    for (size_t i = 0; i < OX_COUNT(t); i++) t[i] = p.t;
    t[0].exact = true, t[1].x_plain = true, t[2].g.stride[2] = f == STRIDE2 ? 1 : 2,
    t[3].g.tap[1] = f == STRIDE2 ? wide : uneven, t[4].g.n_taps[2] = 2;
    t[5].g.groups = 2, t[5].g.ic = 12, t[6].g.n_taps[0] = 3, t[6].g.tap[0] = uneven, t[7].g.tap[2] = beyond;
    for (size_t i = 0; i < OX_COUNT(t); i++)
      if (form->cost_ns(&t[i]) < INFINITY) fail_msg("%s serves task %zu", names[f], i);
    problem_deinit(&p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_errors_stay_near_those_of_plain_sums),
      cmocka_unit_test(test_a_spoiled_tile_is_summed_plainly),
      cmocka_unit_test(test_strips_do_not_show),
      cmocka_unit_test(test_volumes_and_pads),
      cmocka_unit_test(test_many_channels),
      cmocka_unit_test(test_when_u_is_made_late),
      cmocka_unit_test(test_what_is_left_to_others),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 * kern/winograd_test.c - what bconv_test.c does not ask of the Winograd forms: how large their rounding errors are,
 * which outputs an infinity may touch, that strips do not show in the results, and what they leave to others. */
#include "support/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/blocks_problem.h"
#include "support/levels.h"

static const char *const names[] = {"winograd2", "winograd4", "winograd2 of stride 2", "winograd4 late"};
enum { STRIDE2 = 2, LATE };

static void problem_init(blocks_problem *p, int64_t batch, int64_t ic, int64_t oc, int64_t d, int64_t h, int64_t w,
                         int64_t pad) {
  blocks_problem_init(p, batch, ic, oc, (const int64_t[]){d, h, w}, (const int64_t[]){1, 3, 3},
                      (const int64_t[]){1, 1, 1}, (const int64_t[]){0, pad, pad});
}

/* For the form names[f]: the same input, fewer outputs. */
static void set_form(blocks_problem *p, size_t f, ox_isa isa) {
  ox_conv_geom *g = &p->t.g;
  p->t.isa = isa;
  for (int a = 1; a < 3; a++) {
    g->stride[a] = f == STRIDE2 ? 2 : 1;
    g->out[a] = (g->in[a] - 1 - p->taps[a][0] * 2 - 2) / g->stride[a] + 1;
  }
  p->n_y = (size_t)(g->batch * g->oc * g->out[0] * g->out[1] * g->out[2]);
}

static uint32_t seed;
static float normal(void) { return blocks_normal(&seed); }

/* ---- rounding errors ---- */

static float rectified(void) { return fmaxf(normal(), 0) + 0.5f; } /* after an activation: one sign */
static float heavy(void) { return expf(1.5f * normal()); }         /* a few far above the rest */

static void test_errors_stay_near_those_of_plain_sums(void **state) {
  (void)state;
  static float (*const draws[])(void) = {normal, rectified, heavy};
  static const double most[] = {3e-7, 1e-6, 3e-7, 1e-6}; /* plain sums have 1e-7 to 3e-7 */
  for (size_t k = 0; k < OX_COUNT(draws); k++) {
    blocks_problem p;
    seed = 5;
    problem_init(&p, 1, 128, 32, 1, 22, 22, 1);
    for (size_t i = 0; i < p.n_x; i++) p.x[i] = draws[k]();
    for (size_t i = 0; i < p.n_w; i++) p.w[i] = normal() + (k ? 0.3f : 0);
    for (size_t l = 0; level_next(&l); l++)
      for (size_t f = 0; f < OX_COUNT(names); f++) {
        set_form(&p, f, test_levels[l].have);
        blocks_run_form(&p, names[f]);
        double error = blocks_error_of(&p);
        if (!(error <= most[f])) fail_msg("%s on %s, data %zu: error %g", names[f], test_levels[l].name, k, error);
      }
    blocks_problem_deinit(&p);
  }
}

/* ---- what is not finite ---- */

/* One special number at each place of a tile in turn: outputs that do not see it are as without it. */
static void test_a_spoiled_tile_is_summed_plainly(void **state) {
  (void)state;
  static const float values[] = {INFINITY, -INFINITY, NAN, 3e38f};
  blocks_problem p;
  seed = 9;
  problem_init(&p, 1, 16, 16, 1, 11, 11, 1);
  for (size_t i = 0; i < p.n_w; i++) p.w[i] = normal();
  for (size_t l = 0; level_next(&l); l++)
    for (int place = 0; place < 36; place++) {
      for (size_t i = 0; i < p.n_x; i++) p.x[i] = normal();
      p.x[((3 + place / 6) * 11 + 3 + place % 6) * OX_BLOCK + 5] = values[place % 4];
      for (size_t f = 0; f < OX_COUNT(names); f++) {
        set_form(&p, f, test_levels[l].have);
        blocks_run_form(&p, names[f]);
        for (size_t i = 0; i < p.n_y; i++) {
          double size, want = blocks_sum_at(&p, i, &size);
          if (fabs(want) > 3.4028235e38) want = copysign(INFINITY, want);
          if (!blocks_is_as((double)p.y[i], want, 4e-6 * fmin(size, 1e38) + 1e-4))
            fail_msg("%s on %s, place %d: [%zu] is %g, wanted %g", names[f], test_levels[l].name, place, i,
                     (double)p.y[i], want);
        }
      }
    }
  blocks_problem_deinit(&p);
}

/* ---- shapes ---- */

/* The same image alone and among others, where strips begin elsewhere: the same bits. */
static void test_strips_do_not_show(void **state) {
  (void)state;
  static const int64_t sizes[][2] = {{33, 35}, {9, 70}, {5, 5}};
  for (size_t s = 0; s < OX_COUNT(sizes); s++)
    for (size_t l = 0; level_next(&l); l++)
      for (size_t f = 0; f < OX_COUNT(names); f++) {
        blocks_problem one, many;
        seed = 3;
        problem_init(&one, 1, 32, 80, 1, sizes[s][0], sizes[s][1], 1);
        problem_init(&many, 5, 32, 80, 1, sizes[s][0], sizes[s][1], 1);
        for (size_t i = 0; i < many.n_x; i++) many.x[i] = normal();
        for (size_t i = 0; i < many.n_w; i++) many.w[i] = one.w[i] = normal();
        set_form(&one, f, test_levels[l].have), set_form(&many, f, test_levels[l].have);
        blocks_run_form(&many, names[f]);
        for (size_t n = 0; n < 5; n++) {
          memcpy(one.x, many.x + n * one.n_x, one.n_x * sizeof(float));
          blocks_run_form(&one, names[f]);
          assert_memory_equal(one.y, many.y + n * one.n_y, one.n_y * sizeof(float));
        }
        blocks_problem_deinit(&one), blocks_problem_deinit(&many);
      }
}

/* Depth goes by as more images; pads may be wide, none, or negative. */
static void test_volumes_and_pads(void **state) {
  (void)state;
  for (int64_t pad = -2; pad <= 7; pad++)
    for (size_t l = 0; level_next(&l); l++)
      for (size_t f = 0; f < OX_COUNT(names); f++) {
        blocks_problem p;
        seed = 4;
        problem_init(&p, 2, 32, 48, 3, 9, 13, pad);
        for (size_t i = 0; i < p.n_x; i++) p.x[i] = normal();
        for (size_t i = 0; i < p.n_w; i++) p.w[i] = normal();
        set_form(&p, f, test_levels[l].have);
        blocks_run_form(&p, names[f]);
        double error = blocks_error_of(&p);
        if (!(error <= 1e-6)) fail_msg("%s on %s, pad %d: error %g", names[f], test_levels[l].name, (int)pad, error);
        blocks_problem_deinit(&p);
      }
}

/* Windows of some taps along the depth: errors as of one, and the bits of a volume do not tell its neighbours. */
static void test_deep_windows(void **state) {
  (void)state;
  static const struct {
    int64_t taps, dilation, stride, pad;
  } rows[] = {{3, 1, 1, 1}, {3, 1, 1, 0}, {2, 1, 1, 1}, {7, 1, 1, 3},
              {5, 1, 1, 6}, {3, 2, 1, 2}, {3, 1, 2, 1}, {1, 1, 2, 2}};
  for (size_t r = 0; r < OX_COUNT(rows); r++)
    for (size_t l = 0; level_next(&l); l++)
      for (size_t f = 0; f < OX_COUNT(names); f++) {
        if (f == LATE && rows[r].taps > 1) continue;
        blocks_problem one, many;
        for (int n = 1; n <= 2; n++) {
          blocks_problem *p = n == 1 ? &one : &many;
          blocks_problem_init(p, n, 32, 48, (const int64_t[]){9, 6, 9}, (const int64_t[]){rows[r].taps, 3, 3},
                              (const int64_t[]){rows[r].dilation, 1, 1}, (const int64_t[]){rows[r].pad, 1, 1});
          p->t.g.stride[0] = rows[r].stride, p->t.g.out[0] = (p->t.g.out[0] - 1) / rows[r].stride + 1;
          set_form(p, f, test_levels[l].have);
        }
        seed = 8;
        for (size_t i = 0; i < many.n_x; i++) many.x[i] = normal();
        for (size_t i = 0; i < many.n_w; i++) many.w[i] = one.w[i] = normal();
        memcpy(one.x, many.x + one.n_x, one.n_x * sizeof(float));
        blocks_run_form(&one, names[f]), blocks_run_form(&many, names[f]);
        double error = blocks_error_of(&many);
        if (!(error <= 1e-6)) fail_msg("%s on %s, row %zu: error %g", names[f], test_levels[l].name, r, error);
        assert_memory_equal(one.y, many.y + one.n_y, one.n_y * sizeof(float));
        blocks_problem_deinit(&one), blocks_problem_deinit(&many);
      }
}

/* More than what goes through the products at a time, and not a whole number of that. */
static void test_many_channels(void **state) {
  (void)state;
  blocks_problem p;
  seed = 6;
  problem_init(&p, 2, 272, 48, 1, 7, 9, 1);
  for (size_t i = 0; i < p.n_x; i++) p.x[i] = normal();
  for (size_t i = 0; i < p.n_w; i++) p.w[i] = normal();
  for (size_t l = 0; level_next(&l); l++)
    for (size_t f = 0; f < OX_COUNT(names); f++) {
      set_form(&p, f, test_levels[l].have);
      blocks_run_form(&p, names[f]);
      double error = blocks_error_of(&p);
      if (!(error <= 1e-6)) fail_msg("%s on %s: error %g", names[f], test_levels[l].name, error);
    }
  blocks_problem_deinit(&p);
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
      blocks_problem p;
      problem_init(&p, rows[i].batch, rows[i].channels, rows[i].channels, 1, rows[i].size, rows[i].size, 1);
      p.t.isa = levels[l];
      const char *name = ox_bconv_choose(&p.t)->name;
      if (rows[i].late != !strcmp(name, "winograd4 late"))
        fail_msg("%d images, %d channels, level %zu: %s", (int)rows[i].batch, (int)rows[i].channels, l, name);
      blocks_problem_deinit(&p);
    }
}

/* ---- what is not served ---- */

static void test_what_is_left_to_others(void **state) {
  (void)state;
  static int64_t wide[3] = {-2, 0, 2}, uneven[3] = {-2, 0, 1}, beyond[3] = {-INT64_MAX / 2, 0, INT64_MAX / 2};
  for (size_t f = 0; f < OX_COUNT(names); f++) {
    const ox_bconv_form *form = blocks_form_called(names[f]);
    blocks_problem p;
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
    blocks_problem_deinit(&p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_errors_stay_near_those_of_plain_sums),
      cmocka_unit_test(test_a_spoiled_tile_is_summed_plainly),
      cmocka_unit_test(test_strips_do_not_show),
      cmocka_unit_test(test_volumes_and_pads),
      cmocka_unit_test(test_deep_windows),
      cmocka_unit_test(test_many_channels),
      cmocka_unit_test(test_when_u_is_made_late),
      cmocka_unit_test(test_what_is_left_to_others),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

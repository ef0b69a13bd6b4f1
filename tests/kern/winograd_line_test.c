/* SPDX-License-Identifier: Apache-2.0
 * kern/winograd_line_test.c - Winograd's convolution along one axis, what bconv_test.c does not ask: any number of taps
 * along any axis, rounding errors, which outputs an infinity may touch, that strips do not show in the results, where
 * it is chosen and what it leaves to others. */
#include "support/check.h"

#include <math.h>
#include <string.h>

#include "support/blocks_problem.h"
#include "support/levels.h"

static const struct {
  const char *name;
  int64_t least, most; /* taps */
  int64_t stride;
} forms[] = {{"winograd line 3", 2, 3, 1},
             {"winograd line 5", 4, 5, 1},
             {"winograd line 7", 6, 7, 1},
             {"winograd long line", 6, 256, 1},
             {"winograd line 3 of stride 2", 3, 3, 2}};
enum { STRIDE2 = OX_COUNT(forms) - 1 };

static uint32_t seed;
static float normal(void) { return blocks_normal(&seed); }

/* For forms[form]: a line of |length| along |axis|, beside |beside| others along each of the other two. */
static void line_init(blocks_problem *p, size_t form, int64_t batch, int64_t ic, int64_t oc, int axis, int64_t length,
                      int64_t beside, int64_t taps, int64_t dilation, int64_t pad) {
  int64_t in[] = {beside, beside, beside}, kernel[] = {1, 1, 1}, apart[] = {1, 1, 1}, pads[] = {0, 0, 0};
  in[axis] = length, kernel[axis] = taps, apart[axis] = forms[form].stride > 1 ? 1 : dilation, pads[axis] = pad;
  blocks_problem_init(p, batch, ic, oc, in, kernel, apart, pads);
  ox_conv_geom *g = &p->t.g;
  g->stride[axis] = forms[form].stride, g->out[axis] = (g->out[axis] - 1) / g->stride[axis] + 1;
  p->n_y = (size_t)(batch * oc * g->out[0] * g->out[1] * g->out[2]);
}

static void fill(blocks_problem *p) {
  for (size_t i = 0; i < p->n_x; i++) p->x[i] = normal();
  for (size_t i = 0; i < p->n_w; i++) p->w[i] = normal();
}

static void check_error(blocks_problem *p, size_t form, const char *what, double most) {
  for (size_t l = 0; level_next(&l); l++) {
    p->t.isa = test_levels[l].have;
    blocks_run_form(p, forms[form].name);
    double error = blocks_error_of(p);
    if (!(error <= most))
      fail_msg("%s on %s, %s, %d taps: error %g", forms[form].name, test_levels[l].name, what,
               (int)ox_conv_taps(&p->t.g), error);
  }
}

/* ---- values ---- */

static void test_every_number_of_taps(void **state) {
  (void)state;
  static const int64_t lengths[] = {1, 2, 7, 30, 131};
  seed = 7;
  for (size_t f = 0; f < OX_COUNT(forms); f++)
    for (int64_t taps = forms[f].least; taps <= forms[f].most; taps += taps < 24 ? 1 : taps == 24 ? 104 : 128)
      for (size_t i = 0; i < OX_COUNT(lengths); i++) {
        blocks_problem p;
        line_init(&p, f, 1, 16, 32, 2, lengths[i], 1, taps, 1, taps / 2 + 1);
        fill(&p);
        check_error(&p, f, "a line", 3e-6);
        blocks_problem_deinit(&p);
      }
}

/* Pads may be wide or cut the line; a dilation may exceed the tiles. */
static void test_axes_pads_and_dilations(void **state) {
  (void)state;
  static const int64_t pads[] = {-2, 0, 1, 6, 40}, dilations[] = {1, 2, 7};
  seed = 8;
  for (size_t f = 0; f < OX_COUNT(forms); f++)
    for (int axis = 0; axis < OX_CONV_AXES; axis++)
      for (size_t d = 0; d < OX_COUNT(dilations); d++)
        for (size_t i = 0; i < OX_COUNT(pads); i++) {
          const int64_t taps = forms[f].most > 7 ? 11 : forms[f].most, length = (taps - 1) * dilations[d] + 9;
          blocks_problem p;
          line_init(&p, f, 2, 32, 48, axis, length, 3, taps, dilations[d], pads[i]);
          fill(&p);
          check_error(&p, f, "padded", 3e-6);
          blocks_problem_deinit(&p);
        }
}

static float rectified(void) { return fmaxf(normal(), 0) + 0.5f; } /* after an activation: one sign */
static float heavy(void) { return expf(1.5f * normal()); }         /* a few far above the rest */

static void test_errors_stay_near_those_of_plain_sums(void **state) {
  (void)state;
  static float (*const draws[])(void) = {normal, rectified, heavy};
  static const double most[] = {1e-6, 1e-6, 5e-6}; /* plain sums have 1e-7 to 3e-7 */
  seed = 5;
  for (size_t k = 0; k < OX_COUNT(draws); k++)
    for (size_t f = 0; f < OX_COUNT(forms); f++) {
      blocks_problem p;
      line_init(&p, f, 1, 128, 32, 2, 260, 1, forms[f].most > 7 ? 11 : forms[f].most, 1, 2);
      for (size_t i = 0; i < p.n_x; i++) p.x[i] = draws[k]();
      for (size_t i = 0; i < p.n_w; i++) p.w[i] = normal() + (k ? 0.3f : 0);
      check_error(&p, f, "data of a kind", most[k]);
      blocks_problem_deinit(&p);
    }
}

/* One special number at each place of a tile in turn: outputs that do not see it are as without it. */
static void test_a_spoiled_tile_is_summed_plainly(void **state) {
  (void)state;
  static const float values[] = {INFINITY, -INFINITY, NAN, 3e38f};
  seed = 9;
  for (size_t f = 0; f < OX_COUNT(forms); f++)
    for (int place = 0; place < 12; place++) {
      blocks_problem p;
      line_init(&p, f, 1, 16, 16, 1, 37, 2, forms[f].most > 7 ? 13 : forms[f].most, 1, 2);
      fill(&p);
      p.x[(12 + place) * 2 * OX_BLOCK + 5] = values[place % 4];
      for (size_t l = 0; level_next(&l); l++) {
        p.t.isa = test_levels[l].have;
        blocks_run_form(&p, forms[f].name);
        for (size_t i = 0; i < p.n_y; i++) {
          double size, want = blocks_sum_at(&p, i, &size);
          if (fabs(want) > 3.4028235e38) want = copysign(INFINITY, want);
          if (!blocks_is_as((double)p.y[i], want, 4e-6 * fmin(size, 1e38) + 1e-4))
            fail_msg("%s on %s, place %d: [%zu] is %g, wanted %g", forms[f].name, test_levels[l].name, place, i,
                     (double)p.y[i], want);
        }
      }
      blocks_problem_deinit(&p);
    }
}

/* The same line alone and among others, where strips begin elsewhere: the same bits. */
static void test_strips_do_not_show(void **state) {
  (void)state;
  static const int64_t lengths[] = {5, 83, 700};
  for (size_t f = 0; f < OX_COUNT(forms); f++)
    for (size_t i = 0; i < OX_COUNT(lengths); i++) {
      const int64_t taps = forms[f].most > 7 ? 12 : forms[f].most;
      blocks_problem one, many;
      line_init(&one, f, 1, 32, 80, 2, lengths[i], 1, taps, 2, taps);
      line_init(&many, f, 5, 32, 80, 2, lengths[i], 1, taps, 2, taps);
      seed = 3;
      fill(&many);
      memcpy(one.w, many.w, one.n_w * sizeof(float));
      for (size_t l = 0; level_next(&l); l++) {
        one.t.isa = many.t.isa = test_levels[l].have;
        blocks_run_form(&many, forms[f].name);
        for (size_t n = 0; n < 5; n++) {
          memcpy(one.x, many.x + n * one.n_x, one.n_x * sizeof(float));
          blocks_run_form(&one, forms[f].name);
          assert_memory_equal(one.y, many.y + n * one.n_y, one.n_y * sizeof(float));
        }
      }
      blocks_problem_deinit(&one), blocks_problem_deinit(&many);
    }
}

/* ---- windows of several lines ---- */

/* The errors are those of one, a volume's bits do not tell its neighbours, and what is infinite stays in its window. */
static void test_windows_of_several_lines(void **state) {
  (void)state;
  static const struct {
    int64_t lines, dilation, stride, pad;
    int axis; /* of the lines' taps */
  } rows[] = {{5, 1, 1, 2, 2}, {2, 1, 1, 0, 2}, {7, 1, 1, 9, 2}, {3, 2, 1, 2, 2}, {4, 1, 3, 1, 1}};
  seed = 8;
  for (size_t r = 0; r < OX_COUNT(rows); r++)
    for (size_t f = 0; f < 3; f++) {
      blocks_problem p[2];
      for (int n = 0; n < 2; n++) {
        int64_t in[] = {1, 1, 1}, kernel[] = {1, 1, 1}, apart[] = {1, 1, 1}, pads[] = {0, 0, 0};
        const int deep = rows[r].axis - 1;
        in[deep] = 11, kernel[deep] = rows[r].lines, apart[deep] = rows[r].dilation, pads[deep] = rows[r].pad;
        in[deep + 1] = 17, kernel[deep + 1] = forms[f].most, pads[deep + 1] = 2;
        if (deep == 0) in[2] = 3;
        blocks_problem_init(&p[n], n + 1, 32, 48, in, kernel, apart, pads);
        ox_conv_geom *g = &p[n].t.g;
        g->stride[deep] = rows[r].stride, g->out[deep] = (g->out[deep] - 1) / rows[r].stride + 1;
        p[n].n_y = (size_t)((n + 1) * g->oc * g->out[0] * g->out[1] * g->out[2]);
      }
      for (int spoiled = 0; spoiled < 2; spoiled++) {
        fill(&p[1]);
        if (spoiled) p[1].x[p[1].n_x / 2 + 5 * 17 * OX_BLOCK] = INFINITY;
        memcpy(p[0].w, p[1].w, p[0].n_w * sizeof(float));
        memcpy(p[0].x, p[1].x + p[0].n_x, p[0].n_x * sizeof(float));
        if (!spoiled) check_error(&p[1], f, "several lines", 2e-6);
        for (size_t l = 0; level_next(&l); l++) {
          p[0].t.isa = p[1].t.isa = test_levels[l].have;
          blocks_run_form(&p[0], forms[f].name), blocks_run_form(&p[1], forms[f].name);
          assert_memory_equal(p[0].y, p[1].y + p[0].n_y, p[0].n_y * sizeof(float));
          for (size_t i = 0; i < p[0].n_y && spoiled; i++) {
            double size, want = blocks_sum_at(&p[0], i, &size);
            if (isfinite(want) != isfinite(p[0].y[i])) fail_msg("%s, row %zu: [%zu]", forms[f].name, r, i);
          }
        }
      }
      for (int n = 0; n < 2; n++) blocks_problem_deinit(&p[n]);
    }
}

/* ---- the choice ---- */

static void test_where_it_is_chosen(void **state) {
  (void)state;
  static const struct {
    int64_t channels, length, taps, dilation, stride;
    const char *form;
  } rows[] = {{256, 508, 5, 1, 1, "winograd line 5"},
              {192, 289, 7, 1, 1, "winograd line 7"},
              {128, 2048, 3, 5, 1, "winograd line 3"},
              {32, 8192, 11, 3, 1, "winograd long line"},
              {512, 3199, 3, 1, 2, "winograd line 3 of stride 2"},
              {64, 2, 3, 1, 1, "direct"},
              {32, 508, 1, 1, 1, "direct"}};
  static const ox_isa levels[] = {OX_AVX2, OX_AVX2 | OX_AVX512};
  for (size_t i = 0; i < OX_COUNT(rows); i++)
    for (size_t l = 0; l < OX_COUNT(levels); l++) {
      if (levels[l] & ~ox_isa_host()) continue;
      blocks_problem p;
      line_init(&p, rows[i].stride > 1 ? STRIDE2 : 0, 1, rows[i].channels, rows[i].channels, 2, rows[i].length, 1,
                rows[i].taps, rows[i].dilation, rows[i].taps / 2 * rows[i].dilation);
      p.t.isa = levels[l];
      const char *name = ox_bconv_choose(&p.t)->name;
      if (strcmp(name, rows[i].form)) fail_msg("row %zu, level %zu: %s", i, l, name);
      blocks_problem_deinit(&p);
    }
}

static void test_what_is_left_to_others(void **state) {
  (void)state;
  static int64_t uneven[256] = {-2, 0, 1}, beyond[256] = {-INT64_MAX / 2, 0, INT64_MAX / 2};
  for (size_t f = 0; f < OX_COUNT(forms); f++) {
    const ox_bconv_form *form = blocks_form_called(forms[f].name);
    blocks_problem p;
    line_init(&p, f, 1, 32, 32, 1, 40, 3, forms[f].most, 1, forms[f].most / 2);
    p.t.isa = ox_isa_host();
    assert_true(form->cost_ns(&p.t) < INFINITY);
    ox_bconv_task t[9];
    for (size_t i = 0; i < OX_COUNT(t); i++) t[i] = p.t;
    t[0].exact = true, t[1].x_plain = true, t[2].g.stride[1] = 3 - forms[f].stride, t[3].g.tap[1] = uneven,
    t[4].g.n_taps[2] = 2;
    t[4].g.tap[2] = uneven, t[5].g.groups = 2, t[5].g.ic = 12, t[6].g.n_taps[1] = forms[f].most + 1;
    t[7].g.tap[1] = beyond, t[8].g.out[2]--;
    for (size_t i = 0; i < OX_COUNT(t); i++)
      if (form->cost_ns(&t[i]) < INFINITY) fail_msg("%s serves task %zu", forms[f].name, i);
    blocks_problem_deinit(&p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_number_of_taps),
      cmocka_unit_test(test_axes_pads_and_dilations),
      cmocka_unit_test(test_errors_stay_near_those_of_plain_sums),
      cmocka_unit_test(test_a_spoiled_tile_is_summed_plainly),
      cmocka_unit_test(test_strips_do_not_show),
      cmocka_unit_test(test_windows_of_several_lines),
      cmocka_unit_test(test_where_it_is_chosen),
      cmocka_unit_test(test_what_is_left_to_others),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

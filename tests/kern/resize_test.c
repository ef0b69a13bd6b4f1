/* SPDX-License-Identifier: Apache-2.0
 * kern/resize_test.c - lines of outputs a vector at a time against one output after the other: the same bits. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "kern/resize/resize.h"
#include "support/check.h"
#include "support/levels.h"

static const int64_t ins[] = {1, 2, 15, 16, 17, 31, 32, 33, 64, 100}, outs[] = {1, 2, 7, 15, 16, 17, 32, 33, 70, 200};

typedef struct {
  ox_resize_mode mode;
  ox_resize_coord coord;
  bool antialias;
  double roi_begin, roi_end;
  bool in_order; /* lines can be made */
} row;

static const row rows[] = {
    {OX_RESIZE_LINEAR, OX_COORD_HALF_PIXEL, false, 0, 0, true},
    {OX_RESIZE_LINEAR, OX_COORD_ALIGN_CORNERS, false, 0, 0, true},
    {OX_RESIZE_LINEAR, OX_COORD_ASYMMETRIC, false, 0, 0, true},
    {OX_RESIZE_LINEAR, OX_COORD_HALF_PIXEL, true, 0, 0, true},
    {OX_RESIZE_CUBIC, OX_COORD_HALF_PIXEL, false, 0, 0, true},
    {OX_RESIZE_NEAREST, OX_COORD_HALF_PIXEL, false, 0, 0, true},
    {OX_RESIZE_NEAREST, OX_COORD_ASYMMETRIC, false, 0, 0, true},
    {OX_RESIZE_LINEAR, OX_COORD_TF_CROP_AND_RESIZE, false, 0.2, 0.9, true},
    {OX_RESIZE_LINEAR, OX_COORD_TF_CROP_AND_RESIZE, false, -0.5, 1.5, false},
    {OX_RESIZE_LINEAR, OX_COORD_TF_CROP_AND_RESIZE, false, 0.9, 0.1, false},
    {OX_RESIZE_NEAREST, OX_COORD_TF_CROP_AND_RESIZE, false, 0.9, 0.1, false},
};

/* Arrays as long as they have to be, so that a sanitizer sees their ends. */
static void *array(int64_t n, size_t each) {
  void *p = malloc(n > 0 ? (size_t)n * each : 1);
  assert_non_null(p);
  return p;
}

static void check(const ox_resize_variant *v, const row *r, int64_t in, int64_t out) {
  enum { LINES = 3 };
  ox_resize_axis a = {in,           out,        (double)(float)((double)out / (double)in),
                      r->roi_begin, r->roi_end, false,
                      r->mode,      r->coord,   OX_ROUND_PREFER_FLOOR,
                      r->antialias, false,      -0.75f};
  int64_t taps = ox_resize_taps(&a), groups = (out + OX_RESIZE_GROUP - 1) / OX_RESIZE_GROUP;
  int32_t *index = array(out * taps, sizeof *index);
  float *weight = array(out * taps, sizeof *weight), *x = array(LINES * in, sizeof *x);
  float *y = array(LINES * out, sizeof *y), *want = array(LINES * out, sizeof *want);
  ox_resize_lines lines = {array(groups, sizeof *lines.window),
                           array(groups * OX_RESIZE_GROUP * taps, sizeof *lines.index),
                           array(groups * OX_RESIZE_GROUP * taps, sizeof *lines.weight)};
  bool near = r->mode == OX_RESIZE_NEAREST;
  uint32_t seed = 5;
  ox_resize_table(&a, index, weight, NULL);
  for (int64_t i = 0; i < LINES * in; i++) x[i] = test_uniform(&seed, -9, 9);
  bool made = ox_resize_lines_fill(&lines, index, near ? NULL : weight, in, out, taps);
  if (made != r->in_order && in > 10 && out > 2)
    fail_msg("mode %d, %d to %d: lines %d", r->mode, (int)in, (int)out, made);
  ox_resize_pass p = {in, out, 1, taps, index, weight, 0.5, NULL};
  if (!near) v->f32(&p, x, want, 0, LINES * out);
  p.lines = made ? &lines : NULL;
  for (int64_t l = 0; l < LINES && near && made; l++) {
    for (int64_t o = 0; o < out; o++) want[l * out + o] = x[l * in + index[o]];
    v->near_line(&p, x + l * in, y + l * out);
  }
  if (!near) v->f32(&p, x, y, 0, out), v->f32(&p, x, y, out, LINES * out);
  if ((!near || made) && memcmp(y, want, (size_t)(LINES * out) * sizeof *y) != 0)
    fail_msg("mode %d, coordinates %d, %d to %d differ", r->mode, r->coord, (int)in, (int)out);
  free(index), free(weight), free(x), free(y), free(want), free(lines.window), free(lines.index), free(lines.weight);
}

/* Elements of every size, with a second row and without; nothing behind the last one is touched. */
static void test_twice(void **state) {
  (void)state;
  for (size_t l = 0; level_next(&l); l++)
    for (size_t w = 0; w < 4; w++)
      for (size_t k = 0; k < OX_COUNT(ins); k++) {
        size_t size = (size_t)1 << w, n = (size_t)ins[k];
        uint8_t *x = array(ins[k], size), *y = array(4 * ins[k] + 1, size);
        for (size_t i = 0; i < n * size; i++) x[i] = (uint8_t)(i * 7 + 1);
        for (int also = 0; also < 2; also++) {
          memset(y, 0, (4 * n + 1) * size);
          ox_resize_select(test_levels[l].have)->twice[w](x, y, also ? y + 2 * n * size : NULL, ins[k]);
          for (size_t i = 0; i < (also ? 4 : 2) * n; i++)
            assert_memory_equal(y + i * size, x + i % (2 * n) / 2 * size, size);
          assert_int_equal(y[(also ? 4 : 2) * n * size], 0);
        }
        free(x), free(y);
      }
}

static void test_to_whole(void **state) {
  (void)state;
  static const struct {
    float x, noise, want;
  } cases[] = {{2.5f, 0.5f, 3},        {-2.5f, 0.5f, -3}, {2.5f, 1e-4f, 2.5f}, {2.99999f, 1e-4f, 3},
               {3.00001f, 1e-4f, 3},   {300, 0.5f, 127},  {-300, 0.5f, -128},  {NAN, 0.5f, -128},
               {0.49999997f, 0.5f, 0}, {-0.0f, 0.5f, 0},  {INFINITY, 0, 127},  {126.9f, 1e-4f, 126.9f}};
  for (size_t l = 0; level_next(&l); l++)
    for (size_t i = 0; i < OX_COUNT(cases); i++) {
      float y[17];
      for (int k = 0; k < 17; k++) y[k] = cases[i].x;
      ox_resize_select(test_levels[l].have)->to_whole(y, 17, cases[i].noise, -128, 127);
      for (int k = 0; k < 17; k++)
        if (y[k] != cases[i].want) fail_msg("%s, %g: %g", test_levels[l].name, (double)cases[i].x, (double)y[k]);
    }
}

static void test_lines_are_single_outputs(void **state) {
  (void)state;
  for (size_t l = 0; level_next(&l); l++)
    for (size_t r = 0; r < OX_COUNT(rows); r++)
      for (size_t i = 0; i < OX_COUNT(ins); i++)
        for (size_t o = 0; o < OX_COUNT(outs); o++)
          check(ox_resize_select(test_levels[l].have), &rows[r], ins[i], outs[o]);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_lines_are_single_outputs), cmocka_unit_test(test_twice),
                                     cmocka_unit_test(test_to_whole)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 * kern/planes_test.c - maxima and averages of planes of floats against the plain definition in double, on every
 * instruction set; the same bits however rows are dealt out. */
#include "kern/pool/planes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "support/check.h"

static const struct axis_case {
  int axes;
  int64_t in[3], kernel[3], stride[3], dilation[3], lo[3], hi[3], out[3];
} cases[] = {
    {1, {1}, {1}, {1}, {1}, {0}, {0}, {1}},
    {1, {40}, {2}, {2}, {1}, {0}, {0}, {20}},
    {1, {100}, {25}, {1}, {1}, {12}, {12}, {100}},
    {1, {33}, {3}, {1}, {5}, {5}, {5}, {33}},
    {1, {64}, {8}, {8}, {1}, {0}, {0}, {8}},
    {1, {70}, {6}, {6}, {1}, {1}, {1}, {12}},
    {1, {152}, {8}, {8}, {1}, {0}, {0}, {19}}, /* ragged lines that are folded in place */
    {1, {41}, {3}, {2}, {3}, {3}, {3}, {21}},
    {2, {7, 7}, {7, 7}, {7, 7}, {1, 1}, {0, 0}, {0, 0}, {1, 1}},
    {2, {7, 9}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, {4, 5}},
    {2, {14, 17}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {14, 17}},
    {2, {6, 32}, {2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}, {3, 16}},
    {2, {9, 35}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {9, 35}}, /* ragged ends of more than a vector */
    {2, {8, 56}, {2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}, {4, 28}},
    {2, {7, 55}, {2, 2}, {2, 2}, {3, 1}, {0, 0}, {0, 0}, {2, 27}},
    {3, {4, 4, 17}, {1, 2, 2}, {2, 2, 2}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}, {2, 2, 8}},
    {3, {4, 4, 17}, {2, 2, 2}, {2, 2, 2}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}, {2, 2, 8}},
    {2, {3, 36}, {1, 2}, {1, 2}, {1, 1}, {0, 0}, {0, 0}, {3, 18}}, /* the rows of the input as they stand */
    {2, {8, 37}, {1, 4}, {1, 4}, {1, 1}, {0, 0}, {0, 0}, {8, 9}},
    {2, {9, 70}, {4, 5}, {3, 3}, {1, 1}, {1, 2}, {1, 2}, {3, 24}},
    {2, {13, 40}, {2, 3}, {2, 4}, {3, 2}, {1, 2}, {2, 2}, {7, 10}},
    {2, {5, 5}, {5, 13}, {1, 1}, {1, 1}, {2, 6}, {2, 6}, {5, 5}},
    {2, {2, 2}, {2, 2}, {4, 4}, {1, 1}, {2, 2}, {2, 2}, {2, 2}}, /* windows amid padding */
    {2, {7, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {7, 7}}, /* rows that a vector holds */
    {2, {14, 14}, {3, 3}, {2, 2}, {1, 1}, {0, 0}, {1, 1}, {7, 7}},
    {2, {5, 16}, {5, 5}, {1, 1}, {1, 1}, {2, 2}, {2, 2}, {5, 16}},
    {2, {9, 8}, {2, 4}, {3, 1}, {2, 2}, {1, 3}, {0, 3}, {3, 8}},
    {2, {3, 4}, {2, 8}, {1, 1}, {1, 1}, {0, 4}, {0, 4}, {2, 5}},
    {3, {3, 6, 7}, {2, 2, 3}, {1, 2, 2}, {1, 1, 1}, {1, 0, 1}, {0, 0, 1}, {3, 3, 4}},
    {3, {4, 5, 18}, {2, 3, 2}, {2, 2, 2}, {1, 1, 1}, {0, 1, 0}, {0, 1, 0}, {2, 3, 9}},
    {3, {3, 4, 6}, {3, 4, 6}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}, {1, 1, 1}},
};

enum { PLANES = 3 };

static double naive(const ox_pool *p, const float *x, const int64_t *o, double *out_count) {
  double r = p->kind == OX_POOL_MAX ? -INFINITY : 0, n = 0;
  int64_t t[3] = {0}, k[3] = {1, 1, 1}, size[3] = {1, 1, 1};
  for (int a = 0; a < p->axes; a++) k[a] = p->kernel[a], size[a] = p->in[a];
  for (t[0] = 0; t[0] < k[0]; t[0]++)
    for (t[1] = 0; t[1] < k[1]; t[1]++)
      for (t[2] = 0; t[2] < k[2]; t[2]++) {
        int64_t at = 0;
        bool inside = true, padded = true;
        for (int a = 0; a < p->axes; a++) {
          int64_t i = o[a] * p->stride[a] - p->lo[a] + t[a] * p->dilation[a];
          inside = inside && i >= 0 && i < size[a];
          padded = padded && i < size[a] + p->hi[a];
          at = at * size[a] + i;
        }
        if (p->include_pad ? padded : inside) n++;
        if (inside) r = p->kind == OX_POOL_MAX ? fmax(r, (double)x[at]) : r + (double)x[at];
      }
  *out_count = n;
  return r;
}

static void fill_inverse(const ox_pool *p, ox_planes *axes, float *memory) {
  for (int i = 0; i < OX_PLANES_AXES; i++) {
    int a = i - (OX_PLANES_AXES - p->axes);
    axes->inverse[i] = memory;
    for (int64_t o = 0; o < axes->out[i]; o++)
      *memory++ = a < 0 ? 1.0f : 1.0f / (float)OX_MAX(ox_pool_count(p, a, o), 1);
  }
}

static void check_case(const ox_planes_variant *v, size_t at, ox_pool_kind kind, bool include_pad) {
  const struct axis_case *c = &cases[at];
  ox_pool p = {.kind = kind, .axes = c->axes, .include_pad = include_pad};
  int64_t in = 1, out = 1;
  for (int a = 0; a < c->axes; a++) {
    p.in[a] = c->in[a], p.out[a] = c->out[a], p.kernel[a] = c->kernel[a], p.stride[a] = c->stride[a];
    p.dilation[a] = c->dilation[a], p.lo[a] = c->lo[a], p.hi[a] = c->hi[a];
    in *= c->in[a], out *= c->out[a];
  }
  assert_true(ox_planes_fits(&p));
  ox_planes axes;
  ox_planes_reach *table = malloc((size_t)ox_planes_table_count(&p) * sizeof *table);
  ox_planes_init(&axes, &p, table);
  float inverse[256], *x = malloc((size_t)(PLANES * in) * sizeof *x); /* no byte more: nothing is read behind it */
  float *y = malloc((size_t)(PLANES * out + 1) * sizeof *y), *split = malloc((size_t)(PLANES * out) * sizeof *split);
  float *scratch = malloc(ox_planes_scratch(&axes));
  for (int64_t i = 0; i < PLANES * in; i++) x[i] = (float)((double)((uint64_t)i * 2654435761u % 10007) / 5000 - 1);
  for (int64_t i = 5; kind == OX_POOL_MAX && i < PLANES * in; i += 11) x[i] = NAN;
  fill_inverse(&p, &axes, inverse);
  y[PLANES * out] = 7;
  int64_t rows = PLANES * axes.out[0] * axes.out[1];
  if (axes.whole) {
    v->whole(&axes, x, y, 0, PLANES);
  } else {
    v->rows(&axes, x, y, 0, rows, scratch);
    for (int64_t r = 0; r < rows; r++) v->rows(&axes, x, split, r, r + 1, scratch);
    assert_memory_equal(y, split, (size_t)(PLANES * out) * sizeof *y);
  }
  for (int64_t i = 0; i < PLANES * out; i++) {
    int64_t o[3], rest = i % out;
    for (int a = c->axes; a-- > 0; rest /= c->out[a]) o[a] = rest % c->out[a];
    double n, want = naive(&p, x + i / out * in, o, &n);
    if (kind == OX_POOL_AVERAGE) want = n > 0 ? want / n : 0;
    if (!(kind == OX_POOL_MAX ? (double)y[i] == want : fabs((double)y[i] - want) <= 1e-6))
      fail_msg("%s, case %zu, kind %d, padding counts %d: output %lld is %.9g, wanted %.9g", v->name, at, kind,
               include_pad, (long long)i, (double)y[i], want);
  }
  assert_true(y[PLANES * out] == 7);
  free(table), free(x), free(y), free(split), free(scratch);
}

static void check_variant(void **state) {
  const ox_planes_variant *v = *state;
  if (v->needs & ~ox_isa_host()) skip();
  for (size_t i = 0; i < OX_COUNT(cases); i++) {
    check_case(v, i, OX_POOL_MAX, false);
    check_case(v, i, OX_POOL_AVERAGE, false);
    check_case(v, i, OX_POOL_AVERAGE, true);
  }
}

/* NaN wherever it stands in the window, and whichever rows it is met in. */
static void test_maxima_leave_nan_out(void **state) {
  (void)state;
  size_t n;
  const ox_planes_variant *const *v = ox_planes_variants(&n);
  for (size_t i = 0; i < n; i++)
    for (int at = 0; at < 9 && !(v[i]->needs & ~ox_isa_host()); at++) {
      ox_pool p = {.axes = 2, .in = {3, 3}, .out = {1, 1}, .kernel = {3, 3}, .stride = {2, 2}, .dilation = {1, 1}};
      float x[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, y[2], scratch[4096];
      ox_planes_reach table[4];
      ox_planes axes;
      x[at] = NAN;
      ox_planes_init(&axes, &p, table);
      assert_true(ox_planes_scratch(&axes) <= sizeof scratch);
      v[i]->whole(&axes, x, &y[0], 0, 1), v[i]->rows(&axes, x, &y[1], 0, 1, scratch);
      assert_true(y[0] == (at == 8 ? 8 : 9) && y[1] == y[0]);
    }
}

static void test_what_does_not_fit(void **state) {
  (void)state;
  ox_pool four = {.axes = 4},
          far = {.axes = 1, .in = {9}, .out = {1}, .kernel = {1 << 20}, .stride = {1}, .dilation = {1}};
  assert_false(ox_planes_fits(&four));
  assert_false(ox_planes_fits(&far));
}

int main(void) {
  size_t n;
  const ox_planes_variant *const *v = ox_planes_variants(&n);
  struct CMUnitTest tests[16] = {cmocka_unit_test(test_what_does_not_fit), cmocka_unit_test(test_maxima_leave_nan_out)};
  assert_true(n + 2 <= OX_COUNT(tests));
  for (size_t i = 0; i < n; i++)
    tests[i + 2] = (struct CMUnitTest){v[i]->name, check_variant, NULL, NULL, (void *)(uintptr_t)v[i]};
  return _cmocka_run_group_tests("planes", tests, n + 2, NULL, NULL);
}

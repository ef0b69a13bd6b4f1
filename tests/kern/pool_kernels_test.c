/* SPDX-License-Identifier: Apache-2.0
 * kern/pool_kernels_test.c - planes of doubles against windows that are looked at one by one: every kind, up to three
 * axes, padding beyond the window, NaN, ties, and what no window sees. */
#include <math.h>

#include "base/macros.h"
#include "kern/pool/pool.h"
#include "support/check.h"
#include "support/levels.h"

static const struct {
  const char *name;
  int axes;
  int64_t in[3], kernel[3], stride[3], dilation[3], lo[3], hi[3];
} rows[] = {
    {"one element", 1, {1}, {1}, {1}, {1}, {0}, {0}},
    {"pairs", 1, {9}, {2}, {2}, {1}, {0}, {0}},
    {"a window of padding", 1, {3}, {2}, {1}, {1}, {3}, {3}},
    {"longer than the input", 1, {4}, {7}, {1}, {1}, {3}, {3}},
    {"squares", 2, {6, 8}, {2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}},
    {"padded squares", 2, {7, 5}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}},
    {"each with its neighbours", 2, {5, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
    {"gaps between taps", 2, {9, 11}, {2, 3}, {1, 2}, {3, 2}, {2, 1}, {0, 3}},
    {"gaps between windows", 2, {11, 10}, {2, 1}, {5, 3}, {1, 1}, {0, 1}, {0, 0}},
    {"boxes", 3, {4, 5, 6}, {2, 3, 2}, {1, 2, 2}, {1, 1, 2}, {0, 1, 1}, {1, 0, 1}},
};

enum { MOST = 4096 };

static int64_t outputs(size_t r, int a) {
  return (rows[r].in[a] + rows[r].lo[a] + rows[r].hi[a] - (rows[r].kernel[a] - 1) * rows[r].dilation[a] - 1) /
             rows[r].stride[a] +
         1;
}

/* The output at |o|, by the definition. */
static double window(const ox_pool *p, const double *x, const int64_t *o, int64_t *index) {
  int64_t taps = 1, counted = 0;
  double y = p->kind == OX_POOL_MAX ? -INFINITY : 0;
  *index = -1;
  for (int a = 0; a < p->axes; a++) taps *= p->kernel[a];
  for (int64_t t = 0; t < taps; t++) {
    int64_t rest = t, at[3], place = 0, column = 0, pitch = 1;
    bool inside = true, padding = true;
    for (int a = p->axes; a-- > 0; rest /= p->kernel[a]) {
      at[a] = o[a] * p->stride[a] - p->lo[a] + rest % p->kernel[a] * p->dilation[a];
      inside &= at[a] >= 0 && at[a] < p->in[a];
      padding &= at[a] >= -p->lo[a] && at[a] < p->in[a] + p->hi[a];
    }
    counted += p->include_pad ? padding : inside;
    if (!inside) continue;
    for (int a = 0; a < p->axes; a++) place = place * p->in[a] + at[a], column += at[a] * pitch, pitch *= p->in[a];
    double v = x[place];
    if (p->kind == OX_POOL_AVERAGE) y += v;
    if (p->kind == OX_POOL_LP) y += pow(fabs(v), p->p);
    if (p->kind == OX_POOL_MAX && (*index < 0 || isnan(y) || v > y)) y = v, *index = p->column_major ? column : place;
  }
  if (p->kind == OX_POOL_AVERAGE) return counted ? y / (double)counted : 0;
  return p->kind == OX_POOL_LP ? pow(y, 1 / p->p) : y;
}

static void check(size_t r, const ox_pool *p, const double *x) {
  static double y[MOST];
  static int64_t index[MOST];
  int64_t n = 1, place;
  for (int a = 0; a < p->axes; a++) n *= p->out[a];
  assert_true(n + 1 < MOST);
  for (int with = 0; with < 2; with++) {
    y[n] = 77, index[n] = 77;
    ox_pool_plane(p, x, y, with ? index : NULL, &(ox_stop){0});
    for (int64_t i = 0; i < n; i++) {
      int64_t o[3], rest = i;
      for (int a = p->axes; a-- > 0; rest /= p->out[a]) o[a] = rest % p->out[a];
      double want = window(p, x, o, &place);
      bool close = p->kind == OX_POOL_LP ? fabs(y[i] - want) <= 1e-14 * want : y[i] == want;
      if (!close && !(isnan(y[i]) && isnan(want)))
        fail_msg("%s, kind %d: output %d is %g, wanted %g", rows[r].name, p->kind, (int)i, y[i], want);
      if (with && p->kind == OX_POOL_MAX && index[i] != place)
        fail_msg("%s: index of output %d is %d, wanted %d", rows[r].name, (int)i, (int)index[i], (int)place);
    }
    assert_true(y[n] == 77 && index[n] == 77);
  }
}

static void test_windows_one_by_one(void **state) {
  (void)state;
  static double x[MOST];
  for (size_t r = 0; r < OX_COUNT(rows); r++) {
    ox_pool p = {.axes = rows[r].axes};
    uint32_t seed = 3;
    for (int a = 0; a < p.axes; a++) {
      p.in[a] = rows[r].in[a], p.out[a] = outputs(r, a), p.kernel[a] = rows[r].kernel[a];
      p.stride[a] = rows[r].stride[a], p.dilation[a] = rows[r].dilation[a];
      p.lo[a] = rows[r].lo[a], p.hi[a] = rows[r].hi[a];
    }
    for (int kinds = 0; kinds < 8; kinds++) {
      p.kind = kinds < 3 ? OX_POOL_MAX : kinds < 5 ? OX_POOL_AVERAGE : OX_POOL_LP;
      p.column_major = kinds == 1, p.include_pad = kinds == 4, p.p = kinds - 4;
      for (int i = 0; i < MOST; i++) { /* few values, so that there are ties */
        x[i] = (double)(test_random(&seed) >> 29) - 3;
        if (kinds == 2 && test_random(&seed) >> 30 == 0) x[i] = (double)NAN;
      }
      check(r, &p, x);
      for (int i = 0; i < MOST; i++) x[i] = p.kind == OX_POOL_MAX ? (double)NAN : -(double)INFINITY;
      if (p.kind != OX_POOL_LP) check(r, &p, x);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_windows_one_by_one)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

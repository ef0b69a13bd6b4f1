/* SPDX-License-Identifier: Apache-2.0
 * kern/softmax_test.c - softmax, log-softmax and row normalization pieces against double, at every level. */
#include <stdbool.h>
#include <stdlib.h>

#include "kern/norm/norm.h"
#include "kern/softmax/softmax.h"
#include "support/check.h"
#include "support/levels.h"

enum { MOST = 140001 };
/* One element after the other, through the C library; |step| apart. */
static void naive(const double *x, double *y, size_t n, size_t step, int is_log) {
  double high = -INFINITY;
  long double sum = 0;
  for (size_t i = 0; i < n; i++) high = x[i * step] > high || isnan(x[i * step]) ? x[i * step] : high;
  for (size_t i = 0; i < n; i++) sum += expl((long double)x[i * step] - (long double)high);
  for (size_t i = 0; i < n; i++) {
    long double off = (long double)x[i * step] - (long double)high;
    y[i * step] = (double)(is_log ? off - logl(sum) : expl(off) / sum);
  }
}

static const size_t lengths[] = {1, 2, 7, 8, 15, 16, 17, 33, 64, 100, 1000, 4097, 5000, MOST};

static void test_rows_match_double(void **state) {
  (void)state;
  static float x[MOST], y[MOST];
  static double in[MOST], want[MOST];
  for (size_t l = 0; level_next(&l); l++) {
    const ox_softmax_table *t = ox_softmax_select(test_levels[l].have);
    for (size_t k = 0; k < OX_COUNT(lengths); k++)
      for (int is_log = 0; is_log < 2; is_log++) {
        uint32_t seed = 9;
        size_t n = lengths[k];
        for (size_t i = 0; i < n; i++) x[i] = test_uniform(&seed, -30, 30), in[i] = (double)x[i];
        if (n > 20) x[13] = -INFINITY, in[13] = -INFINITY;
        naive(in, want, n, 1, is_log);
        (is_log ? t->log_row : t->row)(x, y, n);
        for (size_t i = 0; i < n; i++) {
          double scale = is_log ? fmax(fabs(want[i]), 1) : want[i] + 5e-33; /* below exp(-87) is 0 */
          if (!(y[i] == want[i]) &&
              !(fabs((double)y[i] - want[i]) <= 4e-6 * scale)) /* a float that is 60 off is 2e-6 off after exp */
            fail_msg("%s, n = %zu, log %d: %zu is %g, wanted %g", test_levels[l].name, n, is_log, i, (double)y[i],
                     want[i]);
        }
        (is_log ? t->log_row : t->row)(x, x, n);
        assert_memory_equal(x, y, n * sizeof *x);
      }
  }
}

static void test_columns_match_rows(void **state) {
  (void)state;
  enum { ROWS = 37, PITCH = 50 };
  static float x[ROWS * PITCH], y[ROWS * PITCH];
  static double in[ROWS * PITCH], want[ROWS * PITCH];
  for (size_t l = 0; level_next(&l); l++)
    for (size_t width = 1; width <= PITCH; width += 7)
      for (int is_log = 0; is_log < 2; is_log++) {
        uint32_t seed = 2;
        for (size_t i = 0; i < ROWS * PITCH; i++) x[i] = test_uniform(&seed, -9, 9), in[i] = (double)x[i], y[i] = -5;
        ox_softmax_select(test_levels[l].have)->columns(x, y, ROWS, width, PITCH, is_log, NULL);
        for (size_t j = 0; j < PITCH; j++) naive(in + j, want + j, ROWS, PITCH, is_log);
        for (size_t i = 0; i < ROWS * PITCH; i++) {
          double w = i % PITCH < width ? want[i] : -5;
          assert_true(fabs((double)y[i] - w) <= 2e-6 * fmax(fabs(w), is_log ? 1 : 0));
        }
      }
}

/* Of all lengths and numbers of rows, at the end of an array; one of them is masked but for one element. */
static void test_short_rows_match_double(void **state) {
  (void)state;
  enum { ROWS = 50, LONGEST = 16 };
  for (size_t l = 0; level_next(&l); l++) {
    const ox_softmax_table *t = ox_softmax_select(test_levels[l].have);
    assert_true(t->short_most >= 1 && t->short_most <= LONGEST);
    for (size_t n = 1; n <= t->short_most; n++)
      for (size_t rows = 1; rows <= ROWS; rows++)
        for (int is_log = 0; is_log < 2; is_log++) {
          float *x = malloc(rows * n * sizeof *x), *y = malloc(rows * n * sizeof *y); /* a sanitizer sees the end */
          double in[ROWS * LONGEST], want[LONGEST];
          uint32_t seed = (uint32_t)(n * ROWS + rows);
          assert_true(x && y);
          for (size_t i = 0; i < rows * n; i++) x[i] = test_uniform(&seed, -20, 20);
          for (size_t i = 1; i < n; i++) x[rows / 2 * n + i] = -INFINITY;
          for (size_t i = 0; i < rows * n; i++) in[i] = (double)x[i];
          t->short_rows(x, y, rows, n, is_log);
          for (size_t i = 0; i < rows * n; i++) {
            if (i % n == 0) naive(in + i, want, n, 1, is_log);
            double w = want[i % n], scale = is_log ? fmax(fabs(w), 1) : w + 5e-33;
            if (!((double)y[i] == w) && !(fabs((double)y[i] - w) <= 3e-6 * scale))
              fail_msg("%s, %zu rows of %zu, log %d: %zu is %g, wanted %g", test_levels[l].name, rows, n, is_log, i,
                       (double)y[i], w);
          }
          t->short_rows(x, x, rows, n, is_log);
          assert_memory_equal(x, y, rows * n * sizeof *x);
          x[rows * n - 1] = NAN;
          t->short_rows(x, y, rows, n, is_log);
          for (size_t i = 0; i < rows * n; i++) assert_true(isnan(y[i]) == (i >= (rows - 1) * n));
          free(x), free(y);
        }
  }
}

static void test_nan_poisons_its_row(void **state) {
  (void)state;
  for (size_t l = 0; level_next(&l); l++)
    for (size_t at = 0; at < 40; at += 3) {
      float x[40], y[40];
      for (size_t i = 0; i < 40; i++) x[i] = i == at ? NAN : 1;
      ox_softmax_select(test_levels[l].have)->row(x, y, 40);
      for (size_t i = 0; i < 40; i++) assert_true(isnan(y[i]));
    }
}

/* Logits far from 0, masks, and infinities. */
static void test_large_magnitudes(void **state) {
  (void)state;
  static const float centers[] = {0, 1000, -1000, 9.9e5f, -3e6f, 1e9f, -1e30f};
  for (size_t l = 0; level_next(&l); l++)
    for (size_t c = 0; c < OX_COUNT(centers); c++)
      for (size_t n = 3; n < 300; n += 37) {
        float x[300], y[300], z[300];
        double in[300], want[300], logs[300];
        for (size_t i = 0; i < n; i++) {
          x[i] = i % 3 == 1 ? (i % 2 ? -INFINITY : -3e38f) : centers[c] + (float)(i % 7);
          in[i] = (double)x[i];
        }
        naive(in, want, n, 1, 0);
        naive(in, logs, n, 1, 1);
        ox_softmax_select(test_levels[l].have)->row(x, y, n);
        ox_softmax_select(test_levels[l].have)->log_row(x, z, n);
        for (size_t i = 0; i < n; i++) {
          assert_true(fabs((double)y[i] - want[i]) <= 2e-6 * want[i] + 1e-37);
          assert_true((double)z[i] == logs[i] || fabs((double)z[i] - logs[i]) <= 2e-6 * fmax(1, fabs(logs[i])));
        }
      }
}

static double test_mean_square(const float *x, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += (double)x[i] * (double)x[i];
  return sum / (double)n;
}

static void test_norm_pieces(void **state) {
  (void)state;
  static float x[MOST], y[MOST], scale[MOST], bias[MOST];
  for (size_t l = 0; level_next(&l); l++) {
    const ox_norm_table *t = ox_norm_select(test_levels[l].have);
    for (size_t k = 0; k < OX_COUNT(lengths); k++) {
      size_t n = lengths[k];
      uint32_t seed = 4;
      double mean = 0, variance = 0;
      for (size_t i = 0; i < n; i++) {
        x[i] = 1000 + test_uniform(&seed, -1, 1), scale[i] = test_uniform(&seed, -1, 1),
        bias[i] = test_uniform(&seed, -1, 1);
        mean += (double)x[i] / (double)n;
      }
      for (size_t i = 0; i < n; i++) variance += ((double)x[i] - mean) * ((double)x[i] - mean) / (double)n;
      assert_true(fabs(t->mean(x, n) - mean) <= 1e-6 * 1000);
      double off, squares = t->deviation(x, n, 1000.25f, &off);
      assert_true(fabs(off - (mean - 1000.25)) <= 1e-6);
      assert_true(fabs(squares - off * off - variance) <= 1e-5);
      ox_moments m = ox_norm_moments(t, x, n);
      assert_true(fabs(m.mean - mean) <= 1e-6 && fabs(m.variance - variance) <= 1e-5);
      assert_true(fabs(t->mean_square(scale, n) - test_mean_square(scale, n)) <= 1e-6);
      for (int parts = 0; parts < 4; parts++) {
        const float *s = parts & 1 ? scale : NULL, *b = parts & 2 ? bias : NULL;
        t->apply(x, y, n, 999.50001, 0.25f, s, b);
        for (size_t i = 0; i < n; i++) {
          double want = ((double)x[i] - 999.50001) * 0.25 * (s ? (double)s[i] : 1) + (b ? (double)b[i] : 0);
          assert_true(fabs((double)y[i] - want) <= 5e-7);
        }
        t->add(x, scale, b, y, n);
        for (size_t i = 0; i < n; i++)
          assert_true(fabs((double)y[i] - ((double)x[i] + (double)scale[i] + (b ? (double)b[i] : 0))) <= 2e-4);
      }
    }
  }
}

/* Doubles: rows, and columns, whose bits are those of their rows where there are few; in place, and a NaN. */
static void test_doubles(void **state) {
  (void)state;
  enum { PITCH = 131, MOST_ROWS = 40 };
  static double x[MOST], y[MOST + 1], want[MOST];
  for (size_t l = 0; level_next(&l); l++) {
    const ox_softmax_f64 *t = ox_softmax_f64_select(test_levels[l].have);
    for (size_t k = 0; k < 2 * OX_COUNT(lengths); k++) {
      size_t n = lengths[k / 2];
      int is_log = k % 2;
      uint32_t seed = 9;
      for (size_t i = 0; i < n; i++) x[i] = (double)test_uniform(&seed, -700, 30) * (i % 3 ? 0.05 : 1);
      if (n > 20) x[13] = -INFINITY;
      naive(x, want, n, 1, is_log), y[n] = 7;
      t->row(x, y, n, is_log, NULL);
      for (size_t i = 0; i < n; i++)
        if (!(y[i] == want[i]) &&
            !(fabs(y[i] - want[i]) <=
              1e-13 * (is_log ? fmax(fabs(want[i]), 1) : fmax(want[i], 0x1p-1022)))) /* 700 off is rounded by 6e-14 */
          fail_msg("%s, n = %zu, log %d: %zu is %.17g, wanted %.17g", test_levels[l].name, n, is_log, i, y[i], want[i]);
      assert_true(y[n] == 7);
      t->row(x, x, n, is_log, NULL);
      assert_memory_equal(x, y, n * sizeof *x);
      x[n / 2] = NAN;
      t->row(x, y, n, is_log, NULL);
      for (size_t i = 0; i < n; i++) assert_true(isnan(y[i]));
    }
    for (size_t k = 0; k < 2 * PITCH; k += 3) {
      size_t width = k / 2 + 1, rows = k % (MOST_ROWS - 1) + 1;
      int is_log = k % 2;
      uint32_t seed = 3;
      for (size_t i = 0; i < rows * PITCH; i++) x[i] = (double)test_uniform(&seed, -9, 9), y[i] = -5;
      x[0] = INFINITY;
      for (size_t j = 0; j < PITCH; j++) naive(x + j, want + j, rows, PITCH, is_log);
      t->columns(x, y, rows, width, PITCH, is_log, NULL);
      for (size_t i = 0; i < rows * PITCH; i++) {
        double w = i % PITCH < width ? want[i] : -5;
        assert_true(isnan(w) ? isnan(y[i]) : fabs(y[i] - w) <= 1e-14 * fmax(fabs(w), is_log));
      }
    }
  }
}

typedef struct {
  int looks, last; /* the number of the look that says so */
} looker;

static bool look(const void *ctx) {
  looker *k = (looker *)(uintptr_t)ctx;
  return ++k->looks >= k->last;
}

/* Looks come often enough, change no bit, and are over when one has said so. */
static void test_long_ones_end_early(void **state) {
  (void)state;
  static float x[MOST], want[MOST], y[MOST];
  static double in[MOST], out[MOST];
  for (size_t i = 0; i < MOST; i++) x[i] = (float)(i % 97), in[i] = x[i];
  for (size_t l = 0; level_next(&l); l++) {
    const ox_softmax_table *t = ox_softmax_select(test_levels[l].have);
    for (int is_log = 0; is_log < 2; is_log++) {
      looker never = {0, INT32_MAX}, soon = {0, 2}, soon_too = soon, soon_f64 = soon;
      const ox_stop stop = {look, &never}, stops[] = {{look, &soon}, {look, &soon_too}, {look, &soon_f64}};
      (is_log ? t->log_row : t->row)(x, want, MOST);
      t->long_row(x, y, MOST, is_log, &stop);
      assert_memory_equal(y, want, sizeof y);
      assert_true(never.looks >= 3 * (MOST / (1 << 16)));
      t->long_row(x, y, MOST, is_log, &stops[0]);
      assert_int_equal(soon.looks, 2);
      t->columns(x, y, MOST / 4, 4, 4, is_log, &stops[1]);
      ox_softmax_f64_select(test_levels[l].have)->row(in, out, MOST, is_log, &stops[2]);
      assert_true(soon_too.looks >= 2 && soon_too.looks <= 2 + 3 * 4 && soon_f64.looks >= 2 && soon_f64.looks <= 4);
    }
  }
}

/* Some rows at once have the bits of each alone, in place too. */
static void test_some_rows(void **state) {
  (void)state;
  enum { ROWS = 37, LONGEST = 512 };
  static float x[ROWS * LONGEST], y[ROWS * LONGEST + 1], want[ROWS * LONGEST];
  for (size_t l = 0; level_next(&l); l++) {
    const ox_softmax_table *t = ox_softmax_select(test_levels[l].have);
    assert_true(t->log_most <= LONGEST && t->rows_most <= LONGEST);
    for (size_t k = 2; k < 2 + t->log_most + t->rows_most; k += k % 256 < 160 ? 1 : 7)
      for (size_t rows = 1; rows <= ROWS; rows += 9) {
        bool is_log = k < 2 + t->log_most;
        size_t n = is_log ? k - 1 : k - 1 - t->log_most;
        void (*one)(const float *, float *, size_t) = is_log ? t->log_row : t->row;
        void (*some)(const float *, float *, size_t, size_t) = is_log ? t->log_rows : t->rows;
        uint32_t seed = (uint32_t)n;
        for (size_t i = 0; i < rows * n; i++) x[i] = test_uniform(&seed, -90, 90);
        x[rows / 2 * n] = -INFINITY, x[rows / 3 * n + n / 2] = NAN, y[rows * n] = 7;
        x[(rows - 1) * n] = 3e7f;
        for (size_t r = 0; r < rows; r++) one(x + r * n, want + r * n, n);
        some(x, y, rows, n);
        assert_true(y[rows * n] == 7);
        some(x, x, rows, n);
        for (size_t i = 0; i < rows * n; i++)
          if (!(y[i] == want[i] && x[i] == want[i]) && !(isnan(y[i]) && isnan(want[i]) && isnan(x[i])))
            fail_msg("%s, %zu of %zu: %a and %a, wanted %a", test_levels[l].name, i, n, (double)y[i], (double)x[i],
                     (double)want[i]);
      }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rows_match_double),
      cmocka_unit_test(test_columns_match_rows),
      cmocka_unit_test(test_some_rows),
      cmocka_unit_test(test_short_rows_match_double),
      cmocka_unit_test(test_nan_poisons_its_row),
      cmocka_unit_test(test_large_magnitudes),
      cmocka_unit_test(test_doubles),
      cmocka_unit_test(test_norm_pieces),
      cmocka_unit_test(test_long_ones_end_early),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

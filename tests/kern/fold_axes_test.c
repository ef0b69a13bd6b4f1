/* SPDX-License-Identifier: Apache-2.0
 * kern/fold_axes_test.c - folds over every choice of axes against sums by index, in double; long rows keep their
 * accuracy.
 */
#include <stdbool.h>
#include <stdlib.h>

#include "graph/dtype.h"
#include "kern/quant/convert.h"
#include "kern/reduce/fold.h"
#include "support/check.h"
#include "support/levels.h"

static const struct {
  int rank;
  int64_t dim[4];
} shapes[] = {{3, {5, 3, 130}},   {3, {2, 33, 70}},    {0, {0}},          {1, {7}},       {2, {3, 65}},
              {2, {65, 3}},       {3, {4, 1, 9}},      {4, {2, 3, 5, 4}}, {2, {700, 2}},  {3, {2, 40, 129}},
              {3, {2, 300, 16}},  {4, {2, 3, 37, 16}}, {2, {35, 17}},     {2, {19, 128}}, {3, {3, 101, 4}},
              {4, {5, 6, 7, 24}}, {2, {9, 129}}};

static double map(ox_fold f, double v, double shift) {
  switch (f) {
    case OX_FOLD_ABS:
      return fabs(v);
    case OX_FOLD_SQUARE:
      return v * v;
    case OX_FOLD_EXP:
      return exp(v - shift);
    default:
      return v;
  }
}

static double join(ox_fold f, double a, double b) {
  return f == OX_FOLD_PROD ? a * b : f == OX_FOLD_MAX ? fmax(a, b) : f == OX_FOLD_MIN ? fmin(a, b) : a + b;
}

static void oracle(const ox_shape *s, const bool *fold, ox_fold f, const double *x, double *acc) {
  int64_t count = 1;
  for (int d = 0; d < s->rank; d++) count *= s->dim[d];
  for (int64_t i = 0; i < count; i++) {
    int64_t rest = i, out = 0, step = 1;
    for (int d = s->rank - 1; d >= 0; d--) {
      if (!fold[d]) out += rest % s->dim[d] * step, step *= s->dim[d];
      rest /= s->dim[d];
    }
    acc[out] = join(f, acc[out], map(f, x[i], 0.5));
  }
}

enum { MOST = 2 * 40 * 129 };

static void check(size_t level, uint32_t dtype, ox_fold f, const ox_shape *s, const bool *fold) {
  static float x32[MOST];
  static double x64[MOST], want[MOST], shift[MOST];
  static int32_t xi[MOST];
  static ox_fold_acc acc[MOST];
  uint32_t seed = 11;
  for (int i = 0; i < MOST; i++) {
    float v = dtype == OX_I32 ? (float)((int)(test_random(&seed) >> 28) - 7) : test_uniform(&seed, -1, 1);
    if (f == OX_FOLD_PROD) v = dtype == OX_I32 ? (i % 5 ? 1.0f : -1.0f) : 1 + v * 0.01f;
    x32[i] = v, x64[i] = (double)v, xi[i] = (int32_t)v, shift[i] = 0.5;
    want[i] = f == OX_FOLD_PROD ? 1 : f == OX_FOLD_MAX ? -INFINITY : f == OX_FOLD_MIN ? INFINITY : 0;
  }
  ox_fold_plan p;
  ox_fold_plan_init(&p, s, fold);
  const void *data = dtype == OX_F32 ? (const void *)x32 : dtype == OX_F64 ? (const void *)x64 : (const void *)xi;
  ox_fold_job j = {&p, data, dtype, test_levels[level].have};
  oracle(s, fold, f, x64, want);
  for (int64_t o = 0; o < p.outputs; o += OX_FOLD_BATCH) {
    int64_t n = OX_MIN(p.outputs - o, OX_FOLD_BATCH), half = p.length / 2;
    ox_fold_acc second[OX_FOLD_BATCH];
    ox_fold_run(&j, f, o, n, 0, half, shift, acc + o);
    ox_fold_run(&j, f, o, n, half, p.length, shift, second);
    ox_fold_join_all(j.isa, f, dtype, acc + o, second, n);
  }
  for (int64_t o = 0; o < p.outputs; o++) {
    double got = dtype == OX_I32 ? (double)acc[o].i : acc[o].f, scale = fmax(fabs(want[o]), (double)p.length * 0.3);
    if (!(fabs(got - want[o]) <= 4e-7 * scale))
      fail_msg("fold %d of type %u at %s, rank %d: output %d is %g, wanted %g", f, dtype, test_levels[level].name,
               s->rank, (int)o, got, want[o]);
  }
}

static void test_every_choice_of_axes(void **state) {
  (void)state;
  static const uint32_t types[] = {OX_F32, OX_F64, OX_I32};
  for (size_t l = 0; level_next(&l); l++)
    for (size_t t = 0; t < OX_COUNT(types); t++)
      for (int f = 0; f < OX_FOLD_COUNT; f++)
        for (size_t s = 0; s < OX_COUNT(shapes); s++)
          for (int axes = 0; axes < 1 << shapes[s].rank; axes++) {
            if (f == OX_FOLD_EXP && types[t] == OX_I32) continue;
            ox_shape shape = {.rank = shapes[s].rank};
            bool fold[OX_MAX_RANK] = {false};
            for (int d = 0; d < shape.rank; d++) shape.dim[d] = shapes[s].dim[d], fold[d] = axes >> d & 1;
            check(l, types[t], (ox_fold)f, &shape, fold);
          }
}

/* A million times 0.1: float alone would be off by percents. */
static void test_long_sums_stay_exact(void **state) {
  (void)state;
  enum { N = 1 << 20 };
  float *x = malloc(N * sizeof *x);
  assert_non_null(x);
  for (size_t i = 0; i < N; i++) x[i] = 0.1f;
  for (size_t l = 0; level_next(&l); l++) {
    const ox_reduce_table *t = ox_reduce_select(test_levels[l].have);
    double want = (double)0.1f * N;
    assert_true(fabs(t->row[OX_FOLD_SUM](x, N, 0) - want) <= want * 1e-6);
    ox_shape s = {.rank = 2, .dim = {N / 2, 2}};
    bool fold[OX_MAX_RANK] = {true};
    ox_fold_plan p;
    ox_fold_acc acc[2];
    ox_fold_plan_init(&p, &s, fold);
    ox_fold_job j = {&p, x, OX_F32, test_levels[l].have};
    ox_fold_run(&j, OX_FOLD_SUM, 0, 2, 0, p.length, NULL, acc);
    assert_true(fabs(acc[1].f - want / 2) <= want * 1e-6);
  }
  free(x);
}

static void test_extremes_and_search(void **state) {
  (void)state;
  for (size_t l = 0; level_next(&l); l++) {
    const ox_reduce_table *t = ox_reduce_select(test_levels[l].have);
    for (size_t n = 1; n < 70; n++)
      for (size_t at = 0; at < n; at += 5) {
        float x[70];
        for (size_t i = 0; i < n; i++) x[i] = -1 - (float)i;
        x[at] = 2;
        assert_true(t->row[OX_FOLD_MAX](x, n, 0) == 2);
        assert_int_equal(t->next_beyond(x, n, 1, 0), at);
        x[at] = NAN;
        assert_true(isnan(t->row[OX_FOLD_MAX](x, n, 0)) && isnan(t->row[OX_FOLD_MIN](x, n, 0)));
        assert_int_equal(t->next_beyond(x, n, -1000, 1), at);
      }
    assert_true(t->row[OX_FOLD_MAX](NULL, 0, 0) == -INFINITY && t->row[OX_FOLD_PROD](NULL, 0, 0) == 1);
  }
}

/* A row's extreme among its neighbours, for every integer type, and where floats have theirs. */
#define CHECK_INTEGERS(tag, type)                                                                          \
  for (size_t n = 1; n < 150; n += 7) {                                                                    \
    type x[150], most, least;                                                                              \
    for (size_t i = 0; i < n; i++) x[i] = (type)((uint64_t)test_random(&seed) << 32 | test_random(&seed)); \
    most = least = x[0];                                                                                   \
    for (size_t i = 0; i < n; i++) most = x[i] > most ? x[i] : most, least = x[i] < least ? x[i] : least;  \
    assert_true((type)t->most[tag](x, n) == most && t->most[tag](x, n) == (int64_t)most);                  \
    assert_true(t->least[tag](x, n) == (int64_t)least);                                                    \
  }

static void test_integers(void **state) {
  (void)state;
  uint32_t seed = 3;
  for (size_t l = 0; level_next(&l); l++) {
    const ox_reduce_table *t = ox_reduce_select(test_levels[l].have);
    CHECK_INTEGERS(OX_I8, int8_t)
    CHECK_INTEGERS(OX_U8, uint8_t)
    CHECK_INTEGERS(OX_I16, int16_t)
    CHECK_INTEGERS(OX_U16, uint16_t)
    CHECK_INTEGERS(OX_I32, int32_t)
    CHECK_INTEGERS(OX_U32, uint32_t)
    CHECK_INTEGERS(OX_I64, int64_t)
    CHECK_INTEGERS(OX_U64, uint64_t)
  }
}

/* Every place of the one that is better, and none. */
#define CHECK_NEXT(tag, type)                                                                  \
  for (size_t n = 0; n < 100; n += 11)                                                         \
    for (size_t at = 0; at <= n; at++)                                                         \
      for (int below = 0; below < 2; below++) {                                                \
        type x[100], bound = 50;                                                               \
        for (size_t i = 0; i < n; i++) x[i] = (type)(i % 2 ? 50 : below ? 51 + i % 7 : i / 3); \
        if (at < n) x[at] = (type)(below ? 49 : 51);                                           \
        assert_int_equal(t->next_better[tag](x, n, &bound, below), at);                        \
      }

static void test_next_better(void **state) {
  (void)state;
  for (size_t l = 0; level_next(&l); l++) {
    const ox_reduce_table *t = ox_reduce_select(test_levels[l].have);
    CHECK_NEXT(OX_F64, double)
    CHECK_NEXT(OX_I8, int8_t)
    CHECK_NEXT(OX_U8, uint8_t)
    CHECK_NEXT(OX_I16, int16_t)
    CHECK_NEXT(OX_U16, uint16_t)
    CHECK_NEXT(OX_I32, int32_t)
    CHECK_NEXT(OX_U32, uint32_t)
    CHECK_NEXT(OX_I64, int64_t)
    CHECK_NEXT(OX_U64, uint64_t)
    double x[70] = {0};
    x[66] = NAN;
    assert_int_equal(t->next_better[OX_F64](x, 70, &(double){1}, 0), 66);
    assert_int_equal(t->next_better[OX_F64](x, 70, &(double){-1}, 1), 70);
    assert_int_equal(t->next_better[OX_I64]((int64_t[]){INT64_MIN, INT64_MAX}, 2, &(int64_t){0}, 0), 1);
    assert_int_equal(t->next_better[OX_U64]((uint64_t[]){1, UINT64_MAX}, 2, &(uint64_t){5}, 0), 1);
  }
}

/* Extremes of columns from what the accumulators hold on, in the type itself. */
#define CHECK_COLUMNS(tag, type)                                                         \
  for (size_t n = 1; n < 80; n += 13)                                                    \
    for (size_t rows = 0; rows < 10; rows++) {                                           \
      type x[10 * 80], most[80], least[80], best[80];                                    \
      for (size_t i = 0; i < sizeof x / sizeof *x; i++)                                  \
        x[i] = (type)((uint64_t)test_random(&seed) << 32 | test_random(&seed));          \
      for (size_t i = 0; i < n; i++) most[i] = least[i] = (type)50;                      \
      for (size_t r = 0; r < rows; r++)                                                  \
        for (size_t i = 0; i < n; i++) {                                                 \
          type v = x[r * 80 + i];                                                        \
          most[i] = v > most[i] ? v : most[i], least[i] = v < least[i] ? v : least[i];   \
        }                                                                                \
      for (int down = 0; down < 2; down++) {                                             \
        for (size_t i = 0; i < n; i++) best[i] = (type)50;                               \
        (down ? t->column_min : t->column_max)[tag](best, x, n, rows, 80);               \
        for (size_t i = 0; i < n; i++) assert_true(best[i] == (down ? least : most)[i]); \
      }                                                                                  \
    }

static void test_extremes_of_columns(void **state) {
  (void)state;
  uint32_t seed = 7;
  for (size_t l = 0; level_next(&l); l++) {
    const ox_reduce_table *t = ox_reduce_select(test_levels[l].have);
    CHECK_COLUMNS(OX_F64, double)
    CHECK_COLUMNS(OX_I8, int8_t)
    CHECK_COLUMNS(OX_U8, uint8_t)
    CHECK_COLUMNS(OX_I16, int16_t)
    CHECK_COLUMNS(OX_U16, uint16_t)
    CHECK_COLUMNS(OX_I32, int32_t)
    CHECK_COLUMNS(OX_U32, uint32_t)
    CHECK_COLUMNS(OX_I64, int64_t)
    CHECK_COLUMNS(OX_U64, uint64_t)
    double x[9 * 3] = {1, 2, 3}, best[3] = {0, 0, 0}; /* NaN in any row, or there from the start, stays */
    x[4 * 3 + 1] = NAN, best[2] = NAN;
    for (int down = 0; down < 2; down++) {
      (down ? t->column_min : t->column_max)[OX_F64](best, x, 3, 9, 3);
      assert_true(!isnan(best[0]) && isnan(best[1]) && isnan(best[2]));
    }
  }
}

static size_t where_of(const float *x, size_t n, bool smallest, bool last) {
  size_t at = 0;
  for (size_t i = 1; i < n; i++) {
    float v = x[i], b = x[at];
    bool better =
        isnan(v) ? !isnan(b) || last : !isnan(b) && (smallest ? v < b || (last && v == b) : v > b || (last && v == b));
    if (better) at = i;
  }
  return at;
}

static void test_where_rows_have_their_extremes(void **state) {
  (void)state;
  enum { ROWS = 37, MOST_ROW = 80 };
  uint32_t seed = 3;
  for (size_t l = 0; level_next(&l); l++)
    for (size_t n = 1; n < MOST_ROW; n++)
      for (int how = 0; how < 8; how++) {
        static float x[ROWS * MOST_ROW];
        int32_t where[ROWS + 1];
        const ox_reduce_table *t = ox_reduce_select(test_levels[l].have);
        for (size_t i = 0; i < ROWS * n; i++) {
          x[i] = (float)(test_random(&seed) >> 28) - 8;
          if (how & 4 && test_random(&seed) % 29 == 0) x[i] = NAN;
        }
        for (size_t r = 0; r < ROWS; r++)
          assert_int_equal(t->arg_row(x + r * n, n, how & 1, how >> 1 & 1), where_of(x + r * n, n, how & 1, how & 2));
        if (n > t->arg_rows_most) continue;
        where[ROWS] = -5;
        t->arg_rows(x, ROWS, n, how & 1, how >> 1 & 1, where);
        for (size_t r = 0; r < ROWS; r++) assert_int_equal(where[r], where_of(x + r * n, n, how & 1, how & 2));
        assert_int_equal(where[ROWS], -5);
      }
}

/* Short rows of every type, with what float32 does not see: wrapping, the top bit, NaN, halves of rows. */
static void small_rows(size_t level, uint32_t dtype, ox_fold f, int64_t row) {
  enum { ROWS = 531, LONGEST = 33 };
  static uint64_t raw[ROWS * LONGEST];
  static ox_fold_acc acc[ROWS], rest[ROWS];
  static double shift[ROWS];
  const ox_convert *cv = ox_convert_select(0);
  bool is_float = ox_dtype_is_float(dtype), top = dtype == OX_U64;
  uint32_t seed = (uint32_t)row;
  for (int64_t i = 0; i < ROWS * row; i++) {
    double v = i % 101 == 7 ? NAN : (double)((int)(test_random(&seed) >> 26) - 32) / 16;
    if (is_float)
      cv->store_f64[dtype](&v, raw, (size_t)i, 1, NULL);
    else
      cv->store_i64[dtype](&(int64_t){(int64_t)((uint64_t)test_random(&seed) << 37 | test_random(&seed))}, raw,
                           (size_t)i, 1, NULL);
  }
  for (int64_t i = 0; i < ROWS; i++) shift[i] = (double)(i % 3) / 2;
  ox_shape s = {.rank = 2, .dim = {ROWS, row}};
  bool fold[OX_MAX_RANK] = {false, true};
  ox_fold_plan p;
  ox_fold_plan_init(&p, &s, fold);
  ox_fold_job j = {&p, raw, dtype, test_levels[level].have};
  for (int64_t o = 0, half = row / 2; o < ROWS; o += OX_FOLD_BATCH) {
    int64_t n = OX_MIN(ROWS - o, OX_FOLD_BATCH);
    ox_fold_run(&j, f, o, n, 0, half, shift + o, acc + o);
    ox_fold_run(&j, f, o, n, half, row, shift + o, rest + o);
    ox_fold_join_all(j.isa, f, dtype, acc + o, rest + o, n);
  }
  for (int64_t o = 0; o < ROWS; o++) {
    double want = f == OX_FOLD_PROD ? 1 : f == OX_FOLD_MAX ? -INFINITY : f == OX_FOLD_MIN ? INFINITY : 0, v;
    uint64_t whole = (uint64_t)ox_fold_identity(f, dtype).i, flip = top ? (uint64_t)1 << 63 : 0, u;
    for (int64_t i = o * row; i < (o + 1) * row; i++) {
      if (is_float) {
        cv->load_f64[dtype](raw, (size_t)i, 1, &v);
        want = isnan(v) || isnan(want) ? NAN : join(f, want, map(f, v, shift[o]));
      } else {
        cv->load_i64[dtype](raw, (size_t)i, 1, (int64_t *)&u);
        if (f == OX_FOLD_ABS && (int64_t)u < 0 && !top) u = 0 - u;
        if (f == OX_FOLD_SQUARE) u *= u;
        bool less = (int64_t)(u ^ flip) < (int64_t)(whole ^ flip);
        whole = f == OX_FOLD_PROD                      ? whole * u
                : f == OX_FOLD_MAX || f == OX_FOLD_MIN ? (less == (f == OX_FOLD_MIN) ? u : whole)
                                                       : whole + u;
      }
    }
    bool same = is_float ? isnan(want) ? isnan(acc[o].f) : fabs(acc[o].f - want) <= 1e-13 * fmax(fabs(want), 1)
                         : (uint64_t)acc[o].i == whole;
    if (dtype == OX_F16 || dtype == OX_BF16) /* longer rows are folded in float */
      same = isnan(want) ? isnan(acc[o].f) : fabs(acc[o].f - want) <= 1e-5 * fmax(fabs(want), 1);
    if (!same) fail_msg("%s, fold %d of type %u: row %d of %d", test_levels[level].name, f, dtype, (int)o, (int)row);
  }
}

static void test_short_rows_of_every_type(void **state) {
  (void)state;
  static const uint32_t types[] = {OX_F64, OX_F16, OX_BF16, OX_I8,  OX_U8, OX_I16,
                                   OX_U16, OX_I32, OX_U32,  OX_I64, OX_U64};
  for (size_t l = 0; level_next(&l); l++)
    for (size_t t = 0; t < OX_COUNT(types); t++)
      for (int f = 0; f < OX_FOLD_COUNT; f++)
        for (int64_t row = 1; row <= 33; row += row < 9 ? 1 : 6)
          if (f != OX_FOLD_EXP || ox_dtype_is_float(types[t])) small_rows(l, types[t], (ox_fold)f, row);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_choice_of_axes),
      cmocka_unit_test(test_long_sums_stay_exact),
      cmocka_unit_test(test_extremes_and_search),
      cmocka_unit_test(test_integers),
      cmocka_unit_test(test_next_better),
      cmocka_unit_test(test_extremes_of_columns),
      cmocka_unit_test(test_short_rows_of_every_type),
      cmocka_unit_test(test_where_rows_have_their_extremes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

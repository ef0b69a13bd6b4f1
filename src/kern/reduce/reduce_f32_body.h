/* SPDX-License-Identifier: Apache-2.0
 * kern/reduce/reduce_f32_body.h - float folds over the vocabulary. */
#include "kern/reduce/reduce.h"
#include "kern/reduce/reduce_wide_body.h"

static inline vf32 map_sum(vf32 x, vf32 shift) { return (void)shift, x; }
static inline vf32 map_abs(vf32 x, vf32 shift) { return (void)shift, vf32_abs(x); }
static inline vf32 map_square(vf32 x, vf32 shift) { return (void)shift, vf32_mul(x, x); }
static inline vf32 map_exp(vf32 x, vf32 shift) { return vf32_exp(vf32_sub(x, shift)); }

/* Elements summed in float before the block's sum goes to double: each of the lanes sums a few dozen at most. */
enum { BLOCK = 128 * VF32_LANES };

/* Vectors of columns whose extremes are looked for together: they do not wait for each other. */
enum { ARG_VECTORS = 4 };

#define SUM_ROW(name)                                                                                   \
  static double row_##name(const float *x, size_t n, float shift) {                                     \
    vf32 s = vf32_splat(shift);                                                                         \
    double total = 0;                                                                                   \
    while (n > 0) {                                                                                     \
      size_t m = n < BLOCK ? n : BLOCK, i = 0;                                                          \
      vf32 a = vf32_zero(), b = a, c = a, d = a;                                                        \
      for (; i + 4 * VF32_LANES <= m; i += 4 * VF32_LANES) {                                            \
        a = vf32_add(a, map_##name(vf32_load(x + i), s));                                               \
        b = vf32_add(b, map_##name(vf32_load(x + i + VF32_LANES), s));                                  \
        c = vf32_add(c, map_##name(vf32_load(x + i + 2 * VF32_LANES), s));                              \
        d = vf32_add(d, map_##name(vf32_load(x + i + 3 * VF32_LANES), s));                              \
      }                                                                                                 \
      for (; i < m; i += VF32_LANES) {                                                                  \
        size_t k = vf32_lanes_at(i, m);                                                                 \
        a = vf32_add(a, vf32_select(vm32_first(k), map_##name(vf32_load_n(x + i, k), s), vf32_zero())); \
      }                                                                                                 \
      total += (double)vf32_sum(vf32_add(vf32_add(a, b), vf32_add(c, d)));                              \
      x += m, n -= m;                                                                                   \
    }                                                                                                   \
    return total;                                                                                       \
  }
SUM_ROW(sum)
SUM_ROW(abs)
SUM_ROW(square)
SUM_ROW(exp)

/* In double: products leave float's range quickly. */
static double row_prod(const float *x, size_t n, float shift) {
  double lanes[LANES], all = 1;
  (void)shift;
  if (n >= 2 * LANES) {
    for (size_t k = 0; k < LANES; k++) lanes[k] = 1;
    for (; n >= LANES; n -= LANES, x += LANES)
      for (size_t k = 0; k < LANES; k++) lanes[k] *= (double)x[k];
    for (size_t k = 0; k < LANES; k++) all *= lanes[k];
  }
  for (size_t i = 0; i < n; i++) all *= (double)x[i];
  return all;
}

#define BEST_ROW(name, none)                                                          \
  static double row_##name(const float *x, size_t n, float shift) {                   \
    vf32 a = vf32_splat(none), b = a;                                                 \
    size_t i = 0;                                                                     \
    (void)shift;                                                                      \
    for (; i + 2 * VF32_LANES <= n; i += 2 * VF32_LANES) {                            \
      a = vf32_##name##_nan(a, vf32_load(x + i));                                     \
      b = vf32_##name##_nan(b, vf32_load(x + i + VF32_LANES));                        \
    }                                                                                 \
    for (; i < n; i += VF32_LANES) {                                                  \
      size_t k = vf32_lanes_at(i, n);                                                 \
      a = vf32_##name##_nan(a, vf32_select(vm32_first(k), vf32_load_n(x + i, k), a)); \
    }                                                                                 \
    a = vf32_##name##_nan(a, b);                                                      \
    return vm32_any(vf32_isnan(a)) ? NAN : (double)vf32_h##name(a);                   \
  }
BEST_ROW(max, -INFINITY)
BEST_ROW(min, INFINITY)

/* Short rows: each is folded into a vector, and a square of such vectors, turned, is folded into their results. */
#define SHORT_ROWS(name, none, fold, map)                                                                            \
  static inline vf32 short_row_##name(const float *x, size_t n) {                                                    \
    vf32 empty = vf32_splat(none);                                                                                   \
    if (n <= VF32_LANES) return vf32_select(vm32_first(n), map(vf32_load_n(x, n)), empty);                           \
    vf32 a = map(vf32_load(x));                                                                                      \
    size_t i = VF32_LANES;                                                                                           \
    for (; i + VF32_LANES <= n; i += VF32_LANES) a = fold(a, map(vf32_load(x + i)));                                 \
    if (i == n) return a;                                                                                            \
    return fold(a, vf32_select(vm32_first(n - i), map(vf32_load_n(x + i, n - i)), empty));                           \
  }                                                                                                                  \
  static void rows_##name(const float *x, size_t rows, size_t n, size_t pitch, float *y) {                           \
    for (size_t r = 0; r < rows; r += VF32_LANES, x += VF32_LANES * pitch) {                                         \
      size_t m = vf32_lanes_at(r, rows);                                                                             \
      vf32 v[VF32_LANES];                                                                                            \
      for (size_t i = 0; i < m; i++) v[i] = short_row_##name(x + i * pitch, n);                                      \
      for (size_t i = m; i < VF32_LANES; i++) v[i] = vf32_zero();                                                    \
      vf32_transpose(v);                                                                                             \
      OX_UNROLL for (int half = VF32_LANES / 2; half > 0; half /= 2) OX_UNROLL for (int i = 0; i < half; i++) v[i] = \
          fold(v[i], v[i + half]);                                                                                   \
      vf32_store_n(y + r, v[0], m);                                                                                  \
    }                                                                                                                \
  }
static inline vf32 self_of(vf32 x) { return x; }
static inline vf32 square_of(vf32 x) { return vf32_mul(x, x); }
SHORT_ROWS(sum, 0.0f, vf32_add, self_of)
SHORT_ROWS(abs, 0.0f, vf32_add, vf32_abs)
SHORT_ROWS(square, 0.0f, vf32_add, square_of)
SHORT_ROWS(max, -INFINITY, vf32_max_nan, self_of)
SHORT_ROWS(min, INFINITY, vf32_min_nan, self_of)

/* Eight rows per visit of the accumulators, of which two vectors do not wait for each other. */
enum { DEEP = 8 };

#define COLUMN(name, fold)                                                                                           \
  static inline vf32 fold_##name(vf32 a, vf32 v, vf32 s) { return (void)s, fold; }                                   \
  OX_INLINE void columns_##name(float *acc, const float *x, const float *shift, size_t rows, size_t pitch, int nv) { \
    vf32 a[2], s[2];                                                                                                 \
    OX_UNROLL for (int i = 0; i < nv; i++) {                                                                         \
      a[i] = vf32_load(acc + i * VF32_LANES);                                                                        \
      s[i] = shift ? vf32_load(shift + i * VF32_LANES) : vf32_zero();                                                \
    }                                                                                                                \
    OX_UNROLL for (size_t r = 0; r < rows; r++) OX_UNROLL for (int i = 0; i < nv; i++) a[i] =                        \
        fold_##name(a[i], vf32_load(x + r * pitch + i * VF32_LANES), s[i]);                                          \
    OX_UNROLL for (int i = 0; i < nv; i++) vf32_store(acc + i * VF32_LANES, a[i]);                                   \
  }                                                                                                                  \
  OX_INLINE void column_rows_##name(float *acc, const float *x, size_t n, const float *shift, size_t rows,           \
                                    size_t pitch) {                                                                  \
    size_t i = 0;                                                                                                    \
    for (; i + 2 * VF32_LANES <= n; i += 2 * VF32_LANES)                                                             \
      columns_##name(acc + i, x + i, shift ? shift + i : NULL, rows, pitch, 2);                                      \
    for (; i + VF32_LANES <= n; i += VF32_LANES)                                                                     \
      columns_##name(acc + i, x + i, shift ? shift + i : NULL, rows, pitch, 1);                                      \
    if (i == n) return;                                                                                              \
    vf32 a = vf32_load_n(acc + i, n - i), s = shift ? vf32_load_n(shift + i, n - i) : vf32_zero();                   \
    OX_UNROLL for (size_t r = 0; r < rows; r++) a = fold_##name(a, vf32_load_n(x + r * pitch + i, n - i), s);        \
    vf32_store_n(acc + i, a, n - i);                                                                                 \
  }                                                                                                                  \
  static void column_##name(float *acc, const float *x, size_t n, const float *shift, size_t rows, size_t pitch) {   \
    for (; rows >= DEEP; rows -= DEEP, x += DEEP * pitch) column_rows_##name(acc, x, n, shift, DEEP, pitch);         \
    for (; rows > 0; rows--, x += pitch) column_rows_##name(acc, x, n, shift, 1, pitch);                             \
  }
COLUMN(sum, vf32_add(a, v))
COLUMN(abs, vf32_add(a, vf32_abs(v)))
COLUMN(square, vf32_fma(v, v, a))
COLUMN(prod, vf32_mul(a, v))
COLUMN(max, vf32_max_nan(a, v))
COLUMN(min, vf32_min_nan(a, v))
COLUMN(exp, vf32_add(a, vf32_exp(vf32_sub(v, s))))

/* Four rows at a time, whose sums do not wait for each other. */
static void sum_lanes(double *acc, const float *x, size_t rows) {
  enum { PER = OX_FOLD_LANES / VF32_LANES, APART = 4 };
  while (rows > 0) {
    size_t m = rows < APART * OX_FOLD_ROWS ? rows : APART * OX_FOLD_ROWS, r = 0;
    vf32 a[APART][PER];
    float part[OX_FOLD_LANES];
    OX_UNROLL for (int i = 0; i < APART; i++) OX_UNROLL for (int j = 0; j < PER; j++) a[i][j] = vf32_zero();
    for (; r + APART <= m; r += APART, x += APART * OX_FOLD_LANES)
      OX_UNROLL for (int i = 0; i < APART; i++) OX_UNROLL for (int j = 0; j < PER; j++) a[i][j] =
          vf32_add(a[i][j], vf32_load(x + i * OX_FOLD_LANES + j * VF32_LANES));
    for (; r < m; r++, x += OX_FOLD_LANES)
      OX_UNROLL for (int j = 0; j < PER; j++) a[0][j] = vf32_add(a[0][j], vf32_load(x + j * VF32_LANES));
    OX_UNROLL for (int j = 0; j < PER; j++)
        vf32_store(part + j * VF32_LANES, vf32_add(vf32_add(a[0][j], a[1][j]), vf32_add(a[2][j], a[3][j])));
    for (int i = 0; i < OX_FOLD_LANES; i++) acc[i] += (double)part[i];
    rows -= m;
  }
}

OX_INLINE vm32 stays_within(const float *x, vf32 bound, int below) {
  vf32 v = vf32_load(x);
  return below ? vf32_ge(v, bound) : vf32_le(v, bound);
}

/* Four vectors between two branches. */
static size_t next_beyond(const float *x, size_t n, float bound, int below) {
  vf32 t = vf32_splat(bound);
  size_t i = 0;
  for (; i + 4 * VF32_LANES <= n; i += 4 * VF32_LANES) {
    vm32 stays = stays_within(x + i, t, below);
    OX_UNROLL for (int j = 1; j < 4; j++) stays = vm32_and(stays, stays_within(x + i + j * VF32_LANES, t, below));
    if (!vm32_all(stays)) break;
  }
  while (i + VF32_LANES <= n && vm32_all(stays_within(x + i, t, below))) i += VF32_LANES;
  for (; i < n; i++)
    if (below ? !(x[i] >= bound) : !(x[i] <= bound)) break;
  return i;
}

/* Lanes in which |best| stands against |v|, which comes later. NaN beats all. */
OX_INLINE vm32 stays_best(vf32 best, vf32 v, int smallest, int last) {
  vm32 worse = smallest ? (last ? vf32_lt(best, v) : vf32_le(best, v)) : (last ? vf32_lt(v, best) : vf32_le(v, best));
  vm32 kept = vf32_isnan(best);
  if (last) kept = vm32_and(kept, vm32_not(vf32_isnan(v)));
  return vm32_or(worse, kept);
}

/* Where the extremes of |nv| vectors of columns lie; of the last vector |k| lanes. */
OX_INLINE void arg_vectors(const float *x, size_t rows, size_t pitch, int smallest, int last, int32_t *where, int nv,
                           size_t k) {
  vf32 best[ARG_VECTORS];
  vi32 at[ARG_VECTORS];
  OX_UNROLL for (int i = 0; i < nv; i++) {
    best[i] = vf32_load_n(x + i * VF32_LANES, i == nv - 1 ? k : VF32_LANES);
    at[i] = vi32_splat(0);
  }
  for (size_t r = 1; r < rows; r++) {
    vi32 row = vi32_splat((int32_t)r);
    x += pitch;
    OX_UNROLL for (int i = 0; i < nv; i++) {
      vf32 v = vf32_load_n(x + i * VF32_LANES, i == nv - 1 ? k : VF32_LANES);
      vm32 stays = stays_best(best[i], v, smallest, last);
      best[i] = vf32_select(stays, best[i], v), at[i] = vi32_select(stays, at[i], row);
    }
  }
  OX_UNROLL for (int i = 0; i < nv; i++) vi32_store_n(where + i * VF32_LANES, at[i], i == nv - 1 ? k : VF32_LANES);
}

static void arg_column(const float *x, size_t n, size_t rows, size_t pitch, int smallest, int last, int32_t *where) {
  enum { WIDE = ARG_VECTORS * VF32_LANES };
  size_t i = 0;
  for (; i + WIDE <= n; i += WIDE) arg_vectors(x + i, rows, pitch, smallest, last, where + i, ARG_VECTORS, VF32_LANES);
  for (; i < n; i += VF32_LANES) arg_vectors(x + i, rows, pitch, smallest, last, where + i, 1, vf32_lanes_at(i, n));
}

/* Without a branch, which no processor could predict. */
OX_INLINE int beats(float v, float best, int smallest, int last) {
  int nan = v != v, best_nan = best != best, beyond = smallest ? v < best : v > best;
  return beyond | (nan & !best_nan) | (last & ((v == best) | (nan & best_nan)));
}

/* Of a row that a vector holds: the number of a lane is found like an extreme. */
OX_INLINE size_t arg_lane(const float *x, size_t n, int smallest, int last) {
  vf32 none = vf32_splat(smallest ? INFINITY : -INFINITY), v = vf32_select(vm32_first(n), vf32_load_n(x, n), none);
  vf32 lane = vi32_to_f32(vi32_iota());
  vm32 at = vf32_isnan(v);
  if (!vm32_any(at)) at = vf32_eq(v, vf32_splat(smallest ? vf32_hmin(v) : vf32_hmax(v)));
  at = vm32_and(at, vm32_first(n));
  return (size_t)(last ? vf32_hmax(vf32_select(at, lane, vf32_splat(-1)))
                       : vf32_hmin(vf32_select(at, lane, vf32_splat(VF32_LANES))));
}

/* The first lane of a mask that has one. */
OX_INLINE size_t first_lane(vm32 m) {
  return (size_t)vf32_hmin(vf32_select(m, vi32_to_f32(vi32_iota()), vf32_splat(VF32_LANES)));
}

/* The extreme first and then where it is; the last of equals one by one. */
static size_t arg_row(const float *x, size_t n, int smallest, int last) {
  size_t at = 0;
  float best = x[0];
  if (VF32_LANES > 1 && n <= VF32_LANES) return arg_lane(x, n, smallest, last);
  if (last) {
    for (size_t i = 1; i < n; i++) {
      int better = beats(x[i], best, smallest, last);
      best = better ? x[i] : best, at = better ? i : at;
    }
    return at;
  }
  best = (float)(smallest ? row_min(x, n, 0) : row_max(x, n, 0));
  if (best != best) {
    while (x[at] == x[at]) at++;
    return at;
  }
  vf32 b = vf32_splat(best);
  for (; at + VF32_LANES <= n; at += VF32_LANES) {
    vm32 m = vf32_eq(vf32_load(x + at), b);
    if (vm32_any(m)) return at + first_lane(m);
  }
  while (x[at] != best) at++;
  return at;
}

/* The extremes of the lanes of a row and where they are; |nan| of what it saw. */
OX_INLINE vf32 arg_lanes(const float *x, size_t n, int smallest, vf32 *at, vm32 *nan) {
  vf32 none = vf32_splat(smallest ? INFINITY : -INFINITY), best = vf32_load(x), lane = vi32_to_f32(vi32_iota());
  *at = lane, *nan = vm32_or(*nan, vf32_isnan(best));
  for (size_t i = VF32_LANES; i < n; i += VF32_LANES) {
    size_t k = vf32_lanes_at(i, n);
    vf32 v = k == VF32_LANES ? vf32_load(x + i) : vf32_select(vm32_first(k), vf32_load_n(x + i, k), none);
    vm32 stays = smallest ? vf32_le(best, v) : vf32_le(v, best);
    *nan = vm32_or(*nan, vf32_isnan(v));
    best = vf32_select(stays, best, v), *at = vf32_select(stays, *at, vf32_add(lane, vf32_splat((float)i)));
  }
  return best;
}

/* The first extremes of rows of some vectors: those of a square of rows are compared side by side. */
OX_INLINE void arg_rows_wide(const float *x, size_t rows, size_t n, int smallest, int32_t *where) {
  for (size_t r = 0; r < rows; r += VF32_LANES, x += VF32_LANES * n) {
    size_t m = vf32_lanes_at(r, rows);
    vf32 v[VF32_LANES], at[VF32_LANES];
    vm32 nan = vm32_first(0);
    for (size_t i = 0; i < m; i++) v[i] = arg_lanes(x + i * n, n, smallest, &at[i], &nan);
    if (vm32_any(nan)) {
      for (size_t i = 0; i < m; i++) where[r + i] = (int32_t)arg_row(x + i * n, n, smallest, 0);
      continue;
    }
    for (size_t i = m; i < VF32_LANES; i++) v[i] = at[i] = vf32_zero();
    vf32_transpose(v), vf32_transpose(at);
    vf32 best = v[0], place = at[0];
    for (size_t k = 1; k < VF32_LANES; k++) {
      vm32 better = smallest ? vf32_lt(v[k], best) : vf32_lt(best, v[k]);
      better = vm32_or(better, vm32_and(vf32_eq(v[k], best), vf32_lt(at[k], place)));
      best = vf32_select(better, v[k], best), place = vf32_select(better, at[k], place);
    }
    vi32_store_n(where + r, vf32_to_i32(place), m);
  }
}

/* Rows that a vector holds: of a square of them, turned, lane by lane. */
static void arg_rows(const float *x, size_t rows, size_t n, int smallest, int last, int32_t *where) {
  if (n > VF32_LANES && last) {
    for (size_t r = 0; r < rows; r++) where[r] = (int32_t)arg_row(x + r * n, n, smallest, last);
    return;
  }
  if (n > VF32_LANES) {
    arg_rows_wide(x, rows, n, smallest, where);
    return;
  }
  for (size_t r = 0; r < rows; r += VF32_LANES, x += VF32_LANES * n) {
    size_t m = vf32_lanes_at(r, rows);
    vf32 v[VF32_LANES];
    for (size_t i = 0; i < m; i++) v[i] = vf32_load_n(x + i * n, n);
    for (size_t i = m; i < VF32_LANES; i++) v[i] = vf32_zero();
    vf32_transpose(v);
    vf32 best = v[0];
    vi32 at = vi32_zero();
    for (size_t k = 1; k < n; k++) {
      vm32 stays = stays_best(best, v[k], smallest, last);
      best = vf32_select(stays, best, v[k]), at = vi32_select(stays, at, vi32_splat((int32_t)k));
    }
    vi32_store_n(where + r, at, m);
  }
}

#define BY_FOLD(p) \
  { p##_sum, p##_abs, p##_square, p##_exp, p##_prod, p##_max, p##_min }
#define BY_FOLD_I64(p) \
  { p##_sum, p##_abs, p##_square, NULL, p##_prod, p##_max, p##_min }
#define BY_INTEGER_AND(p, ...)                                                                      \
  {                                                                                                 \
    [OX_I8] = p##_i8, [OX_U8] = p##_u8, [OX_I16] = p##_i16, [OX_U16] = p##_u16, [OX_I32] = p##_i32, \
    [OX_U32] = p##_u32, [OX_I64] = p##_i64, [OX_U64] = p##_u64, [OX_BOOL] = p##_u8, __VA_ARGS__     \
  }
#define BY_INTEGER(p) BY_INTEGER_AND(p, )
const ox_reduce_table REDUCE_NAME = {
    .needs = REDUCE_NEEDS,
    .name = REDUCE_ISA,
    .row = BY_FOLD(row),
    .column = BY_FOLD(column),
    .sum_lanes = sum_lanes,
    .add_lines = add_lines,
    .next_beyond = next_beyond,
    .next_better = BY_INTEGER_AND(next_better, [OX_F64] = next_better_f64),
    .column_max = BY_INTEGER_AND(column_max, [OX_F64] = column_max_f64),
    .column_min = BY_INTEGER_AND(column_min, [OX_F64] = column_min_f64),
    .arg_column = arg_column,
    .arg_row = arg_row,
    .arg_rows = arg_rows,
    .arg_rows_most = 4 * VF32_LANES,
    .rows = {rows_sum, rows_abs, rows_square, NULL, NULL, rows_max, rows_min},
    .most = BY_INTEGER(most),
    .least = BY_INTEGER(least),
    .row_f64 = BY_FOLD(row_f64),
    .column_f64 = BY_FOLD(column_f64),
    .row_i64 = BY_FOLD_I64(row_i64),
    .column_i64 = BY_FOLD_I64(column_i64),
    .rows_f64 = BY_FOLD(rows_f64),
    .rows_i64 = BY_FOLD_I64(rows_i64),
};

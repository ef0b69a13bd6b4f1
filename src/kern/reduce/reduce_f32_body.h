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

/* Eight rows per visit of the accumulators. */
#define COLUMN(name, fold)                                                                                         \
  static inline vf32 fold_##name(vf32 a, vf32 v, vf32 s) { return (void)s, fold; }                                 \
  static void column_##name(float *acc, const float *x, size_t n, const float *shift, size_t rows, size_t pitch) { \
    for (; rows >= 8; rows -= 8, x += 8 * pitch)                                                                   \
      for (size_t i = 0; i < n; i += VF32_LANES) {                                                                 \
        size_t k = vf32_lanes_at(i, n);                                                                            \
        vf32 a = vf32_load_n(acc + i, k), s = shift ? vf32_load_n(shift + i, k) : vf32_zero();                     \
        OX_UNROLL for (size_t r = 0; r < 8; r++) a = fold_##name(a, vf32_load_n(x + r * pitch + i, k), s);         \
        vf32_store_n(acc + i, a, k);                                                                               \
      }                                                                                                            \
    for (; rows > 0; rows--, x += pitch)                                                                           \
      for (size_t i = 0; i < n; i += VF32_LANES) {                                                                 \
        size_t k = vf32_lanes_at(i, n);                                                                            \
        vf32 a = vf32_load_n(acc + i, k), s = shift ? vf32_load_n(shift + i, k) : vf32_zero();                     \
        vf32_store_n(acc + i, fold_##name(a, vf32_load_n(x + i, k), s), k);                                        \
      }                                                                                                            \
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

static size_t next_beyond(const float *x, size_t n, float bound, int below) {
  vf32 t = vf32_splat(bound);
  size_t i = 0;
  for (; i + VF32_LANES <= n; i += VF32_LANES) {
    vf32 v = vf32_load(x + i);
    vm32 stays = below ? vf32_ge(v, t) : vf32_le(v, t);
    if (!vm32_all(stays)) break;
  }
  for (; i < n; i++)
    if (below ? !(x[i] >= bound) : !(x[i] <= bound)) break;
  return i;
}

/* Where the extremes of |nv| vectors of columns lie; of the last vector |k| lanes. NaN beats all. */
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
      vm32 worse = smallest ? (last ? vf32_lt(best[i], v) : vf32_le(best[i], v))
                            : (last ? vf32_lt(v, best[i]) : vf32_le(v, best[i]));
      vm32 kept = vf32_isnan(best[i]);
      if (last) kept = vm32_and(kept, vm32_not(vf32_isnan(v)));
      vm32 stays = vm32_or(worse, kept);
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

/* Without a branch: nobody can foretell it. */
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

/* A few elements one by one; of more, the extreme first and then where it is. */
static size_t arg_row(const float *x, size_t n, int smallest, int last) {
  enum { FEW = 2 * VF32_LANES };
  size_t at = 0;
  float best = x[0];
  if (VF32_LANES > 1 && n <= VF32_LANES) return arg_lane(x, n, smallest, last);
  if (n <= FEW || last) {
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
  while (at + VF32_LANES <= n && !vm32_any(vf32_eq(vf32_load(x + at), b))) at += VF32_LANES;
  while (x[at] != best) at++;
  return at;
}

#define BY_FOLD(p) \
  { p##_sum, p##_abs, p##_square, p##_exp, p##_prod, p##_max, p##_min }
#define BY_FOLD_I64(p) \
  { p##_sum, p##_abs, p##_square, NULL, p##_prod, p##_max, p##_min }
const ox_reduce_table REDUCE_NAME = {
    .needs = REDUCE_NEEDS,
    .name = REDUCE_ISA,
    .row = BY_FOLD(row),
    .column = BY_FOLD(column),
    .sum_lanes = sum_lanes,
    .next_beyond = next_beyond,
    .arg_column = arg_column,
    .arg_row = arg_row,
    .row_f64 = BY_FOLD(row_f64),
    .column_f64 = BY_FOLD(column_f64),
    .row_i64 = BY_FOLD_I64(row_i64),
    .column_i64 = BY_FOLD_I64(column_i64),
};

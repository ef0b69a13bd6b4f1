/* SPDX-License-Identifier: Apache-2.0
 * kern/reduce/reduce_wide_body.h - folds of doubles and of int64: plain loops that the compiler vectorises at the
 * includer's instruction set. */
#include "kern/reduce/reduce.h"
#include "kern/unary/math_f64.h"

/* Columns that a row is folded into first: they do not wait for each other, and sums round less. */
enum { LANES = 32 };

#define SUM_F64(name, expr)                                               \
  static double row_f64_##name(const double *x, size_t n, double shift) { \
    double s[LANES] = {0}, all = 0;                                       \
    (void)shift;                                                          \
    if (n < LANES) {                                                      \
      double four[4] = {0};                                               \
      for (; n >= 4; n -= 4, x += 4)                                      \
        for (size_t k = 0; k < 4; k++) {                                  \
          double v = x[k];                                                \
          four[k] += (expr);                                              \
        }                                                                 \
      for (size_t k = 0; k < n; k++) {                                    \
        double v = x[k];                                                  \
        all += (expr);                                                    \
      }                                                                   \
      return all + ((four[0] + four[1]) + (four[2] + four[3]));           \
    }                                                                     \
    for (; n >= LANES; n -= LANES, x += LANES)                            \
      for (size_t k = 0; k < LANES; k++) {                                \
        double v = x[k];                                                  \
        s[k] += (expr);                                                   \
      }                                                                   \
    for (size_t k = 0; k < n; k++) {                                      \
      double v = x[k];                                                    \
      s[k] += (expr);                                                     \
    }                                                                     \
    for (size_t k = 0; k < LANES; k++) all += s[k];                       \
    return all;                                                           \
  }
SUM_F64(sum, v)
SUM_F64(abs, fabs(v))
SUM_F64(square, v *v)
SUM_F64(exp, ox_f64_exp(v - shift))

static void add_lines(double *acc, size_t acc_pitch, const float *x, size_t pitch, size_t lines, size_t n) {
  for (; lines > 0; lines--, acc += acc_pitch, x += pitch)
    OX_IVDEP for (size_t i = 0; i < n; i++) acc[i] += (double)x[i];
}

#define COLUMN_F64(name, next)                                                                 \
  static void column_f64_##name(double *acc, const double *x, size_t n, const double *shift) { \
    (void)shift;                                                                               \
    for (size_t i = 0; i < n; i++) {                                                           \
      double a = acc[i], v = x[i];                                                             \
      acc[i] = (next);                                                                         \
    }                                                                                          \
  }
COLUMN_F64(sum, a + v)
COLUMN_F64(abs, a + fabs(v))
COLUMN_F64(square, a + v * v)
COLUMN_F64(exp, a + ox_f64_exp(v - shift[i]))
COLUMN_F64(prod, a *v)
COLUMN_F64(max, ((v > a) | (v != v)) ? v : a)
COLUMN_F64(min, ((v < a) | (v != v)) ? v : a)

#define ROW_F64(name, none)                                                                \
  static double row_f64_##name(const double *x, size_t n, double shift) {                  \
    double all = none;                                                                     \
    (void)shift;                                                                           \
    if (n >= LANES) {                                                                      \
      double lanes[LANES];                                                                 \
      for (size_t k = 0; k < LANES; k++) lanes[k] = none;                                  \
      for (; n >= LANES; n -= LANES, x += LANES) column_f64_##name(lanes, x, LANES, NULL); \
      for (size_t k = 0; k < LANES; k++) column_f64_##name(&all, lanes + k, 1, NULL);      \
    }                                                                                      \
    for (size_t k = 0; k < n; k++) column_f64_##name(&all, x + k, 1, NULL);                \
    return all;                                                                            \
  }
ROW_F64(prod, 1)
ROW_F64(max, -INFINITY)
ROW_F64(min, INFINITY)

/* Rows side by side, so that they do not wait for each other: |m|, a constant but for the last ones. */
enum { SIDE = 8 };

#define ROWS_F64(name, none, next)                                                                                    \
  OX_INLINE void side_f64_##name(const double *x, const size_t m, size_t n, size_t pitch, const double *shift,        \
                                 double *y) {                                                                         \
    double all[SIDE];                                                                                                 \
    (void)shift;                                                                                                      \
    for (size_t k = 0; k < m; k++) all[k] = none;                                                                     \
    for (size_t i = 0; i < n; i++)                                                                                    \
      for (size_t k = 0; k < m; k++) {                                                                                \
        double a = all[k], v = x[k * pitch + i];                                                                      \
        all[k] = (next);                                                                                              \
      }                                                                                                               \
    for (size_t k = 0; k < m; k++) y[k] = all[k];                                                                     \
  }                                                                                                                   \
  static void rows_f64_##name(const double *x, size_t rows, size_t n, size_t pitch, const double *shift, double *y) { \
    for (; rows >= SIDE; rows -= SIDE, x += SIDE * pitch, y += SIDE, shift = shift ? shift + SIDE : NULL)             \
      side_f64_##name(x, SIDE, n, pitch, shift, y);                                                                   \
    side_f64_##name(x, rows, n, pitch, shift, y);                                                                     \
  }
ROWS_F64(sum, 0, a + v)
ROWS_F64(abs, 0, a + fabs(v))
ROWS_F64(square, 0, a + v * v)
ROWS_F64(exp, 0, a + ox_f64_exp(v - shift[k]))
ROWS_F64(prod, 1, a *v)
ROWS_F64(max, -INFINITY, ((v > a) | (v != v)) ? v : a)
ROWS_F64(min, INFINITY, ((v < a) | (v != v)) ? v : a)

/* |flip| makes unsigned order signed order. */
#define I64(name, none, next)                                                                     \
  static void column_i64_##name(int64_t *acc, const int64_t *x, size_t n, int is_unsigned) {      \
    uint64_t flip = is_unsigned ? (uint64_t)1 << 63 : 0;                                          \
    (void)flip;                                                                                   \
    for (size_t i = 0; i < n; i++) {                                                              \
      uint64_t a = (uint64_t)acc[i], v = (uint64_t)x[i];                                          \
      acc[i] = (int64_t)(next);                                                                   \
    }                                                                                             \
  }                                                                                               \
  static int64_t row_i64_##name(int64_t acc, const int64_t *x, size_t n, int is_unsigned) {       \
    if (n >= 2 * LANES) {                                                                         \
      int64_t lanes[LANES];                                                                       \
      for (size_t k = 0; k < LANES; k++) lanes[k] = none;                                         \
      for (; n >= LANES; n -= LANES, x += LANES) column_i64_##name(lanes, x, LANES, is_unsigned); \
      for (size_t k = 0; k < LANES; k++) join_i64_##name(&acc, lanes + k, 1, is_unsigned);        \
    }                                                                                             \
    for (size_t i = 0; i < n; i++) column_i64_##name(&acc, x + i, 1, is_unsigned);                \
    return acc;                                                                                   \
  }
#define join_i64_sum column_i64_sum
#define join_i64_abs column_i64_sum /* the lanes are mapped already */
#define join_i64_square column_i64_sum
#define join_i64_prod column_i64_prod
#define join_i64_max column_i64_max
#define join_i64_min column_i64_min
#define ROWS_I64(name, none, next)                                                                                  \
  OX_INLINE void side_i64_##name(const int64_t *x, const size_t m, size_t n, size_t pitch, int is_unsigned,         \
                                 int64_t *y) {                                                                      \
    uint64_t flip = is_unsigned ? (uint64_t)1 << 63 : 0, all[SIDE];                                                 \
    (void)flip;                                                                                                     \
    for (size_t k = 0; k < m; k++) all[k] = (uint64_t)(none);                                                       \
    for (size_t i = 0; i < n; i++)                                                                                  \
      for (size_t k = 0; k < m; k++) {                                                                              \
        uint64_t a = all[k], v = (uint64_t)x[k * pitch + i];                                                        \
        all[k] = (uint64_t)(next);                                                                                  \
      }                                                                                                             \
    for (size_t k = 0; k < m; k++) y[k] = (int64_t)all[k];                                                          \
  }                                                                                                                 \
  static void rows_i64_##name(const int64_t *x, size_t rows, size_t n, size_t pitch, int is_unsigned, int64_t *y) { \
    for (; rows >= SIDE; rows -= SIDE, x += SIDE * pitch, y += SIDE)                                                \
      side_i64_##name(x, SIDE, n, pitch, is_unsigned, y);                                                           \
    side_i64_##name(x, rows, n, pitch, is_unsigned, y);                                                             \
  }
#define EITHER_I64(name, none, next) I64(name, none, next) ROWS_I64(name, none, next)
EITHER_I64(sum, 0, a + v)
EITHER_I64(abs, 0, a + ((int64_t)v < 0 && !flip ? 0 - v : v))
EITHER_I64(square, 0, a + v * v)
EITHER_I64(prod, 1, a *v)
EITHER_I64(max, is_unsigned ? 0 : INT64_MIN, (int64_t)(v ^ flip) > (int64_t)(a ^ flip) ? v : a)
EITHER_I64(min, is_unsigned ? -1 : INT64_MAX, (int64_t)(v ^ flip) < (int64_t)(a ^ flip) ? v : a)

#define EXTREMES(tag, type)                                 \
  static int64_t most_##tag(const void *data, size_t n) {   \
    const type *x = data;                                   \
    type a = x[0];                                          \
    for (size_t i = 1; i < n; i++) a = x[i] > a ? x[i] : a; \
    return (int64_t)a;                                      \
  }                                                         \
  static int64_t least_##tag(const void *data, size_t n) {  \
    const type *x = data;                                   \
    type a = x[0];                                          \
    for (size_t i = 1; i < n; i++) a = x[i] < a ? x[i] : a; \
    return (int64_t)a;                                      \
  }

/* Four rows per visit of the extremes so far. */
#define BEST_COLUMN(tag, name, type, better)                                                             \
  static void column_##name##_##tag(void *best, const void *data, size_t n, size_t rows, size_t pitch) { \
    type *restrict a = best;                                                                             \
    const type *restrict x = data;                                                                       \
    for (; rows >= 4; rows -= 4, x += 4 * pitch)                                                         \
      for (size_t i = 0; i < n; i++) {                                                                   \
        type b = a[i];                                                                                   \
        OX_UNROLL for (size_t r = 0; r < 4; r++) {                                                       \
          type v = x[r * pitch + i];                                                                     \
          b = (better) ? v : b;                                                                          \
        }                                                                                                \
        a[i] = b;                                                                                        \
      }                                                                                                  \
    for (; rows > 0; rows--, x += pitch)                                                                 \
      for (size_t i = 0; i < n; i++) {                                                                   \
        type b = a[i], v = x[i];                                                                         \
        a[i] = (better) ? v : b;                                                                         \
      }                                                                                                  \
  }
BEST_COLUMN(f64, max, double, (v > b) | (v != v))
BEST_COLUMN(f64, min, double, (v < b) | (v != v))
/* Some are compared before any is looked at. */
enum { AT_ONCE = 32 };

#define NEXT_BETTER(tag, type, truth)                                                                     \
  OX_INLINE size_t next_##tag(const type *x, size_t n, const type bound, const int below) {               \
    size_t i = 0;                                                                                         \
    for (; i + AT_ONCE <= n; i += AT_ONCE) {                                                              \
      truth some = 0;                                                                                     \
      for (size_t k = 0; k < AT_ONCE; k++) some |= below ? x[i + k] < bound : !(x[i + k] <= bound);       \
      if (some) break;                                                                                    \
    }                                                                                                     \
    for (; i < n; i++)                                                                                    \
      if (below ? x[i] < bound : !(x[i] <= bound)) break;                                                 \
    return i;                                                                                             \
  }                                                                                                       \
  static size_t next_better_##tag(const void *x, size_t n, const void *bound, int below) {                \
    return below ? next_##tag(x, n, *(const type *)bound, 1) : next_##tag(x, n, *(const type *)bound, 0); \
  }
NEXT_BETTER(f64, double, uint64_t)
#define INTEGER(tag, type, truth) \
  NEXT_BETTER(tag, type, truth)   \
  EXTREMES(tag, type)             \
  BEST_COLUMN(tag, max, type, v > b) BEST_COLUMN(tag, min, type, v < b)
INTEGER(i8, int8_t, uint8_t)
INTEGER(u8, uint8_t, uint8_t)
INTEGER(i16, int16_t, uint16_t)
INTEGER(u16, uint16_t, uint16_t)
INTEGER(i32, int32_t, uint32_t)
INTEGER(u32, uint32_t, uint32_t)
INTEGER(i64, int64_t, uint64_t)
INTEGER(u64, uint64_t, uint64_t)

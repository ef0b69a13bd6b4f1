/* SPDX-License-Identifier: Apache-2.0
 * kern/softmax/softmax_f32_body.h - softmax over the SIMD vocabulary. Sums of a block are added up in double. */
#include "kern/softmax/softmax.h"

enum {
  L = VF32_LANES,
  BLOCK = 256 * L, /* elements summed in float */
  PIECE = 16 * BLOCK,
  ROWS = 1024 /* elements, or rows of columns, between two checks of |stop| */
};

static bool is_over(const ox_stop *stop) { return stop && ox_stop_asked(stop); }

static float highest(const float *x, size_t n) {
  vf32 a = vf32_splat(-INFINITY), b = a;
  size_t i = 0;
  for (; i + 2 * L <= n; i += 2 * L) {
    a = vf32_max(vf32_load(x + i), a);
    b = vf32_max(vf32_load(x + i + L), b);
  }
  for (; i < n; i += L) {
    size_t k = vf32_lanes_at(i, n);
    a = vf32_max(vf32_select(vm32_first(k), vf32_load_n(x + i, k), a), a);
  }
  return vf32_hmax(vf32_max(a, b)); /* ignores NaN; the sum of exponentials then is NaN */
}

/* exp(x - high) as 2^(x log2e - high log2e): one FMA instead of a subtraction and the splitting of the argument. The
 * rounding error of the second product multiplies all exponentials by the same factor, which cancels in the division by
 * the sum. For a |high| so large that the shift could overflow, and without FMA, it is computed as exp(x - high). */
typedef struct {
  vf32 high, shift;
  int direct;
} base;

static inline base base_of(float high) {
  int direct = !VF32_HAS_FMA || !(high > -1e6f && high < 1e6f);
  return (base){vf32_splat(high), vf32_splat(-high * 0x1.715476p+0f), direct};
}

#ifdef VF32_HAS_PICK8
static inline vf32 power(vf32 x, vf32 shift) {
  vf32 t = vf32_at_least(vf32_fma(x, vf32_splat(0x1.715476p+0f), shift), -128.0f), magic = vf32_splat(0x1.8p20f);
  vf32 m = vf32_add(t, magic);
  return math_exp2_flush_(m, vf32_sub(t, vf32_sub(m, magic)));
}
/* exp(x) for x <= 0, exactly 1 at 0 */
static inline vf32 power_of(vf32 x) {
  vf32 c = vf32_at_least(x, -89.0f), log2e = vf32_splat(0x1.715476p+0f), magic = vf32_splat(0x1.8p20f);
  vf32 m = vf32_fma(c, log2e, magic);
  return math_exp2_flush_(m, vf32_fma(c, log2e, vf32_sub(magic, m)));
}
#else
static inline vf32 power_of(vf32 x) { return vf32_exp_flush(x); }
static inline vf32 power(vf32 x, vf32 shift) {
  vf32 t = vf32_fma(x, vf32_splat(0x1.715476p+0f), shift), magic = vf32_splat(0x1.8p23f);
  vm32 gone = vf32_lt(t, vf32_splat(-125.0f)); /* nearly denormal: becomes 0 */
  t = vf32_at_least(t, -126.0f);
  vf32 n = vf32_sub(vf32_add(t, magic), magic), f = vf32_sub(t, n);
  vf32 p = vf32_fma(vf32_splat(0x1.5c0822p-10f), f, vf32_splat(0x1.3d0d48p-7f));
  p = vf32_fma(p, f, vf32_splat(0x1.c6b6ecp-5f));
  p = vf32_fma(p, f, vf32_splat(0x1.ebf914p-3f));
  p = vf32_fma(p, f, vf32_splat(0x1.62e428p-1f));
  p = vf32_fma(p, f, vf32_splat(0x1.000002p+0f));
  return vf32_select(gone, vf32_zero(), vf32_ldexp(p, n));
}
#endif

static inline vf32 exponential(vf32 x, const base *b, const int direct) {
  return direct ? power_of(vf32_sub(x, b->high)) : power(x, b->shift);
}

/* |total| plus the sum of the exponentials, block by block. They are stored to y unless it is NULL. */
OX_INLINE double sum_up(double total, const float *x, float *y, size_t n, const base *bs, const int direct) {
  for (size_t from = 0; from < n; from += BLOCK) {
    size_t end = n - from < BLOCK ? n : from + BLOCK, i = from;
    vf32 a = vf32_zero(), b = a;
    for (; i + 2 * L <= end; i += 2 * L) {
      vf32 e = exponential(vf32_load(x + i), bs, direct), f = exponential(vf32_load(x + i + L), bs, direct);
      if (y) vf32_store(y + i, e), vf32_store(y + i + L, f);
      a = vf32_add(a, e), b = vf32_add(b, f);
    }
    for (; i < end; i += L) {
      size_t k = vf32_lanes_at(i, end);
      vf32 e = exponential(vf32_load_n(x + i, k), bs, direct);
      if (y) vf32_store_n(y + i, e, k);
      a = vf32_add(a, vf32_select(vm32_first(k), e, vf32_zero()));
    }
    total += (double)vf32_sum(vf32_add(a, b));
  }
  return total;
}

static double exponentials(double total, const float *x, float *y, size_t n, const base *b) {
  return b->direct ? sum_up(total, x, y, n, b, 1) : sum_up(total, x, y, n, b, 0);
}

OX_INLINE void scale_by(float *y, size_t n, double sum) {
  vf32 s = vf32_splat((float)(1 / sum));
  size_t i = 0;
  for (; i + L <= n; i += L) vf32_store(y + i, vf32_mul(vf32_load(y + i), s));
  if (i < n) vf32_store_n(y + i, vf32_mul(vf32_load_n(y + i, n - i), s), n - i);
}

OX_INLINE void shift_by(const float *x, float *y, size_t n, float high, float log_sum) {
  vf32 h = vf32_splat(high), s = vf32_splat(log_sum);
  size_t i = 0;
  for (; i + L <= n; i += L) vf32_store(y + i, vf32_sub(vf32_sub(vf32_load(x + i), h), s));
  if (i < n) vf32_store_n(y + i, vf32_sub(vf32_sub(vf32_load_n(x + i, n - i), h), s), n - i);
}

/* Pieces are whole blocks, so that the sum is the same as in |row|. */
static void long_row(const float *x, float *y, size_t n, int is_log, const ox_stop *stop) {
  float high = -INFINITY;
  double sum = 0;
  for (size_t i = 0; i < n; i += PIECE) {
    if (is_over(stop)) return;
    float h = highest(x + i, n - i < PIECE ? n - i : PIECE);
    high = h > high ? h : high;
  }
  base b = base_of(high);
  if (is_log) b.direct = 1; /* the largest element gives exactly e^0 = 1: if all others vanish, the logarithm is 0 */
  for (size_t i = 0; i < n; i += PIECE) {
    if (is_over(stop)) return;
    sum = exponentials(sum, x + i, is_log ? NULL : y + i, n - i < PIECE ? n - i : PIECE, &b);
  }
  for (size_t i = 0; i < n; i += PIECE) {
    size_t k = n - i < PIECE ? n - i : PIECE;
    if (is_over(stop)) return;
    if (is_log)
      shift_by(x + i, y + i, k, high, (float)log(sum));
    else
      scale_by(y + i, k, sum);
  }
}

/* Loads a row of M vectors, with -inf in missing lanes; returns the maximum of each lane. */
OX_INLINE vf32 load_small_row(const float *x, size_t n, const size_t M, vf32 *v) {
  vf32 high = vf32_splat(-INFINITY);
  size_t rest = n - (M - 1) * L;
  OX_UNROLL for (size_t i = 0; i + 1 < M; i++) v[i] = vf32_load(x + i * L);
  v[M - 1] = vf32_select(vm32_first(rest), vf32_load_n(x + (M - 1) * L, rest), high);
  OX_UNROLL for (size_t i = 0; i < M; i++) high = vf32_max(v[i], high);
  return high;
}

/* A row of M vectors stays in registers. Missing lanes are -inf: their exponentials are 0. */
OX_INLINE void small_row(const float *x, float *y, size_t n, const size_t M) {
  vf32 v[8], sum = vf32_zero(), high = load_small_row(x, n, M, v);
  size_t rest = n - (M - 1) * L;
  base b = base_of(vf32_hmax(high));
  if (b.direct) {
    OX_UNROLL for (size_t i = 0; i < M; i++) v[i] = exponential(v[i], &b, 1), sum = vf32_add(sum, v[i]);
  } else {
    OX_UNROLL for (size_t i = 0; i < M; i++) v[i] = exponential(v[i], &b, 0), sum = vf32_add(sum, v[i]);
  }
  vf32 scale = vf32_splat(1.0f / vf32_sum(sum));
  OX_UNROLL for (size_t i = 0; i + 1 < M; i++) vf32_store(y + i * L, vf32_mul(v[i], scale));
  vf32_store_n(y + (M - 1) * L, vf32_mul(v[M - 1], scale), rest);
}

/* Rows of M vectors, some at a time, so that they do not wait for their own maxima and sums: the same bits. */
OX_INLINE void rows_of(const float *x, float *y, size_t rows, size_t n, const size_t M) {
  const size_t SIDE = M <= 2 ? 4 : 2, rest = n - (M - 1) * L;
  for (; rows >= SIDE; rows -= SIDE, x += SIDE * n, y += SIDE * n) {
    vf32 v[4][8], sum[4], scale;
    base b[4];
    int direct = 0;
    OX_UNROLL for (size_t s = 0; s < SIDE; s++) {
      b[s] = base_of(vf32_hmax(load_small_row(x + s * n, n, M, v[s])));
      direct |= b[s].direct, sum[s] = vf32_zero();
    }
    if (direct) { /* rare */
      for (size_t s = 0; s < SIDE; s++) small_row(x + s * n, y + s * n, n, M);
      continue;
    }
    OX_UNROLL for (size_t i = 0; i < M; i++) OX_UNROLL for (size_t s = 0; s < SIDE; s++) {
      v[s][i] = exponential(v[s][i], &b[s], 0), sum[s] = vf32_add(sum[s], v[s][i]);
    }
    OX_UNROLL for (size_t s = 0; s < SIDE; s++) {
      scale = vf32_splat(1.0f / vf32_sum(sum[s]));
      OX_UNROLL for (size_t i = 0; i + 1 < M; i++) vf32_store(y + s * n + i * L, vf32_mul(v[s][i], scale));
      vf32_store_n(y + s * n + (M - 1) * L, vf32_mul(v[s][M - 1], scale), rest);
    }
  }
  for (; rows > 0; rows--, x += n, y += n) small_row(x, y, n, M);
}

/* fn(x, y, rows, n, vectors of a row), the last argument a constant. */
#define VECTORS(fn, m)    \
  case m:                 \
    fn(x, y, rows, n, m); \
    break;
#define BY_VECTORS(fn)       \
  switch ((n + L - 1) / L) { \
    VECTORS(fn, 1)           \
    VECTORS(fn, 2)           \
    VECTORS(fn, 3)           \
    VECTORS(fn, 4)           \
    VECTORS(fn, 5)           \
    VECTORS(fn, 6)           \
    VECTORS(fn, 7)           \
    default:                 \
      fn(x, y, rows, n, 8);  \
  }

#ifdef VF32_HAS_PICK8
#include "kern/softmax/softmax_f32_pairs.h"
#else
enum { ROWS_MOST = 8 * L, LOG_MOST = 8 * L };
#define pairs(x, y, rows, n) ((void)0)
#define log_groups(x, y, rows, n) ((void)0)
#endif

static void some_rows(const float *x, float *y, size_t rows, size_t n) {
  if (n > 8 * L)
    pairs(x, y, rows, n);
  else
    BY_VECTORS(rows_of)
}

/* The same for logarithms. The exponentials are those of long rows: alone in the sum, the largest is 1. */
OX_INLINE void small_log_row(const float *x, float *y, size_t n, const size_t M) {
  vf32 v[8], sum = vf32_zero(), high = load_small_row(x, n, M, v);
  size_t rest = n - (M - 1) * L;
  high = vf32_splat(vf32_hmax(high));
  OX_UNROLL for (size_t i = 0; i < M; i++) v[i] = vf32_sub(v[i], high), sum = vf32_add(sum, power_of(v[i]));
  vf32 s = vf32_log(vf32_splat(vf32_sum(sum)));
  OX_UNROLL for (size_t i = 0; i + 1 < M; i++) vf32_store(y + i * L, vf32_sub(v[i], s));
  vf32_store_n(y + (M - 1) * L, vf32_sub(v[M - 1], s), rest);
}

/* Rows of M vectors: their sums first, then the logarithms of as many as a vector holds. */
OX_INLINE void log_rows_of(const float *x, float *y, size_t rows, size_t n, const size_t M) {
  size_t rest = n - (M - 1) * L;
  float sums[L];
  for (size_t r = 0; r < rows; r += L, x += L * n, y += L * n) {
    size_t m = vf32_lanes_at(r, rows);
    for (size_t k = 0; k < m; k++) {
      vf32 v[8], sum = vf32_zero(), high = vf32_splat(vf32_hmax(load_small_row(x + k * n, n, M, v)));
      OX_UNROLL for (size_t i = 0; i < M; i++) v[i] = vf32_sub(v[i], high), sum = vf32_add(sum, power_of(v[i]));
      OX_UNROLL for (size_t i = 0; i + 1 < M; i++) vf32_store(y + k * n + i * L, v[i]);
      vf32_store_n(y + k * n + (M - 1) * L, v[M - 1], rest);
      sums[k] = vf32_sum(sum);
    }
    vf32_store_n(sums, vf32_log(vf32_load_n(sums, m)), m);
    for (size_t k = 0; k < m; k++) {
      vf32 s = vf32_splat(sums[k]);
      float *row = y + k * n;
      OX_UNROLL for (size_t i = 0; i + 1 < M; i++) vf32_store(row + i * L, vf32_sub(vf32_load(row + i * L), s));
      vf32_store_n(row + (M - 1) * L, vf32_sub(vf32_load_n(row + (M - 1) * L, rest), s), rest);
    }
  }
}

static void log_rows(const float *x, float *y, size_t rows, size_t n) {
  if (n > 8 * L)
    log_groups(x, y, rows, n);
  else
    BY_VECTORS(log_rows_of)
}
#undef BY_VECTORS
#undef VECTORS

#define SMALL(fn, m) \
  case m:            \
    fn(x, y, n, m);  \
    return;
#define SMALL_ROWS(fn)                                                                                          \
  switch ((n + L - 1) / L) {                                                                                    \
    SMALL(fn, 1)                                                                                                \
    SMALL(fn, 2) SMALL(fn, 3) SMALL(fn, 4) SMALL(fn, 5) SMALL(fn, 6) SMALL(fn, 7) SMALL(fn, 8) default : break; \
  }

static void row(const float *x, float *y, size_t n) {
  SMALL_ROWS(small_row)
  base b = base_of(highest(x, n));
  scale_by(y, n, exponentials(0, x, y, n, &b));
}

static void log_row(const float *x, float *y, size_t n) {
  SMALL_ROWS(small_log_row)
  if (n <= LOG_MOST) {
    log_rows(x, y, 1, n);
    return;
  }
  float high = highest(x, n);
  base b = base_of(high);
  b.direct = 1;
  shift_by(x, y, n, high, (float)log(exponentials(0, x, NULL, n, &b)));
}

/* One vector of columns at a time: its maximum, sum and results stay in registers. */
static void column_lanes(const float *x, float *y, size_t n, size_t pitch, size_t k, int is_log, const ox_stop *stop) {
  vf32 high = vf32_splat(-INFINITY), sum = vf32_zero();
#define ALL_ROWS(r)                                                       \
  for (size_t r0 = 0; r0 < n && !(n > ROWS && is_over(stop)); r0 += ROWS) \
    for (size_t r = r0, end = n - r0 < ROWS ? n : r0 + ROWS; r < end; r++)
  ALL_ROWS(r) high = vf32_max(vf32_load_n(x + r * pitch, k), high);
  ALL_ROWS(r) {
    vf32 e = power_of(vf32_sub(vf32_load_n(x + r * pitch, k), high));
    if (!is_log) vf32_store_n(y + r * pitch, e, k);
    sum = vf32_add(sum, e);
  }
  if (is_log) {
    vf32 s = vf32_log(sum);
    ALL_ROWS(r)
    vf32_store_n(y + r * pitch, vf32_sub(vf32_sub(vf32_load_n(x + r * pitch, k), high), s), k);
  } else {
    vf32 s = vf32_div(vf32_splat(1.0f), sum);
    ALL_ROWS(r) vf32_store_n(y + r * pitch, vf32_mul(vf32_load_n(y + r * pitch, k), s), k);
  }
#undef ALL_ROWS
}

static void columns(const float *x, float *y, size_t n, size_t width, size_t pitch, int is_log, const ox_stop *stop) {
  for (size_t i = 0; i < width; i += L) column_lanes(x + i, y + i, n, pitch, vf32_lanes_at(i, width), is_log, stop);
}

/* |k| <= L rows of n <= L floats, transposed so that a row is a lane. |n| is a constant after inlining if it is small.
 */
OX_INLINE void square(const float *x, float *y, const size_t k, const size_t n, int is_log) {
  vf32 v[L], high = vf32_splat(-INFINITY), sum = vf32_zero();
  OX_UNROLL for (size_t i = 0; i < L; i++) v[i] = i < k ? vf32_load_n(x + i * n, n) : vf32_zero();
  vf32_transpose(v);
  for (size_t c = 0; c < n; c++) high = vf32_max(v[c], high);
  for (size_t c = 0; c < n; c++) {
    vf32 e = power_of(vf32_sub(v[c], high));
    v[c] = is_log ? vf32_sub(v[c], high) : e, sum = vf32_add(sum, e);
  }
  vf32 s = is_log ? vf32_log(sum) : vf32_div(vf32_splat(1.0f), sum);
  for (size_t c = 0; c < n; c++) v[c] = is_log ? vf32_sub(v[c], s) : vf32_mul(v[c], s);
  vf32_transpose(v);
  OX_UNROLL for (size_t i = 0; i < L; i++) if (i < k) vf32_store_n(y + i * n, v[i], n);
}

OX_INLINE void squares(const float *x, float *y, size_t rows, const size_t n, int is_log) {
  size_t r = 0;
  for (; rows - r >= L; r += L) square(x + r * n, y + r * n, L, n, is_log);
  if (r < rows) square(x + r * n, y + r * n, rows - r, n, is_log);
}

static void short_rows(const float *x, float *y, size_t rows, size_t n, int is_log) {
  if (is_log)
    squares(x, y, rows, n, 1);
  else if (n == 2 && L > 2)
    squares(x, y, rows, 2, 0);
  else if (n == 3 && L > 3)
    squares(x, y, rows, 3, 0);
  else if (n == 4 && L > 4)
    squares(x, y, rows, 4, 0);
  else
    squares(x, y, rows, n, 0);
}

const ox_softmax_table SOFTMAX_NAME = {SOFTMAX_NEEDS, SOFTMAX_ISA, row,      log_row,  long_row,  columns,
                                       short_rows,    L,           log_rows, LOG_MOST, some_rows, ROWS_MOST};

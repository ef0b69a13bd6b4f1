/* SPDX-License-Identifier: Apache-2.0
 * kern/softmax/softmax_f32_pairs.h - part of softmax_f32_body.h: rows of 9 vectors or more, some at a time. */
/* Rows that do not fit in registers, two at a time for the same reason; every row as |row| or |log_row| computes it. */
enum { ROWS_MOST = 512, LOG_MOST = 512, PAIR = 2 };

OX_INLINE void pair_highest(const float *x, size_t n, float *high) {
  vf32 a[PAIR], lowest = vf32_splat(-INFINITY);
  OX_UNROLL for (size_t s = 0; s < PAIR; s++) a[s] = lowest;
  size_t i = 0;
  for (; i + L <= n; i += L)
    OX_UNROLL for (size_t s = 0; s < PAIR; s++) a[s] = vf32_max(vf32_load(x + s * n + i), a[s]);
  if (i < n)
    OX_UNROLL for (size_t s = 0; s < PAIR; s++) a[s] =
        vf32_max(vf32_select(vm32_first(n - i), vf32_load_n(x + s * n + i, n - i), lowest), a[s]);
  OX_UNROLL for (size_t s = 0; s < PAIR; s++) high[s] = vf32_hmax(a[s]);
}

/* n <= BLOCK; y may be NULL. */
OX_INLINE void pair_sums(const float *x, float *y, size_t n, const base *bs, const int direct, float *sums) {
  vf32 a[PAIR], b[PAIR];
  OX_UNROLL for (size_t s = 0; s < PAIR; s++) a[s] = b[s] = vf32_zero();
  size_t i = 0;
  for (; i + 2 * L <= n; i += 2 * L) OX_UNROLL for (size_t s = 0; s < PAIR; s++) {
      const float *from = x + s * n + i;
      vf32 e = exponential(vf32_load(from), &bs[s], direct), f = exponential(vf32_load(from + L), &bs[s], direct);
      if (y) vf32_store(y + s * n + i, e), vf32_store(y + s * n + i + L, f);
      a[s] = vf32_add(a[s], e), b[s] = vf32_add(b[s], f);
    }
  for (; i < n; i += L) OX_UNROLL for (size_t s = 0; s < PAIR; s++) {
      size_t k = vf32_lanes_at(i, n);
      vf32 e = exponential(vf32_load_n(x + s * n + i, k), &bs[s], direct);
      if (y) vf32_store_n(y + s * n + i, e, k);
      a[s] = vf32_add(a[s], vf32_select(vm32_first(k), e, vf32_zero()));
    }
  OX_UNROLL for (size_t s = 0; s < PAIR; s++) sums[s] = vf32_sum(vf32_add(a[s], b[s]));
}

static void row(const float *x, float *y, size_t n);
static void pairs(const float *x, float *y, size_t rows, size_t n) {
  for (; rows >= PAIR; rows -= PAIR, x += PAIR * n, y += PAIR * n) {
    float high[PAIR], sums[PAIR];
    pair_highest(x, n, high);
    const base bs[PAIR] = {base_of(high[0]), base_of(high[1])};
    if (bs[0].direct || bs[1].direct) { /* rare */
      for (size_t s = 0; s < PAIR; s++) row(x + s * n, y + s * n, n);
      continue;
    }
    pair_sums(x, y, n, bs, 0, sums);
    for (size_t s = 0; s < PAIR; s++) scale_by(y + s * n, n, (double)sums[s]);
  }
  if (rows) row(x, y, n);
}

/* The logarithms are those of as many sums as a vector holds. */
static void log_groups(const float *x, float *y, size_t rows, size_t n) {
  for (size_t r = 0; r < rows; r += L, x += L * n, y += L * n) {
    size_t m = vf32_lanes_at(r, rows), k = 0;
    float high[L], sums[L];
    for (; k + PAIR <= m; k += PAIR) {
      pair_highest(x + k * n, n, high + k);
      const base bs[PAIR] = {base_of(high[k]), base_of(high[k + 1])};
      pair_sums(x + k * n, NULL, n, bs, 1, sums + k);
    }
    if (k < m) {
      const base b = base_of(high[k] = highest(x + k * n, n));
      sums[k] = (float)sum_up(0, x + k * n, NULL, n, &b, 1);
    }
    vf32_store_n(sums, vf32_log(vf32_load_n(sums, m)), m);
    for (k = 0; k < m; k++) shift_by(x + k * n, y + k * n, n, high[k], sums[k]);
  }
}

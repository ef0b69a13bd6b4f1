/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/qtile.h - the inner loop of tiles of 8-bit products, Q_TILE x Q_TILE by 256 items as in gemm_tile.h:
 * an item has blocks of 4 x 4, 64 apart. Both operands are in local memory as ints [k / 4][row]. */
enum {
  Q_BLOCKS = Q_TILE / 64,
  Q_WIDTH = Q_TILE / 4 + 1, /* int4s per row; the additional one avoids bank conflicts */
  Q_SIDE = QPRODUCT_STEP * (Q_TILE / 4 + 1),
  Q_LOADS = Q_TILE * QPRODUCT_STEP / 256, /* ints of each operand that an item loads per step */
  Q_ONES = 0x01010101
};

/* Adjacent items load adjacent ints along k. */
#define Q_LOAD_ROW(t, i) ((t) / QPRODUCT_STEP + (i) * (256 / QPRODUCT_STEP))
#define Q_LOAD_K(t) ((t) % QPRODUCT_STEP)

FUNCTION void q_place(LOCAL_POINTER int4 *side, int row, int k, int v) {
  ((LOCAL_POINTER int *)side)[k * Q_WIDTH * 4 + row] = v;
}

FUNCTION int q_weights(const GLOBAL int *w, int row, int rows, int k, int k4) {
  return row < rows && k < k4 ? w[row * k4 + k] : 0;
}

/* Adds a step's products to |sums| and, with |has_w_zero|, the bytes of x to |sum_x|; |of_x|: x is the rows (0) or the
 * columns (1). */
#define Q_MULTIPLY(t, rows, columns, sums, sum_x, has_w_zero, of_x)                                               \
  UNROLL for (int kk = 0; kk < QPRODUCT_STEP; kk++) {                                                             \
    int a_[Q_BLOCKS * 4], b_[Q_BLOCKS * 4];                                                                       \
    UNROLL for (int i = 0; i < Q_BLOCKS; i++) {                                                                   \
      int4 u = (rows)[kk * Q_WIDTH + (t) / 16 + i * 16], v = (columns)[kk * Q_WIDTH + (t) % 16 + i * 16];         \
      a_[i * 4] = u.x, a_[i * 4 + 1] = u.y, a_[i * 4 + 2] = u.z, a_[i * 4 + 3] = u.w;                             \
      b_[i * 4] = v.x, b_[i * 4 + 1] = v.y, b_[i * 4 + 2] = v.z, b_[i * 4 + 3] = v.w;                             \
    }                                                                                                             \
    if (has_w_zero) {                                                                                             \
      UNROLL for (int i = 0; i < Q_BLOCKS * 4; i++)(sum_x)[i] = DOT4((of_x) ? b_[i] : a_[i], Q_ONES, (sum_x)[i]); \
    }                                                                                                             \
    UNROLL for (int i = 0; i < Q_BLOCKS * 4; i++) {                                                               \
      UNROLL for (int j = 0; j < Q_BLOCKS * 4; j++)(sums)[i][j] = DOT4(a_[i], b_[j], (sums)[i][j]);               \
    }                                                                                                             \
  }

/* The |i|-th row or column of an item; |half|: t / 16 for rows, t % 16 for columns. */
#define Q_PLACE(half, i) ((i) / 4 * 64 + (half)*4 + (i) % 4)

/* SPDX-License-Identifier: Apache-2.0
 * ops/shared/matrix_order.h - cublasLt's memory layouts of matrices, for com.microsoft's QOrdered operators (the cuBLAS
 * manual, cublasLtOrder_t). */
#ifndef OX_OPS_SHARED_MATRIX_ORDER_H
#define OX_OPS_SHARED_MATRIX_ORDER_H

#include "base/macros.h"
#include "graph/op_def.h"

typedef enum ox_matrix_order {
  OX_ORDER_COL,
  OX_ORDER_ROW,
  OX_ORDER_COL32,       /* tiles of 32 columns, each row by row */
  OX_ORDER_COL4_4R2_8C, /* ... of 8 rows: even rows, then odd ones, in pieces of 4 columns */
  OX_ORDER_COL32_2R_4R4 /* ... of 32 rows, in pairs: 0, 1, 8, 9, 16, 17, 24, 25, 2, 3, ... */
} ox_matrix_order;

/* The position of element (r, c) of a matrix of |rows| x |cols|. */
static inline int64_t ox_matrix_at(int64_t order, int64_t rows, int64_t cols, int64_t r, int64_t c) {
  int64_t tile = c / 32 * 32 * rows, rt = r % 32, ct = c % 32;
  switch (order) {
    case OX_ORDER_COL:
      return c * rows + r;
    case OX_ORDER_COL32:
      return tile + r * 32 + ct;
    case OX_ORDER_COL4_4R2_8C: /* 8 rows x 8 columns: 4 rows of one parity x (4 columns, then the 4 to their right) */
      return tile + (r / 8 * 8 + r % 2 * 4 + ct / 8) * 32 + (ct % 8 / 4 * 4 + r % 8 / 2) * 4 + ct % 4;
    case OX_ORDER_COL32_2R_4R4:
      return tile + r / 32 * 1024 + ((rt % 8 / 2 * 4 + rt / 8) * 2 + rt % 2) * 32 + ct;
    default:
      return r * cols + c;
  }
}

/* Checks that the matrix consists of whole tiles, as far as its sizes are known. */
OX_NODISCARD static inline ox_status *ox_matrix_order_ok(const char *op, int64_t order, int64_t rows, int64_t cols) {
  static const int tile_rows[] = {1, 1, 1, 8, 32};
  if (order < OX_ORDER_COL || order > OX_ORDER_COL32_2R_4R4)
    return ox_fail(OX_INVALID_MODEL, "%s: no order has the number %lld", op, (long long)order);
  if (order <= OX_ORDER_ROW || ((cols < 0 || cols % 32 == 0) && (rows < 0 || rows % tile_rows[order] == 0)))
    return NULL;
  return ox_fail(OX_SHAPE_MISMATCH, "%s: a matrix of %lld x %lld in order %lld, which has tiles of %d x 32", op,
                 (long long)rows, (long long)cols, (long long)order, tile_rows[order]);
}

/* The last two dimensions of |s|, and the product of those before them; missing ones are 1. -1: not known. */
static inline void ox_matrix_sizes(const ox_shape *s, int64_t *batch, int64_t *rows, int64_t *cols) {
  *batch = *rows = *cols = s->rank < 0 ? -1 : 1;
  if (s->rank > 0) *cols = s->dim[s->rank - 1];
  if (s->rank > 1) *rows = s->dim[s->rank - 2], *batch = ox_shape_span(s, 0, s->rank - 2);
}

#endif

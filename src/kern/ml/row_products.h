/* SPDX-License-Identifier: Apache-2.0
 * kern/ml/row_products.h - dot products of rows of X with the rows of a constant matrix (linear models), or
 * squared distances (RBF). The matrix is packed in panels of 16 rows, transposed: lanes are rows of the matrix. */
#ifndef OX_KERN_ML_ROW_PRODUCTS_H
#define OX_KERN_ML_ROW_PRODUCTS_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/cpu.h"

enum { OX_PANEL_ROWS = 16 };

typedef struct ox_row_panels {
  float *p; /* [ceil(n / 16)][k][16] */
  int64_t n, k;
} ox_row_panels;

/* |m|: row-major n x k. False: no memory. */
bool ox_row_panels_build(ox_row_panels *out, const float *m, int64_t n, int64_t k, ox_arena *arena);
/* y[r * ldy + i] = x row r . m row i, or their squared distance. */
void ox_row_products_run(const ox_row_panels *m, ox_isa isa, bool distance, const float *x, int64_t rows, float *y,
                         int64_t ldy);

/* |rows| <= 8 rows of x against one panel: y[r * 16 + lane]. */
typedef void ox_row_products_fn(const float *panel, int64_t k, bool distance, const float *x, int rows, float *y);
ox_row_products_fn ox_row_products__scalar, ox_row_products__avx2, ox_row_products__avx512, ox_row_products__neon;

#endif

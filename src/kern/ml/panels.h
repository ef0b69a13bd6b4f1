/* SPDX-License-Identifier: Apache-2.0
 * kern/ml/panels.h - rows of X against a constant matrix: dot products (linear models) or squared distances (RBF).
 * The matrix lies in panels of 16 of its rows, transposed: lanes are rows of the matrix. */
#ifndef OX_KERN_ML_PANELS_H
#define OX_KERN_ML_PANELS_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/cpu.h"

enum { OX_PANEL_ROWS = 16 };

typedef struct ox_panels {
  float *p; /* [ceil(n / 16)][k][16] */
  int64_t n, k;
} ox_panels;

/* |m|: row-major n x k. False: no memory. */
bool ox_panels_build(ox_panels *out, const float *m, int64_t n, int64_t k, ox_arena *arena);
/* y[r * ldy + i] = x row r . m row i, or their squared distance. */
void ox_panels_run(const ox_panels *m, ox_isa isa, bool distance, const float *x, int64_t rows, float *y, int64_t ldy);

/* |rows| <= 8 rows of x against one panel: y[r * 16 + lane]. */
typedef void ox_panel_fn(const float *panel, int64_t k, bool distance, const float *x, int rows, float *y);
ox_panel_fn ox_panel__scalar, ox_panel__avx2, ox_panel__avx512, ox_panel__neon;

#endif

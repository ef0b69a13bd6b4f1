/* SPDX-License-Identifier: Apache-2.0
 * kern/dist/dist.h - squared Euclidean distances between rows. */
#ifndef OX_KERN_DIST_DIST_H
#define OX_KERN_DIST_DIST_H

#include <stdbool.h>

#include "base/cpu.h"
#include "base/macros.h"

enum { OX_DIST_ROWS = 4 };
/* out[i][j] = the squared distance of row i of x and column j of yt, or, with |root|, the distance. n_x <= OX_DIST_ROWS
 * rows of x, each of n elements; |yt| is n x |rows|: Y transposed. */
typedef void (*ox_dist_fn)(const float *x, int n_x, const float *yt, float *out, int64_t rows, int64_t n, bool root);
ox_dist_fn ox_dist_select(ox_isa have);

#define OX_DIST(needs, symbol) \
  void symbol(const float *x, int n_x, const float *yt, float *out, int64_t rows, int64_t n, bool root);
#include "kern/dist/dist_variants.inc"
#undef OX_DIST

#endif

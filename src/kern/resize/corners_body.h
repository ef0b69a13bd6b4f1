/* SPDX-License-Identifier: Apache-2.0
 * kern/resize/corners_body.h - some points at a time over the vocabulary; no product is fused with a sum. */
#include <string.h>

#include "kern/resize/corners.h"

enum { L = VF64_LANES };

/* L points: |below| is a row below |x|. */
OX_INLINE void blend_some(const int64_t *at, const double *right, const double *down, const float *x,
                          const float *below, float *y) {
  vf64 one = vf64_splat(1), r = vf64_load(right), d = vf64_load(down), l = vf64_sub(one, r), u = vf64_sub(one, d);
  vf64 a, b, e, f;
  vf64_load_pairs(x, at, &a, &b), vf64_load_pairs(below, at, &e, &f);
  vf64 sum = vf64_add(vf64_mul(vf64_mul(u, l), a), vf64_mul(vf64_mul(u, r), b));
  sum = vf64_add(vf64_add(sum, vf64_mul(vf64_mul(d, l), e)), vf64_mul(vf64_mul(d, r), f));
  vf64_store_f32(y, sum);
}

static void blend(const ox_corners *c, const float *x, int64_t width, float *y) {
  const float *below = x + width;
  size_t i = 0;
  for (; i + L <= c->n; i += L) blend_some(c->at + i, c->right + i, c->down + i, x, below, y + i);
  if (i == c->n) return;
  int64_t at[L];
  double right[L] = {0}, down[L] = {0};
  float some[L];
  for (size_t k = 0; k < L; k++) at[k] = c->at[i]; /* a place that can be read */
  for (size_t k = 0; i + k < c->n; k++) at[k] = c->at[i + k], right[k] = c->right[i + k], down[k] = c->down[i + k];
  blend_some(at, right, down, x, below, some);
  memcpy(y + i, some, (c->n - i) * sizeof *y);
}

const ox_corners_kernel CORNERS_NAME = {CORNERS_NEEDS, CORNERS_ISA, blend};

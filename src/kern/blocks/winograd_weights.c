/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/winograd_weights.c - U = G g G^T of every filter, in double, rounded once:
 * [group][pair of blocks][point][ic][32], in the order in which the products read it. The last pair of an odd number of
 * blocks has rows of 16.
 *
 * Behind all of U lie the filters as they were, [group][pair of blocks][ic][tap][32]: what is not finite is computed
 * from them, because U no longer tells a zero from a very small number, whose products with infinity differ. */
#include <string.h>

#include "base/cksize.h"
#include "kern/blocks/winograd.h"
#include "kern/blocks/winograd_points.h"

size_t ox_wino_weight_floats(const ox_bconv_task *t, int m) {
  int64_t all[4] = {t->g.groups, t->g.ic, OX_ROUND_UP(t->g.oc, OX_BLOCK), (m + 2) * (m + 2) + 9}, n = 1;
  for (size_t i = 0; i < OX_COUNT(all); i++)
    if (!ox_mul_i64_ok(n, all[i], &n)) return 0;
  return (size_t)n;
}

int64_t ox_wino_weight_units(const ox_bconv_task *t) { return t->g.groups * OX_CEIL_DIV(t->g.oc, OX_WINO_PAIR); }

static void make_g(int m, double g[OX_WINO_MAX_N][3]) {
  const ox_wino_points *pt = ox_wino_points_of(m);
  memset(g, 0, (size_t)(m + 2) * sizeof *g);
  g[0][0] = 1 / (double)pt->q[0], g[m + 1][2] = 1;
  for (int i = 0; i < m; i++) {
    double p = (double)(i % 2 ? -pt->p[i / 2] : pt->p[i / 2]), norm = ox_wino_norm(m, i / 2);
    g[i + 1][0] = 1 / norm, g[i + 1][1] = p / norm, g[i + 1][2] = p * p / norm;
  }
}

/* One input channel of |n| filters, |step| floats apart; lanes past them become zero. */
static void transform(int m, double g[OX_WINO_MAX_N][3], const ox_f32u *w, int64_t step, int64_t n, float *u,
                      size_t u_point, size_t width) {
  double f[9][OX_WINO_PAIR] = {{0}}, half[3][OX_WINO_PAIR];
  for (int64_t l = 0; l < n; l++)
    for (int k = 0; k < 9; k++) f[k][l] = (double)w[l * step + k];
  for (int r = 0; r < m + 2; r++) {
    for (int b = 0; b < 3; b++)
      for (int l = 0; l < OX_WINO_PAIR; l++)
        half[b][l] = g[r][0] * f[b][l] + g[r][1] * f[3 + b][l] + g[r][2] * f[6 + b][l];
    for (int c = 0; c < m + 2; c++, u += u_point)
      for (size_t l = 0; l < width; l++)
        u[l] = (float)(g[c][0] * half[0][l] + g[c][1] * half[1][l] + g[c][2] * half[2][l]);
  }
}

static void copy_filters(const ox_f32u *w, int64_t step, int64_t n, float *to, size_t width) {
  for (int k = 0; k < 9; k++)
    for (size_t l = 0; l < width; l++) *to++ = (int64_t)l < n ? w[(int64_t)l * step + k] : 0;
}

void ox_wino_pack(const ox_bconv_task *t, int m, float *dst, const float *w, int64_t u0, int64_t u1,
                  const ox_stop *stop) {
  int64_t ic = t->g.ic, oc = t->g.oc, pairs = OX_CEIL_DIV(oc, OX_WINO_PAIR), points = (m + 2) * (m + 2);
  double g[OX_WINO_MAX_N][3];
  make_g(m, g);
  for (int64_t i = u0; i < u1; i++) {
    int64_t group = i / pairs, oc0 = i % pairs * OX_WINO_PAIR, n = OX_MIN(oc - oc0, OX_WINO_PAIR);
    size_t width = (size_t)OX_ROUND_UP(n, OX_BLOCK);
    float *u = dst + (group * OX_ROUND_UP(oc, OX_BLOCK) + oc0) * ic * points;
    const ox_f32u *from = (const ox_f32u *)w + (group * oc + oc0) * ic * 9;
    float *filters = dst + ox_wino_u_floats(t, m) + (group * OX_ROUND_UP(oc, OX_BLOCK) + oc0) * ic * 9;
    for (int64_t c = 0; c < ic; c++, from += 9, u += width, filters += 9 * width) {
      if (c % 8 == 0 && stop && ox_stop_asked(stop)) return;
      transform(m, g, from, ic * 9, n, u, (size_t)ic * width, width);
      copy_filters(from, ic * 9, n, filters, width);
    }
  }
}

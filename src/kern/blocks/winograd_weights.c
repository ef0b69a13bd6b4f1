/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/winograd_weights.c - packed weights, U of every filter:
 * [group][pair of blocks][point][ic][32], in the order in which the products read it. The last pair of an odd number of
 * blocks has rows of 16.
 *
 * Behind all of U lie the filters as they were, [group][pair of blocks][ic][tap][32]: what is not finite is computed
 * from them, because U no longer tells a zero from a very small number, whose products with infinity differ. Where runs
 * can ask for them (t->lends) they are left out. */
#include <string.h>

#include "base/cksize.h"
#include "kern/blocks/winograd.h"

size_t ox_wino_weight_floats(const ox_bconv_task *t, ox_wino_kind k) {
  int64_t all[4] = {t->g.groups, t->g.ic, OX_ROUND_UP(t->g.oc, OX_BLOCK),
                    ox_wino_weights(k) * ox_wino_weights(k) + (t->lends ? 0 : 9)},
          n = 1;
  for (size_t i = 0; i < OX_COUNT(all); i++)
    if (!ox_mul_i64_ok(n, all[i], &n)) return 0;
  return (size_t)n;
}

int64_t ox_wino_weight_units(const ox_bconv_task *t) { return t->g.groups * OX_CEIL_DIV(t->g.oc, OX_WINO_PAIR); }

int64_t ox_wino_unit_filter(const ox_bconv_task *t, int64_t u) {
  int64_t pairs = OX_CEIL_DIV(t->g.oc, OX_WINO_PAIR);
  return u / pairs * t->g.oc + u % pairs * OX_WINO_PAIR;
}

/* |channels| of |n| filters of |ic| channels; lanes past the last filter become zero. */
static void copy_filters(const ox_blocks_variant *v, const ox_f32u *w, int64_t ic, int64_t channels, int64_t n,
                         float *to, int64_t width) {
  for (int64_t l = 0; l < width; l += OX_BLOCK)
    ox_blocks_lines(v, to + l, (size_t)width, w + l * ic * 9, (size_t)(ic * 9), (size_t)OX_MIN(n - l, OX_BLOCK),
                    (size_t)(channels * 9));
}

enum { CHUNK = 8 /* input channels */ };

/* |n| input channels of a pair. The points of U may lie a multiple of 4096 bytes apart, so that lines of all points
 * would want the same places in cache: each gets its rows in one go. */
static void put_chunk(const ox_wino_steps *steps, int n_u, const float *filters, int64_t n, size_t width, float *u,
                      size_t u_point) {
  enum { POINT = CHUNK * OX_WINO_PAIR };
  float rows[OX_WINO_MAX_N * OX_WINO_MAX_N * POINT];
  for (int64_t c = 0; c < n; c++)
    steps->filter(filters + c * 9 * (int64_t)width, width, rows + c * (int64_t)width, POINT);
  for (int i = 0; i < n_u; i++) memcpy(u + (size_t)i * u_point, rows + i * POINT, (size_t)n * width * sizeof *u);
}

void ox_wino_pack(const ox_bconv_task *t, ox_wino_kind kind, float *dst, const float *w, int64_t u0, int64_t u1,
                  const ox_stop *stop) {
  int n_u = ox_wino_weights(kind) * ox_wino_weights(kind);
  const ox_blocks_variant *v = ox_blocks_select(t->isa);
  int64_t ic = t->g.ic, oc = t->g.oc, pairs = OX_CEIL_DIV(oc, OX_WINO_PAIR);
  for (int64_t i = u0; i < u1; i++) {
    int64_t group = i / pairs, oc0 = i % pairs * OX_WINO_PAIR, n = OX_MIN(oc - oc0, OX_WINO_PAIR);
    int64_t at = (group * OX_ROUND_UP(oc, OX_BLOCK) + oc0) * ic, width = OX_ROUND_UP(n, OX_BLOCK);
    float *u = dst + at * n_u, *kept = t->lends ? NULL : dst + ox_wino_u_floats(t, kind) + at * 9;
    const ox_f32u *from = (const ox_f32u *)w + (ox_wino_unit_filter(t, i) - ox_wino_unit_filter(t, u0)) * ic * 9;
    for (int64_t c = 0; c < ic; c += CHUNK) {
      if (stop && ox_stop_asked(stop)) return;
      int64_t some = OX_MIN(CHUNK, ic - c);
      float own[CHUNK * 9 * OX_WINO_PAIR], *filters = kept ? kept + c * 9 * width : own;
      copy_filters(v, from + c * 9, ic, some, n, filters, width);
      put_chunk(&ox_wino_select(t->isa)->steps[kind], n_u, filters, some, (size_t)width, u + c * width,
                (size_t)(ic * width));
    }
  }
}

void ox_wino_pack_filters(const ox_bconv_task *t, float *dst, const float *w, int64_t u0, int64_t u1,
                          const ox_stop *stop) {
  const ox_blocks_variant *v = ox_blocks_select(t->isa);
  int64_t ic = t->g.ic, oc = t->g.oc, pairs = OX_CEIL_DIV(oc, OX_WINO_PAIR);
  for (int64_t i = u0; i < u1 && !(stop && ox_stop_asked(stop)); i++) {
    int64_t oc0 = i % pairs * OX_WINO_PAIR, n = OX_MIN(oc - oc0, OX_WINO_PAIR), width = OX_ROUND_UP(n, OX_BLOCK);
    float *to = dst + (i / pairs * OX_ROUND_UP(oc, OX_BLOCK) + oc0) * ic * 9;
    const ox_f32u *from = (const ox_f32u *)w + (ox_wino_unit_filter(t, i) - ox_wino_unit_filter(t, u0)) * ic * 9;
    copy_filters(v, from, ic, ic, n, to, width);
  }
}

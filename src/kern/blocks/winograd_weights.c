/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/winograd_weights.c - packed weights, U of every filter:
 * [group][pair of blocks][point][short window][ic][32], in the order in which the products read it. The last pair of an
 * odd number of blocks has rows of 16.
 *
 * Behind all of U lie the filters as they were, [group][pair of blocks][ic][tap][32]: what is not finite is computed
 * from them, because U no longer tells a zero from a very small number, whose products with infinity differ. Where runs
 * can ask for them (t->reads_w) they are left out. */
#include <string.h>

#include "base/cksize.h"
#include "kern/blocks/winograd.h"

size_t ox_wino_weight_floats(const ox_bconv_task *t, ox_wino_kind k) {
  int64_t taps = ox_conv_taps(&t->g), n = 1;
  int64_t all[] = {t->g.groups, t->g.ic, OX_ROUND_UP(t->g.oc, OX_BLOCK),
                   ox_wino_tile_weights(k) * ox_wino_windows(&t->g, k) + (t->reads_w ? 0 : taps)};
  for (size_t i = 0; i < OX_COUNT(all); i++)
    if (!ox_mul_i64_ok(n, all[i], &n)) return 0;
  return (size_t)n;
}

int64_t ox_wino_weight_units(const ox_bconv_task *t) { return t->g.groups * OX_CEIL_DIV(t->g.oc, OX_WINO_PAIR); }

int64_t ox_wino_unit_filter(const ox_bconv_task *t, int64_t u) {
  int64_t pairs = OX_CEIL_DIV(t->g.oc, OX_WINO_PAIR);
  return u / pairs * t->g.oc + u % pairs * OX_WINO_PAIR;
}

/* The first |lines| of |n| filters of |filter| floats; lanes past the last filter become zero. */
static void copy_filters(const ox_blocks_variant *v, const ox_f32u *w, int64_t filter, int64_t lines, int64_t n,
                         float *to, int64_t width) {
  for (int64_t l = 0; l < width; l += OX_BLOCK)
    ox_blocks_lines(v, to + l, (size_t)width, w + l * filter, (size_t)filter, (size_t)OX_MIN(n - l, OX_BLOCK),
                    (size_t)lines);
}

enum { CHUNK = 8 /* input channels, if windows have up to 9 taps */, OWN_TAPS = OX_MAX(CHUNK * 9, OX_WINO_MAX_TAPS) };

/* Where U of some filters goes. */
typedef struct unit {
  const ox_wino_steps *steps;
  ox_wino_kind kind;
  int64_t ic, taps, step, windows, width; /* step: taps from window to window */
  float *u;                               /* [point][window][ic][width] */
} unit;

/* U of short window |w| for channels [c, c + n), whose |filters| are [n][taps][width]. The points of U may lie a
 * multiple of 4096 bytes apart, so that lines of all points want the same places in cache: each gets its rows in one
 * go.
 */
static void put_chunk(const unit *t, const float *filters, int64_t w, int64_t c, int64_t n) {
  enum { POINT = CHUNK * OX_WINO_PAIR };
  float rows[OX_WINO_MAX_POINTS * POINT], line[9 * OX_WINO_PAIR];
  const int64_t window = ox_wino_window_taps(t->kind), first = w * t->step;
  const int64_t have = w + 1 < t->windows ? t->step : OX_MIN(t->taps - first, window);
  const size_t bytes = (size_t)t->width * sizeof(float);
  memset(line, 0, sizeof line);
  for (int64_t k = 0; k < n; k++) {
    const float *f = filters + (k * t->taps + first) * t->width;
    if (have < window) f = memcpy(line, f, (size_t)have * bytes); /* zeros follow */
    t->steps->filter(f, (size_t)t->width, rows + k * t->width, POINT);
  }
  for (int i = 0; i < ox_wino_tile_weights(t->kind); i++)
    memcpy(t->u + ((i * t->windows + w) * t->ic + c) * t->width, rows + i * POINT, (size_t)n * bytes);
}

void ox_wino_pack(const ox_bconv_task *t, ox_wino_kind kind, float *dst, const float *w, int64_t u0, int64_t u1,
                  const ox_stop *stop) {
  const ox_blocks_variant *v = ox_blocks_select(t->isa);
  const int64_t ic = t->g.ic, oc = t->g.oc, taps = ox_conv_taps(&t->g), windows = ox_wino_windows(&t->g, kind);
  const int64_t pairs = OX_CEIL_DIV(oc, OX_WINO_PAIR), chunk = OX_MAX(OX_MIN(OWN_TAPS / taps, CHUNK), 1);
  for (int64_t i = u0; i < u1; i++) {
    int64_t oc0 = i % pairs * OX_WINO_PAIR, n = OX_MIN(oc - oc0, OX_WINO_PAIR), width = OX_ROUND_UP(n, OX_BLOCK);
    int64_t at = (i / pairs * OX_ROUND_UP(oc, OX_BLOCK) + oc0) * ic;
    unit to = {.steps = &ox_wino_select(t->isa)->steps[kind],
               .kind = kind,
               .ic = ic,
               .taps = taps,
               .step = ox_wino_window_step(&t->g, kind),
               .windows = windows,
               .width = width,
               .u = dst + at * windows * ox_wino_tile_weights(kind)};
    float *kept = t->reads_w ? NULL : dst + ox_wino_u_floats(t, kind) + at * taps;
    const ox_f32u *from = (const ox_f32u *)w + (ox_wino_unit_filter(t, i) - ox_wino_unit_filter(t, u0)) * ic * taps;
    for (int64_t c = 0; c < ic; c += chunk) {
      if (stop && ox_stop_asked(stop)) return;
      int64_t some = OX_MIN(chunk, ic - c);
      float own[OWN_TAPS * OX_WINO_PAIR], *filters = kept ? kept + c * taps * width : own;
      copy_filters(v, from + c * taps, ic * taps, some * taps, n, filters, width);
      for (int64_t k = 0; k < windows; k++) put_chunk(&to, filters, k, c, some);
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
    copy_filters(v, from, ic * 9, ic * 9, n, to, width);
  }
}

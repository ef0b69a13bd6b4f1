/* SPDX-License-Identifier: Apache-2.0
 * kern/qconv/qconv_pack.c - packs the weights of direct convolutions of bytes: a panel of output channels has its
 * quads, then biases including the terms of zero points, then scales. */
#include <string.h>

#include "base/cksize.h"
#include "kern/move/move.h"
#include "kern/qconv/qconv.h"

static int64_t taps_of(const ox_qconv_plan *p) { return ox_conv_taps(&p->g); }
/* Quads of bytes of the weights of one output channel, padded. */
static int64_t quads_of(const ox_qconv_plan *p) {
  return p->depthwise ? OX_CEIL_DIV(p->n_segments, 4) : p->n_segments * p->quads;
}

int64_t ox_qconv_columns(const ox_qconv_plan *p) { return p->depthwise ? p->v->lanes : p->v->nr; }
int64_t ox_qconv_depth(const ox_qconv_plan *p) {
  return p->depthwise ? p->n_segments / p->v->taps * 4 : quads_of(p) * 4 * p->v->kept;
}

int64_t ox_qconv_weight_units(const ox_qconv_plan *p) { return p->depthwise ? p->blocks : p->panels; }

size_t ox_qconv_weight_bytes(const ox_qconv_plan *p) {
  size_t bytes;
  return ox_mul_ok(ox_qconv_unit_bytes(p), (size_t)ox_qconv_weight_units(p), &bytes) ? bytes : 0;
}

/* Is the kept form quads of bytes? */
static bool keeps_quads(const ox_qconv_plan *p) { return p->depthwise ? p->v->taps == 4 : p->v->kept == 1; }

size_t ox_qconv_weight_scratch(const ox_qconv_plan *p) {
  int64_t bytes = quads_of(p) * 4 * (keeps_quads(p) ? 1 : 2);
  return (size_t)(ox_qconv_columns(p) * (bytes + 4) + p->g.ic * taps_of(p));
}

/* n weights of output channel |o| from |from| on, minus their zero point: saturated to bytes or, for |half| 1, the
 * rest. */
static void weights_at(const ox_qconv_plan *p, const ox_qconv_weights *w, int64_t o, int64_t from, int64_t n, int half,
                       uint8_t *to) {
  const uint8_t *s = w->w + from;
  if (!w->zero) {
    p->v->copy(to, s, (size_t)n, w->flip);
    return;
  }
  uint8_t sign = w->flip ^ 128; /* makes signed bytes unsigned by adding 128 */
  int zero = w->zero[o * w->zero_step] ^ sign;
  for (int64_t i = 0; i < n; i++) {
    int all = (s[i] ^ sign) - zero, first = OX_MIN(OX_MAX(all, -128), 127);
    to[i] = (uint8_t)(half ? all - first : first);
  }
}

/* Packs one output channel: from [ic][taps] to segments of [taps][ic], each padded to whole quads. */
static void pack_row(const ox_qconv_plan *p, const ox_qconv_weights *w, int64_t o, uint8_t *to, uint8_t *plain) {
  int64_t taps = taps_of(p), ic = p->g.ic, n = p->n_segments >> p->twice, each = taps / n, pitch = p->quads * 4;
  ox_transpose_fn transpose = ox_transpose_select(1, p->have);
  memset(to, 0, (size_t)(quads_of(p) * 4));
  for (int half = 0; half <= p->twice; half++, to += n * pitch) {
    weights_at(p, w, o, o * ic * taps, ic * taps, half, plain);
    if (taps == 1)
      memcpy(to, plain, (size_t)ic);
    else if (pitch == each * ic)
      transpose((const char *)plain, taps, (char *)to, ic, ic, taps);
    else
      for (int64_t s = 0; s < n; s++)
        transpose((const char *)plain + s * each, taps, (char *)to + s * pitch, ic, ic, each);
  }
}

/* Packs the taps of one depthwise channel, padded. */
static void pack_lane(const ox_qconv_plan *p, const ox_qconv_weights *w, int64_t o, uint8_t *to) {
  int64_t taps = taps_of(p);
  memset(to, 0, (size_t)(quads_of(p) * 4));
  for (int half = 0; half <= p->twice; half++, to += taps) weights_at(p, w, o, o * taps, taps, half, to);
}

/* The output channel in column |i| of panel |unit|; -1: none. */
static int64_t channel_at(const ox_qconv_plan *p, int64_t unit, int64_t i) {
  if (p->depthwise) {
    int64_t o = unit * p->v->lanes + (int64_t)p->v->lane_at((size_t)i);
    return o < p->channels * p->fold ? o % p->channels : -1;
  }
  int64_t each = p->panels / p->g.groups, o = unit % each * p->v->nr + i;
  return o < p->g.oc ? unit / each * p->g.oc + o : -1;
}

/* Writes a panel in one of its two forms; |quads| become small pairs, |place| is scratch for a number for each. With
 * too many extra quads whole words are faster, which take 4 instructions where pairs take 3. */
static void keep_panel(const ox_qconv_plan *p, int8_t *quads, uint32_t *place, int8_t *to, ox_qconv_kept *kept) {
  size_t row = 4 * (size_t)p->v->nr, all = (size_t)quads_of(p), each = (size_t)p->quads, n = 0;
  int8_t *rest = to + all * row;
  bool pairs = ox_split_panel(p->v->split, quads, row, all, all / 4, rest, place, &n);
  ox_qconv_extra *extra = (ox_qconv_extra *)(void *)(rest + n * row);
  for (size_t e = 0; e < n; e++)
    extra[e] = (ox_qconv_extra){(uint32_t)(place[e] / each), (uint32_t)(place[e] % each * 4)};
  if (pairs)
    memcpy(to, quads, all * row);
  else
    p->v->keep(quads, all * p->v->nr, to);
  *kept = (ox_qconv_kept){pairs, n};
}

/* Scratch: the channels' weights, their quads unless these are what is kept, sums, and one channel as it was. */
static void pack_panel(const ox_qconv_plan *p, const ox_qconv_weights *w, int64_t unit, char *to, uint8_t *scratch) {
  int64_t n = ox_qconv_columns(p), k = quads_of(p) * 4;
  char *quads = keeps_quads(p) ? to : (char *)scratch + n * k;
  int32_t *sums = (int32_t *)(void *)(scratch + n * k * (keeps_quads(p) ? 1 : 2));
  int32_t *bias = (int32_t *)(void *)(to + n * ox_qconv_depth(p));
  float *scale = (float *)(void *)(bias + n);
  for (int64_t i = 0; i < n; i++) {
    int64_t o = channel_at(p, unit, i);
    if (o < 0)
      memset(scratch + i * k, 0, (size_t)k);
    else if (p->depthwise)
      pack_lane(p, w, o, scratch + i * k);
    else
      pack_row(p, w, o, scratch + i * k, (uint8_t *)(sums + n));
  }
  ox_transpose_select(4, p->have)((const char *)scratch, k, quads, 4 * n, n, k / 4);
  p->v->sums((const int8_t *)quads, (size_t)n, (size_t)(k / 4), sums);
  if (!keeps_quads(p) && p->depthwise)
    p->v->keep_taps((const int8_t *)quads, (size_t)(p->n_segments / p->v->taps), (int8_t *)to);
  else if (!keeps_quads(p))
    keep_panel(p, (int8_t *)quads, (uint32_t *)(void *)scratch, (int8_t *)to, (void *)(scale + n));
  for (int64_t i = 0; i < n; i++) {
    int64_t o = channel_at(p, unit, i);
    uint32_t b = 0;
    if (o >= 0 && w->bias) memcpy(&b, (const char *)w->bias + 4 * o, 4);
    b -= (uint32_t)w->x_zero * (uint32_t)sums[i];
    memcpy(bias + i, &b, 4);
    scale[i] = o < 0 ? 0 : w->x_scale * ((const ox_f32u *)w->w_scale)[o * w->w_scale_step] / w->y_scale;
  }
}

void ox_qconv_pack(const ox_qconv_plan *p, const ox_qconv_weights *w, int64_t begin, int64_t end, void *to,
                   void *scratch) {
  for (int64_t u = begin; u < end; u++) pack_panel(p, w, u, (char *)to + (size_t)u * ox_qconv_unit_bytes(p), scratch);
}

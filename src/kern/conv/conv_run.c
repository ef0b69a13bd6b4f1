/* SPDX-License-Identifier: Apache-2.0
 * kern/conv/conv_run.c - the tiles of a planned convolution. No allocation, no threads, no failure. */
#include <string.h>

#include "kern/conv/conv.h"

static void finish_tile(const ox_conv_plan *p, float *y, size_t ldy, size_t rows, size_t n) {
  if (p->post) p->v->finish(&p->act, y, ldy, NULL, NULL, rows, n);
}

/* First pixel of tile t: vectors are dealt out evenly. */
static int64_t px_begin(const ox_conv_plan *p, int64_t t) {
  int64_t lanes = p->v->lanes, vectors = OX_CEIL_DIV(p->pixels, lanes);
  return OX_MIN(vectors * t / p->tiles_px * lanes, p->pixels);
}

static void pixels_tile(const ox_conv_plan *p, const ox_conv_args *a, int64_t tile, float *scratch) {
  const ox_conv_geom *g = &p->g;
  int64_t mt = tile % p->tiles_m, pt = tile / p->tiles_m % p->tiles_px, outer = tile / p->tiles_m / p->tiles_px;
  int64_t group = outer % g->groups, m0 = mt * p->tile_m, rows = OX_MIN(p->tile_m, g->oc - m0);
  int64_t p0 = px_begin(p, pt), p1 = px_begin(p, pt + 1);
  const float *x = a->x + outer * g->ic * p->in_pixels;
  const float *w = a->w + (group * p->panels + m0 / OX_CONV_PANEL) * p->k * OX_CONV_PANEL;
  int64_t at = (outer * g->oc + m0) * p->pixels + p0;
  ox_conv_mul t = {.a_panel = (size_t)(p->k * OX_CONV_PANEL),
                   .ldb = p->ldb,
                   .c = a->y + at,
                   .ldc = (size_t)p->pixels,
                   .m = (size_t)rows,
                   .n = (size_t)(p1 - p0),
                   .lo = p->lo,
                   .hi = p->hi,
                   .exact = p->direct,
                   .bias = a->bias ? a->bias + group * g->oc + m0 : NULL,
                   .z = a->z ? a->z + at : NULL};
  int64_t k0 = 0;
  do {
    int64_t k1 = OX_MIN(k0 + p->kc, p->k);
    if (p->direct) {
      t.b = x + k0 * p->pixels + p0;
    } else if (p->shared_b) {
      t.b = (const float *)a->shared + (outer * p->k + k0) * (int64_t)p->ldb + p0;
    } else {
      p->v->gather(p, x, scratch, p->ldb, k0, k1, p0, p1);
      t.b = scratch;
    }
    t.a = w + k0 * OX_CONV_PANEL, t.k = (size_t)(k1 - k0), t.first = k0 == 0, t.last = k1 == p->k;
    p->v->mul(&t);
    k0 = k1;
  } while (k0 < p->k);
  finish_tile(p, t.c, t.ldc, t.m, t.n);
}

static void gather_tile(const ox_conv_plan *p, const ox_conv_args *a, int64_t tile) {
  int64_t outer = tile / p->gather_tiles, k0 = tile % p->gather_tiles * p->gather_k;
  float *b = (float *)a->shared + (outer * p->k + k0) * (int64_t)p->ldb;
  p->v->gather(p, a->x + outer * p->g.ic * p->in_pixels, b, p->ldb, k0, OX_MIN(k0 + p->gather_k, p->k), 0, p->pixels);
}

static void channels_tile(const ox_conv_plan *p, const ox_conv_args *a, int64_t tile) {
  const ox_conv_geom *g = &p->g;
  int64_t outer = tile / p->tiles_m, m0 = tile % p->tiles_m * p->tile_m, group = outer % g->groups;
  int64_t rows = OX_MIN(p->tile_m, g->oc - m0), at = (outer * g->oc + m0) * p->pixels;
  ox_conv_mul t = {.a = a->w + (group * p->panels + m0 / OX_CONV_PANEL) * p->k * OX_CONV_PANEL,
                   .a_panel = (size_t)(p->k * OX_CONV_PANEL),
                   .ldb = p->ldb,
                   .c = a->y + at,
                   .ldc = (size_t)p->pixels,
                   .m = (size_t)rows,
                   .n = (size_t)p->pixels,
                   .k = (size_t)p->k};
  t.b = p->direct ? a->x + outer * g->ic * p->in_pixels : (const float *)a->shared + outer * p->k * (int64_t)p->ldb;
  p->v->mul_few(&t);
  const float *bias = a->bias ? a->bias + group * g->oc + m0 : NULL, *z = a->z ? a->z + at : NULL;
  if (bias || z || p->act.kind != OX_ACT_NONE) p->v->finish(&p->act, t.c, t.ldc, bias, z, t.m, t.n);
}

/* The inputs of one block, split by coordinate modulo stride, zero outside: every tap is then a shifted read. */
static void phase_planes(const ox_conv_plan *p, const float *x, const int64_t *o0, float *planes) {
  const ox_conv_geom *g = &p->g;
  const int64_t *s = g->stride, *len = p->phase_len;
  int64_t base[OX_CONV_AXES];
  for (int a = 0; a < OX_CONV_AXES; a++) base[a] = o0[a] * s[a] + p->tap_min[a];
  for (int64_t fd = 0; fd < s[0]; fd++)
    for (int64_t fh = 0; fh < s[1]; fh++)
      for (int64_t fw = 0; fw < s[2]; fw++)
        for (int64_t d = 0; d < len[0]; d++)
          for (int64_t h = 0; h < len[1]; h++, planes += len[2]) {
            int64_t id = base[0] + d * s[0] + fd, ih = base[1] + h * s[1] + fh;
            if ((uint64_t)id >= (uint64_t)g->in[0] || (uint64_t)ih >= (uint64_t)g->in[1])
              for (int64_t i = 0; i < len[2]; i++) planes[i] = p->pad;
            else
              p->v->row(planes, x + (id * g->in[1] + ih) * g->in[2], base[2] + fw, g->in[2], s[2], len[2], p->pad);
          }
}

static void reduce_taps(const ox_conv_plan *p, float *dst, const float *src, const float *w, float bias, const float *z,
                        int64_t len, bool clamp) {
  size_t n_taps = (size_t)(p->g.n_taps[0] * p->g.n_taps[1] * p->g.n_taps[2]);
  float lo = clamp ? p->lo : -__builtin_inff(), hi = clamp ? p->hi : __builtin_inff();
  if (p->pool_max) p->v->taps_max(dst, src, p->tap_off, n_taps, (size_t)len);
  else p->v->taps(dst, src, p->tap_off, w, n_taps, bias, z, lo, hi, (size_t)len);
}

/* One block of one output channel (unit = (image * groups + group) * oc + channel). */
static void depthwise_block(const ox_conv_plan *p, const ox_conv_args *a, int64_t unit, int64_t block, float *scratch,
                            bool fill) {
  const ox_conv_geom *g = &p->g;
  int64_t n_taps = g->n_taps[0] * g->n_taps[1] * g->n_taps[2], channel = unit % (g->groups * g->oc);
  int64_t o0[OX_CONV_AXES] = {block / p->n_block[2] / p->n_block[1] * p->block[0],
                              block / p->n_block[2] % p->n_block[1] * p->block[1], block % p->n_block[2] * p->block[2]};
  int64_t n[OX_CONV_AXES];
  for (int i = 0; i < OX_CONV_AXES; i++) n[i] = OX_MIN(p->block[i], g->out[i] - o0[i]);
  const int64_t *len = p->phase_len;
  int64_t planes = g->stride[0] * g->stride[1] * g->stride[2] * len[0] * len[1] * len[2];
  if (fill) phase_planes(p, a->x + unit / g->oc * p->in_pixels, o0, scratch);
  float *flat = scratch + planes + OX_CONV_PANEL * 8;
  const float *w = a->w + (p->one_filter ? 0 : channel * n_taps);
  float bias = a->bias ? a->bias[channel] : 0;
  if (!p->by_row) {
    int64_t all = ((n[0] - 1) * len[1] + n[1] - 1) * len[2] + n[2];
    reduce_taps(p, flat, scratch, w, bias, NULL, all, !a->z);
  }
  for (int64_t d = 0; d < n[0]; d++)
    for (int64_t h = 0; h < n[1]; h++) {
      int64_t from = (d * len[1] + h) * len[2];
      int64_t at = unit * p->pixels + ((o0[0] + d) * g->out[1] + o0[1] + h) * g->out[2] + o0[2];
      const float *z = a->z ? a->z + at : NULL;
      if (p->by_row) {
        reduce_taps(p, a->y + at, scratch + from, w, bias, z, n[2], true);
      } else {
        p->v->row(a->y + at, flat + from, 0, n[2], 1, n[2], 0);
        if (z) {
          ox_act clamp = {OX_ACT_CLIP, p->lo, p->hi};
          p->v->finish(&clamp, a->y + at, 0, NULL, z, 1, (size_t)n[2]);
        }
      }
      if (n[1] != g->out[1] || n[2] != g->out[2]) finish_tile(p, a->y + at, 0, 1, (size_t)n[2]);
    }
  if (n[1] == g->out[1] && n[2] == g->out[2]) { /* whole rows: one stretch */
    int64_t at = unit * p->pixels + o0[0] * g->out[1] * g->out[2];
    finish_tile(p, a->y + at, 0, 1, (size_t)(n[0] * g->out[1] * g->out[2]));
  }
}

static void depthwise_tile(const ox_conv_plan *p, const ox_conv_args *a, int64_t tile, float *scratch) {
  int64_t blocks = p->n_block[0] * p->n_block[1] * p->n_block[2], oc = p->g.oc;
  if (!p->tile_ch) {
    depthwise_block(p, a, tile / blocks, tile % blocks, scratch, true);
    return;
  }
  int64_t u0 = tile * p->tile_ch, u1 = OX_MIN(u0 + p->tile_ch, p->g.batch * p->g.groups * oc);
  for (int64_t u = u0; u < u1; u++)
    for (int64_t b = 0; b < blocks; b++) /* outputs of the same input share its planes */
      depthwise_block(p, a, u, b, scratch, blocks > 1 || u == u0 || u % oc == 0);
}

void ox_conv_run(const ox_conv_plan *p, const ox_conv_args *a, uint32_t stage, int64_t begin, int64_t end,
                 void *scratch) {
  for (int64_t t = begin; t < end; t++) {
    if (stage + 1 < p->n_stages)
      gather_tile(p, a, t);
    else if (p->mode == OX_CONV_PIXELS)
      pixels_tile(p, a, t, scratch);
    else if (p->mode == OX_CONV_DEPTHWISE)
      depthwise_tile(p, a, t, scratch);
    else if (p->mode == OX_CONV_CHANNELS)
      channels_tile(p, a, t);
  }
}

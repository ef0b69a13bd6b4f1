/* SPDX-License-Identifier: Apache-2.0
 * kern/conv/conv_run.c - the tiles of a planned convolution. No allocation, no threads, no failure. */
#include "kern/conv/conv.h"

static void finish_tile(const ox_conv_plan *p, float *y, size_t ldy, size_t rows, size_t n) {
  if (p->post) p->v->finish(&p->act, y, ldy, NULL, NULL, rows, n);
}

/* First pixel of tile t: vectors are dealt out evenly. */
static int64_t px_begin(const ox_conv_plan *p, int64_t t) {
  int64_t vectors = OX_CEIL_DIV(p->pixels, p->px_lanes);
  return OX_MIN(vectors * t / p->tiles_px * p->px_lanes, p->pixels);
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
    } else if (!p->shared_b) {
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
  int64_t outer = tile / p->gather_tiles, k0 = tile % p->gather_tiles * p->gather_k,
          k1 = OX_MIN(k0 + p->gather_k, p->k);
  const float *x = a->x + outer * p->g.ic * p->in_pixels;
  p->v->gather(p, x, (float *)a->shared + (outer * p->k + k0) * (int64_t)p->ldb, p->ldb, k0, k1, 0, p->pixels);
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

static void depthwise_tile(const ox_conv_plan *p, const ox_conv_args *a, int64_t tile, float *scratch) {
  int64_t blocks = p->n_block[0] * p->n_block[1] * p->n_block[2], oc = p->g.oc;
  if (!p->tile_ch) {
    p->v->depthwise(p, a, tile / blocks, 1, tile % blocks, scratch, OX_CONV_FILL_ALL);
    return;
  }
  int64_t u0 = tile * p->tile_ch, u1 = OX_MIN(u0 + p->tile_ch, p->g.batch * p->g.groups * oc);
  for (int64_t u = u0; u < u1; u += p->slots)
    for (int64_t b = 0; b < blocks; b++) { /* outputs of one input share its planes, all inputs share the padding */
      bool all = blocks > 1 || u == u0;
      p->v->depthwise(p, a, u, OX_MIN(p->slots, u1 - u), b, scratch,
                      all           ? OX_CONV_FILL_ALL
                      : u % oc == 0 ? OX_CONV_FILL_INSIDE
                                    : OX_CONV_FILL_NONE);
    }
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

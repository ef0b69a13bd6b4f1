/* SPDX-License-Identifier: Apache-2.0
 * kern/conv/conv_pixels.c - convolution as the matrix product W B (kern/gemm). Column i of B holds the inputs of output
 * pixel i. W is read in place; panels of B are gathered from the image (im2col), or read in place where B is the image.
 */
#include "kern/conv/conv_modes.h"

enum {
  SHARED_PIXELS = 384, /* up to so many pixels, B is gathered once and shared by all tiles of rows */
  PART_FLOATS = 16384, /* of B that a tile of the gathering stage writes */
  STRIPS = 5           /* strips of mr rows that a tile has at least */
};

/* Plans the product. Tiles get fewer rows if there are too few tiles for the threads, except where each tile would
 * gather the same part of B again. */
static void plan_product(ox_conv_plan *p, const ox_gemm_variant *v, ox_gemm_b mode) {
  ox_gemm_plan *g = &p->product.gemm;
  size_t outer = (size_t)(p->g.batch * p->g.groups), mr = v->mr;
  ox_gemm_plan_init(g, v, (size_t)p->g.oc, (size_t)p->pixels, (size_t)p->k, OX_F32, OX_F32, mode);
  while (mode != OX_GEMM_SOURCE && outer * ox_gemm_tiles(g) < OX_CONV_TILES && g->mc > 2 * STRIPS * mr) {
    g->mc = OX_ROUND_UP(OX_CEIL_DIV(g->mc, (size_t)2), mr);
    g->mt = OX_CEIL_DIV(g->m, g->mc);
  }
}

void ox_conv_pixels_plan(ox_conv_plan *p, const ox_gemm_variant *v) {
  ox_conv_pixels *q = &p->product;
  int64_t outer = p->g.batch * p->g.groups;
  plan_product(p, v, p->pointwise ? OX_GEMM_DIRECT : OX_GEMM_PACKED);
  q->shared = !p->pointwise && q->gemm.mt > 1 && p->pixels <= SHARED_PIXELS;
  if (q->shared) {
    size_t k = (size_t)p->k, n = (size_t)p->pixels;
    q->part_k = OX_MAX(OX_MIN(p->k, PART_FLOATS / v->nr), 1), q->parts = OX_CEIL_DIV(p->k, q->part_k);
    p->n_stages = 2, p->n_tiles[0] = outer * (int64_t)ox_gemm_panels(v, n) * q->parts;
    p->shared_bytes = (size_t)outer * ox_gemm_b_bytes(v, k, n);
  } else if (!p->pointwise) {
    plan_product(p, v, OX_GEMM_SOURCE);
  }
  p->n_tiles[p->n_stages - 1] = outer * (int64_t)ox_gemm_tiles(&q->gemm);
  p->scratch_bytes = q->gemm.scratch;
}

/* One image and group: the source of B. */
typedef struct image {
  const ox_conv_plan *p;
  const float *x;
} image;

/* Rows [k0, k0 + kn) of columns [col, col + n) of B, as ox_gemm_io.source wants them. */
static void gather(const void *ctx, size_t k0, size_t kn, size_t col, size_t n, float *to, size_t ld) {
  const image *i = ctx;
  for (size_t end = col + n; col < end; col += OX_CONV_GATHER, to += OX_CONV_GATHER)
    i->p->v->gather(i->p, i->x, to, ld, (int64_t)k0, (int64_t)(k0 + kn), (int64_t)col,
                    (int64_t)OX_MIN(col + OX_CONV_GATHER, end));
}

static const float *input_of(const ox_conv_plan *p, const ox_conv_args *a, int64_t outer) {
  return a->x + outer * p->g.ic * p->in_pixels;
}

void ox_conv_pixels_gather(const ox_conv_plan *p, const ox_conv_args *a, int64_t tile) {
  const ox_conv_pixels *q = &p->product;
  const ox_gemm_variant *v = q->gemm.v;
  int64_t panels = (int64_t)ox_gemm_panels(v, q->gemm.n);
  int64_t k0 = tile % q->parts * q->part_k, panel = tile / q->parts % panels, outer = tile / q->parts / panels;
  const image i = {p, input_of(p, a, outer)};
  size_t col = (size_t)panel * v->nr;
  float *to = (float *)a->shared + ((outer * panels + panel) * p->k + k0) * v->nr;
  gather(&i, (size_t)k0, (size_t)OX_MIN(q->part_k, p->k - k0), col, OX_MIN(v->nr, q->gemm.n - col), to, v->nr);
}

void ox_conv_pixels_tile(const ox_conv_plan *p, const ox_conv_args *a, int64_t tile, void *scratch) {
  const ox_conv_geom *c = &p->g;
  const ox_gemm_plan *g = &p->product.gemm;
  int64_t tiles = (int64_t)ox_gemm_tiles(g), outer = tile / tiles, group = outer % c->groups;
  const image i = {p, input_of(p, a, outer)};
  int64_t at = outer * c->oc * p->pixels;
  const ox_gemm_epi epi = {.alpha = 1,
                           .beta = 1,
                           .term = {{a->bias ? a->bias + group * c->oc : NULL, OX_F32, 1, 0},
                                    {a->z ? a->z + at : NULL, OX_F32, p->pixels, 1}},
                           .act = p->act};
  ox_gemm_io io = {.a = a->w + group * c->oc * p->k,
                   .a_rs = p->k,
                   .a_ks = 1,
                   .b = i.x,
                   .b_rs = p->pixels,
                   .c = a->y + at,
                   .c_rs = g->n,
                   .epi = &epi};
  if (p->product.shared)
    io.b = (const char *)a->shared + (size_t)outer * ox_gemm_b_bytes(g->v, g->k, g->n);
  else if (g->b_mode == OX_GEMM_SOURCE)
    io.b = &i, io.source = gather;
  ox_gemm_run(g, &io, (size_t)(tile % tiles), scratch);
}

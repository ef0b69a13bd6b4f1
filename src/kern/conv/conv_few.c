/* SPDX-License-Identifier: Apache-2.0
 * kern/conv/conv_few.c - convolution to few pixels: each pixel's inputs form a row, and each output is the dot product
 * of such a row and a filter, both contiguous. Each filter is multiplied by the rows of all images of a tile in turn,
 * so that it is read from memory once. */
#include "kern/conv/conv_modes.h"

enum {
  COLUMNS = 4, /* filters that few.v->dots multiplies at once */
  KC = 2048,   /* of k at a time: COLUMNS x KC floats of W are 32 KB, which stay in L1 */
  ROWS = 64    /* of a tile */
};
/* One multiply-add is 2 operations, one weight 4 bytes; assumes 100 GFLOP/s and 12 GB/s a core. */
static const double ns_per_mac = 2.0 / 100, ns_per_weight = 4.0 / 12;

void ox_conv_few_plan(ox_conv_plan *p, const ox_gemm_variant *v) {
  const ox_conv_geom *g = &p->g;
  ox_conv_few *q = &p->few;
  q->v = v, q->direct = p->pointwise && p->pixels == 1;
  q->tile_n = OX_MIN(OX_MAX(ROWS / p->pixels, 1), g->batch), q->tiles_n = OX_CEIL_DIV(g->batch, q->tile_n);
  double row_ns = (double)p->k * OX_MAX((double)(q->tile_n * p->pixels) * ns_per_mac, ns_per_weight);
  double total_ns = row_ns * (double)(g->oc * g->groups * q->tiles_n);
  q->tile_m = COLUMNS * ox_conv_units_per_tile(total_ns, row_ns * COLUMNS, OX_CEIL_DIV(g->oc, COLUMNS));
  q->tiles_m = OX_CEIL_DIV(g->oc, q->tile_m);
  int64_t rows = g->batch * g->groups * p->pixels;
  if (!q->direct) p->n_stages = 2, p->n_tiles[0] = rows, p->shared_bytes = (size_t)(rows * p->k) * sizeof(float);
  p->n_tiles[p->n_stages - 1] = g->groups * q->tiles_n * q->tiles_m;
}

/* Writes the row of one pixel; |tile| counts them as [group][image][pixel]. */
void ox_conv_few_gather(const ox_conv_plan *p, const ox_conv_args *a, int64_t tile) {
  const ox_conv_geom *g = &p->g;
  int64_t px = tile % p->pixels, image = tile / p->pixels % g->batch, group = tile / p->pixels / g->batch;
  int64_t d0 = px / g->out[2] / g->out[1] * g->stride[0], h0 = px / g->out[2] % g->out[1] * g->stride[1];
  int64_t w0 = px % g->out[2] * g->stride[2];
  const float *x = a->x + (image * g->groups + group) * g->ic * p->in_pixels;
  float *to = (float *)a->shared + tile * p->k;
  for (int64_t c = 0; c < g->ic; c++, x += p->in_pixels)
    for (int64_t d = 0; d < g->n_taps[0]; d++)
      for (int64_t h = 0; h < g->n_taps[1]; h++) {
        int64_t id = d0 + g->tap[0][d], ih = h0 + g->tap[1][h];
        bool in = (uint64_t)id < (uint64_t)g->in[0] && (uint64_t)ih < (uint64_t)g->in[1];
        for (int64_t t = 0; t < g->n_taps[2]; t++) {
          int64_t iw = w0 + g->tap[2][t];
          *to++ = in && (uint64_t)iw < (uint64_t)g->in[2] ? x[(id * g->in[1] + ih) * g->in[2] + iw] : 0;
        }
      }
}

/* sums[rows][COLUMNS]: the dot products of |rows| rows of x and |n| filters. */
static void dots(const ox_conv_plan *p, const float *x, ptrdiff_t x_rs, size_t rows, const float *w, size_t n,
                 float *sums) {
  const size_t k = (size_t)p->k, mr = p->few.v->mr;
  ox_gemm_tile t = {.a_rs = x_rs, .a_ks = 1, .b_ks = k, .n = n, .part_rs = COLUMNS};
  size_t k0 = 0;
  do { /* runs once even if k is 0, to write zeros */
    t.k = OX_MIN(k - k0, (size_t)KC), t.b = w + k0, t.add = k0 > 0;
    for (size_t r = 0; r < rows; r += mr) {
      t.a = x + (ptrdiff_t)r * x_rs + k0, t.m = OX_MIN(mr, rows - r), t.part = sums + r * COLUMNS;
      p->few.v->dots(&t);
    }
    k0 += t.k;
  } while (k0 < k);
}

void ox_conv_few_tile(const ox_conv_plan *p, const ox_conv_args *a, int64_t tile) {
  const ox_conv_geom *g = &p->g;
  const ox_conv_few *q = &p->few;
  int64_t mt = tile % q->tiles_m, nt = tile / q->tiles_m % q->tiles_n, group = tile / q->tiles_m / q->tiles_n;
  int64_t n0 = nt * q->tile_n, images = OX_MIN(q->tile_n, g->batch - n0), rows = images * p->pixels;
  int64_t m0 = mt * q->tile_m, m1 = OX_MIN(m0 + q->tile_m, g->oc);
  const float *x = q->direct ? a->x + (n0 * g->groups + group) * p->k
                             : (const float *)a->shared + (group * g->batch + n0) * p->pixels * p->k;
  float sums[ROWS * COLUMNS];
  for (int64_t m = m0; m < m1; m += COLUMNS) {
    int64_t n = OX_MIN(m1 - m, COLUMNS);
    dots(p, x, q->direct ? g->groups * p->k : p->k, (size_t)rows, a->w + (group * g->oc + m) * p->k, (size_t)n, sums);
    for (int64_t r = 0; r < rows; r++) {
      float *y = a->y + ((n0 + r / p->pixels) * g->groups + group) * g->oc * p->pixels + r % p->pixels;
      for (int64_t j = 0; j < n; j++) y[(m + j) * p->pixels] = sums[r * COLUMNS + j];
    }
  }
  if (!a->bias && !a->z && p->act.kind == OX_ACT_NONE) return;
  for (int64_t i = 0; i < images; i++) {
    int64_t at = (((n0 + i) * g->groups + group) * g->oc + m0) * p->pixels;
    p->v->finish(&p->act, a->y + at, (size_t)p->pixels, a->bias ? a->bias + group * g->oc + m0 : NULL,
                 a->z ? a->z + at : NULL, (size_t)(m1 - m0), (size_t)p->pixels);
  }
}

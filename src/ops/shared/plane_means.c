/* SPDX-License-Identifier: Apache-2.0
 * ops/shared/plane_means.c - see plane_means.h. */
#include "ops/shared/plane_means.h"

#include "base/cksize.h"
#include "kern/blocks/window.h"

enum { Y, MEANS, SUMS = 4096 /* of 16 channels each that a tile adds up, at most: some 5 us */ };

ox_shape ox_plane_means_shape(const ox_shape *y) {
  ox_shape s = *y;
  for (int i = 2; i < s.rank - 1; i++) s.dim[i] = 1;
  return s;
}

ox_status *ox_plane_means_book(ox_kernel_ctx *c, int64_t n_sums, ox_plane_means *m) {
  const ox_shape *y = &c->out[Y]->shape;
  const int64_t planes[] = {y->dim[0], y->dim[1]};
  size_t bytes;
  *m = (ox_plane_means){0};
  if (!ox_ctx_wants(c, MEANS)) return NULL;
  m->pixels = ox_shape_span(y, 2, y->rank - 1), m->n_sums = n_sums;
  m->at = OX_ROUND_UP(c->shared_bytes, OX_ALIGN_BYTES);
  if (!ox_conv_product_ok(planes, OX_COUNT(planes), &m->planes) ||
      !ox_mul_ok((size_t)m->planes, OX_BLOCK * sizeof(float), &bytes) || !ox_mul_ok(bytes, (size_t)n_sums, &bytes) ||
      !ox_add_ok(m->at, bytes, &c->shared_bytes) || c->n_stages == OX_MAX_STAGES)
    return ox_fail(OX_LIMIT, "the means of channels take too much memory");
  m->each = OX_MAX(SUMS / OX_MAX(n_sums ? n_sums : m->pixels, 1), 1);
  c->n_tiles[c->n_stages++] = OX_CEIL_DIV(m->planes, m->each);
  return NULL;
}

float *ox_plane_means_sums(const ox_kernel_ctx *c, const ox_plane_means *m) {
  return m->planes && m->n_sums ? (float *)((char *)c->shared + m->at) : NULL;
}

void ox_plane_means_run(const ox_kernel_ctx *c, const ox_plane_means *m, ox_range tiles) {
  float *sums = ox_plane_means_sums(c, m), *y = c->out[Y]->data;
  const ox_window_variant *v = ox_window_select(c->isa);
  const int64_t end = OX_MIN(tiles.end * m->each, m->planes);
  for (int64_t i = tiles.begin * m->each; i < end; i++) {
    float *to = (float *)c->out[MEANS]->data + i * OX_BLOCK;
    size_t n = (size_t)((sums ? m->n_sums : m->pixels) * OX_BLOCK);
    for (int l = 0; l < OX_BLOCK; l++) to[l] = 0;
    v->act_sum(NULL, (sums ? sums : y) + (size_t)i * n, n, to);
    for (int l = 0; l < OX_BLOCK; l++) to[l] /= (float)m->pixels;
  }
}

/* SPDX-License-Identifier: Apache-2.0
 * ops/matmul/nbits_split.c - rows of floats in parts: made once for all tiles, then multiplied by panels. */
#include "ops/matmul/nbits_split.h"

#include "base/macros.h"

/* What a row's memory begins with; the parts follow. */
typedef struct header {
  _Alignas(64) bool split;
} header;

static size_t part_bytes(const ox_nbits_format *f) { return OX_ROUND_UP(f->block * f->blocks, (size_t)64); }

/* No overflow: |blocks| blocks of weights, which are larger, are in memory. */
size_t ox_nbits_split_bytes(const ox_nbits_format *f) {
  return OX_ROUND_UP(sizeof(header) + OX_NBITS_PARTS * part_bytes(f) + 4 * f->blocks * sizeof(float), (size_t)64);
}

static header *header_at(const ox_nbits_format *f, void *shared, size_t row) {
  return (header *)(void *)((char *)shared + row * ox_nbits_split_bytes(f));
}

static ox_nbits_parts parts_at(const ox_nbits_format *f, header *h) {
  int8_t *q = (int8_t *)(h + 1);
  float *scale = (float *)(void *)(q + OX_NBITS_PARTS * part_bytes(f));
  return (ox_nbits_parts){q, scale, scale + 2 * f->blocks, part_bytes(f)};
}

void ox_nbits_split_begin(const ox_nbits_weights *w, const float *a, size_t row, void *shared) {
  header *h = header_at(w->f, shared, row);
  const ox_nbits_parts parts = parts_at(w->f, h);
  h->split = w->v->split(a + row * w->f->block * w->f->blocks, w->f->block, w->f->blocks, &parts);
}

/* |n| panels, |step| apart, by all rows. */
static void run_panels(const ox_kernel_ctx *c, const ox_nbits_weights *w, const ox_tensor *bias, size_t m, size_t panel,
                       size_t n, size_t step) {
  ox_nbits_tile t[OX_NBITS_SPLIT_ABREAST];
  float biases[OX_NBITS_SPLIT_ABREAST][16];
  for (size_t i = 0; i < n; i++, panel += step) t[i] = ox_nbits_tile_of(c, w, bias, panel, biases[i]);
  for (size_t row = 0; row < m; row++) {
    const ox_nbits_parts parts = parts_at(w->f, header_at(w->f, c->shared, row));
    w->v->run_split(t, n, &parts);
    for (size_t i = 0; i < n; i++) t[i].c += w->n;
  }
}

bool ox_nbits_split_run(const ox_kernel_ctx *c, const ox_nbits_weights *w, const ox_tensor *bias, size_t m,
                        size_t begin, size_t end) {
  const size_t step = (end - begin) / OX_NBITS_SPLIT_ABREAST; /* each panel of a step is a stream of memory */
  for (size_t row = 0; row < m; row++)
    if (!header_at(w->f, c->shared, row)->split) return false;
  for (size_t i = 0; i < step; i++) run_panels(c, w, bias, m, begin + i, OX_NBITS_SPLIT_ABREAST, step);
  for (size_t panel = begin + step * OX_NBITS_SPLIT_ABREAST; panel < end; panel++)
    run_panels(c, w, bias, m, panel, 1, 0);
  return true;
}

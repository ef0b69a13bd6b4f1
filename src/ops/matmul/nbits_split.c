/* SPDX-License-Identifier: Apache-2.0
 * ops/matmul/nbits_split.c - a row of floats in parts: made once for all tiles, then multiplied by panels. */
#include "ops/matmul/nbits_split.h"

#include "base/macros.h"
#include "kern/quant/convert.h"

/* What the shared memory begins with; the parts follow. */
typedef struct header {
  _Alignas(64) bool split;
} header;

static size_t row_bytes(const ox_nbits_format *f) { return OX_ROUND_UP(f->block * f->blocks, (size_t)64); }

static ox_nbits_parts parts_at(const ox_nbits_format *f, void *shared) {
  int8_t *q = (int8_t *)shared + sizeof(header);
  float *scale = (float *)(void *)(q + OX_NBITS_PARTS * row_bytes(f));
  return (ox_nbits_parts){q, scale, scale + 2 * f->blocks, row_bytes(f)};
}

/* No overflow: |blocks| blocks of weights, which are larger, are in memory. */
size_t ox_nbits_split_bytes(const ox_nbits_format *f) {
  return sizeof(header) + OX_NBITS_PARTS * row_bytes(f) + 4 * f->blocks * sizeof(float);
}

void ox_nbits_split_begin(const ox_nbits_weights *w, const float *a, void *shared) {
  const ox_nbits_parts parts = parts_at(w->f, shared);
  ((header *)shared)->split = w->v->split(a, w->f->block, w->f->blocks, &parts);
}

bool ox_nbits_split_run(const ox_kernel_ctx *c, const ox_nbits_weights *w, const ox_tensor *bias, size_t begin,
                        size_t end) {
  enum { MOST = OX_NBITS_SPLIT_ABREAST };
  const ox_nbits_parts parts = parts_at(w->f, c->shared);
  const size_t lanes = w->v->lanes, half = (end - begin) / MOST;
  if (!((const header *)c->shared)->split) return false;
  for (size_t panel = begin; panel < end;) { /* panels half of the range apart: each is a stream of memory */
    const size_t n = panel < begin + half ? MOST : 1;
    ox_nbits_tile t[MOST];
    float biases[MOST][16];
    for (size_t i = 0; i < n; i++) {
      const size_t at = panel + i * half, col = at * lanes;
      t[i] = (ox_nbits_tile){.f = *w->f, .w = w->panels + at * w->panel_bytes};
      t[i].n = OX_MIN(lanes, w->n - col), t[i].c = (float *)c->out[0]->data + col;
      if (!bias) continue;
      ox_convert_select(c->isa)->load_f32[bias->dtype](bias->data, col, t[i].n, biases[i]);
      t[i].bias = biases[i];
    }
    w->v->run_split(t, n, &parts);
    panel += panel + 1 == begin + half ? 1 + (MOST - 1) * half : 1;
  }
  return true;
}

/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_own.c - steps that the plug-in computes itself, in tiles on the host's threads. */
#include "od_plan.h"

enum { TILE = 16384 };

typedef struct {
  const od_step *s;
  const od_loops_table *loops;
  void *const *at;
  size_t n;
} work;

static ox_status *run_tiles(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  const work *w = ctx;
  size_t i = (size_t)begin * TILE, n = OD_MIN((size_t)end * TILE, w->n) - i;
  const od_step *s = w->s;
  float *numbers = w->at[0];
  uint8_t *y = w->at[0];
  (void)worker;
  switch (s->own) {
    case OD_FILL:
      for (size_t k = i; k < i + n; k++) numbers[k] = s->fill;
      break;
    case OD_QUANTIZE:
      w->loops->quantize(&s->job, (const float *)w->at[1] + i, y + i, n);
      break;
    case OD_DEQUANTIZE:
      w->loops->dequantize(&s->job, (const uint8_t *)w->at[1] + i, numbers + i, n);
      break;
    case OD_ADD:
      w->loops->add(&s->job, (const uint8_t *)w->at[1] + i, (const uint8_t *)w->at[2] + i, y + i, n);
      break;
    case OD_ERF:
      w->loops->erf((const float *)w->at[1] + i, numbers + i, n);
      break;
  }
  return NULL;
}

ox_status *od_own_run(ox_ep *ep, const od_plan *plan, const od_step *s, void *const *at) {
  bool is_float = s->own == OD_FILL || s->own == OD_DEQUANTIZE || s->own == OD_ERF;
  size_t bytes = dnnl_memory_desc_get_size(&plan->mems[s->arg[0].mem].md);
  work w = {s, ep->loops, at, is_float ? bytes / sizeof(float) : bytes};
  int64_t n_tiles = (int64_t)((w.n + TILE - 1) / TILE);
  if (n_tiles > 1 && ep->threads > 1)
    return ep->host.parallel_tiles(&ep->host, n_tiles, (uint32_t)ep->threads, run_tiles, &w);
  return n_tiles ? run_tiles(&w, 0, n_tiles, 0) : NULL;
}

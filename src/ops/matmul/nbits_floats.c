/* SPDX-License-Identifier: Apache-2.0
 * ops/matmul/nbits_floats.c - see nbits_floats.h. */
#include "ops/matmul/nbits_floats.h"

#include <string.h>

ox_status *ox_nbits_floats_plan(ox_kernel_ctx *c, ox_nbits_floats *p, size_t m, size_t n, size_t k) {
  const ox_gemm_variant *v = ox_gemm_select(OX_F32, c->isa);
  ox_gemm_plan_init(&p->g, v, m, n, k, OX_F32, OX_F32, OX_GEMM_SOURCE);
  p->strassen = ox_strassen_pays(v, c->isa, m, n, k);
  c->form = "floats in L2", c->n_stages = 2, c->n_tiles[0] = 0;
  c->n_tiles[1] = (int64_t)ox_gemm_tiles(&p->g), c->scratch_per_worker = p->g.scratch;
  if (!p->strassen) return NULL;
  ox_strassen_plan_init(&p->z, &p->g, c->isa);
  c->form = "floats in L2, strassen", c->shared_bytes = sizeof(ox_carried), c->n_tiles[0] = 1;
  c->n_tiles[1] = (int64_t)ox_strassen_tiles(&p->z), c->scratch_per_worker = p->z.scratch;
  return NULL;
}

/* Columns beyond the weights' last panel are zeros, as those in it are. */
void ox_nbits_write_floats(const void *ctx, size_t k0, size_t kn, size_t col, size_t n, float *to, size_t ld) {
  const ox_nbits_weights *w = ctx;
  const size_t lanes = w->v->lanes, end = OX_ROUND_UP(w->n, lanes);
  for (size_t j = 0; j < n; j += lanes) {
    if (col + j < end)
      w->v->unpack(w->f, w->panels + (col + j) / lanes * w->panel_bytes, k0, kn, to + j, ld);
    else
      for (size_t i = 0; i < kn; i++) memset(to + i * ld + j, 0, lanes * sizeof *to);
  }
}

void ox_nbits_floats_run(const ox_kernel_ctx *c, const ox_nbits_floats *p, const ox_nbits_weights *w,
                         const ox_tensor *a, const ox_tensor *bias, uint32_t stage, ox_range tiles, void *scratch) {
  if (stage == 0) {
    ox_carried_begin(c->shared);
    return;
  }
  ox_gemm_epi epi = {.alpha = 1, .beta = 1};
  if (bias) epi.term[0] = (ox_gemm_term){bias->data, bias->dtype, 0, 1};
  ox_gemm_io io = {.a = a->data,
                   .a_rs = (ptrdiff_t)p->g.k,
                   .a_ks = 1,
                   .b = w,
                   .c = c->out[0]->data,
                   .c_rs = p->g.n,
                   .epi = &epi,
                   .stop = ox_ctx_stop(c),
                   .source = ox_nbits_write_floats};
  for (int64_t i = tiles.begin; i < tiles.end; i++) {
    if (p->strassen)
      ox_strassen_run(&p->z, &io, (size_t)i, c->shared, scratch);
    else
      ox_gemm_run(&p->g, &io, (size_t)i, scratch);
  }
}

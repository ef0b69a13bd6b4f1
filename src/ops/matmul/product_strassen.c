/* SPDX-License-Identifier: Apache-2.0
 * ops/matmul/product_strassen.c - float32 products by a constant B in seven steps instead of eight
 * (kern/gemm/strassen.h). B stays in the panels of plain products, so that how many rows there are decides only when
 * shapes are known. */
#include "ops/matmul/product.h"

bool ox_product_is_strassen(const ox_kernel_ctx *c, const ox_product *p) {
  if (p->type != OX_F32 || !p->packed || p->n_batch != 1 || p->a_ks != 1 || (c->isa & OX_PLAIN_SUMS)) return false;
  return ox_strassen_pays(p->packed->v, p->m, p->n, p->k);
}

ox_status *ox_product_plan_strassen(ox_kernel_ctx *c, ox_product *p) {
  ox_strassen_plan_init(&p->z, p->packed->v, p->m, p->n, p->k);
  p->strassen = true, c->form = p->z.v->form;
  OX_TRY(ox_ctx_plan(c, (int64_t)ox_strassen_tiles(&p->z), p->z.scratch));
  c->shared_bytes = sizeof(ox_strassen_made);
  c->n_stages = 2, c->n_tiles[1] = c->n_tiles[0], c->n_tiles[0] = 1;
  return NULL;
}

void ox_product_run_strassen(const ox_kernel_ctx *c, const ox_product *p, uint32_t stage, ox_range tiles,
                             void *scratch) {
  if (stage == 0) {
    ox_strassen_begin(c->shared);
    return;
  }
  ox_gemm_epi epi = p->epi;
  ox_product_terms(c, p, 0, &epi);
  ox_gemm_io io = {.a = (const float *)c->in[p->in_a]->data + ox_product_offset(p, 0, p->a_batch),
                   .a_rs = p->a_rs,
                   .a_ks = 1,
                   .b = p->packed->panels,
                   .c = c->out[0]->data,
                   .c_rs = p->n,
                   .epi = &epi,
                   .stop = ox_ctx_stop(c)};
  for (int64_t i = tiles.begin; i < tiles.end; i++) ox_strassen_run(&p->z, &io, (size_t)i, c->shared, scratch);
}

/* SPDX-License-Identifier: Apache-2.0
 * ops/matmul/product_strassen.c - float32 products with a constant B by Strassen's algorithm (kern/gemm/strassen.h). B
 * stays in the panels of plain products, so that the algorithm can be chosen by the number of rows when shapes are
 * known. */
#include "ops/matmul/product.h"

bool ox_product_is_strassen(const ox_kernel_ctx *c, const ox_product *p) {
  if (p->type != OX_F32 || !p->packed || p->n_batch != 1 || p->a_ks != 1) return false;
  return ox_strassen_pays(p->packed->v, c->isa, p->m, p->n, p->k);
}

ox_status *ox_product_plan_strassen(ox_kernel_ctx *c, ox_product *p) {
  ox_gemm_plan plain;
  ox_product_plan_gemm(p, &plain, p->packed->v, p->late ? OX_GEMM_LATE : OX_GEMM_PACKED);
  ox_strassen_plan_init(&p->z, &plain, c->isa);
  p->strassen = true, c->form = p->z.v->form;
  OX_TRY(ox_ctx_plan(c, (int64_t)ox_strassen_tiles(&p->z), p->z.scratch));
  ox_product_begins(c);
  return NULL;
}

ox_status *ox_product_run_strassen(const ox_kernel_ctx *c, const ox_product *p, uint32_t stage, ox_range tiles,
                                   void *scratch) {
  if (stage == 0) return ox_product_begin(c, p);
  ox_product_shared *s = c->shared;
  ox_gemm_epi epi = p->epi;
  ox_product_terms(c, p, 0, &epi);
  const ox_gemm_src whole = ox_product_whole(p, 0);
  ox_gemm_io io = {.a = (const float *)c->in[p->in_a]->data + ox_product_offset(p, 0, p->a_batch),
                   .a_rs = p->a_rs,
                   .a_ks = 1,
                   .b = s->panels,
                   .c = c->out[0]->data,
                   .c_rs = p->n,
                   .whole = &whole,
                   .epi = &epi,
                   .stop = ox_ctx_stop(c)};
  for (int64_t i = tiles.begin; i < tiles.end; i++) ox_strassen_run(&p->z, &io, (size_t)i, &s->made, scratch);
  return NULL;
}

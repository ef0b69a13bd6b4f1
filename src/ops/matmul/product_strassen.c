/* SPDX-License-Identifier: Apache-2.0
 * ops/matmul/product_strassen.c - float32 products with a constant B by Strassen's algorithm (kern/gemm/strassen.h). B
 * stays in the panels of plain products, so that the algorithm can be chosen by the number of rows when shapes are
 * known. The first run reads B in place from the model, the next one packs it. */
#include "ops/matmul/product.h"

typedef struct shared {
  const void *panels; /* NULL: this run reads B in place */
  ox_carried made;
} shared;

bool ox_product_is_strassen(const ox_kernel_ctx *c, const ox_product *p) {
  if (p->type != OX_F32 || !p->packed || p->n_batch != 1 || p->a_ks != 1 || (c->isa & OX_PLAIN_SUMS)) return false;
  return ox_strassen_pays(p->packed->v, c->isa, p->m, p->n, p->k);
}

const float *ox_product_in_place(const ox_kernel_ctx *c, const ox_product *p) {
  const ox_product_b *b = p->packed;
  if (b->trans || b->count != 1 || ox_product_splits(c, p) || !ox_product_is_strassen(c, p)) return NULL;
  if (atomic_load_explicit(b->use, memory_order_relaxed) == OX_B_PACKED) return NULL;
  return ox_ctx_constant_place(c, (uint32_t)p->in_b);
}

ox_status *ox_product_plan_strassen(ox_kernel_ctx *c, ox_product *p) {
  ox_gemm_plan plain;
  ox_product_plan_gemm(p, &plain, p->packed->v, OX_GEMM_PACKED);
  ox_strassen_plan_init(&p->z, &plain, c->isa);
  p->strassen = true, c->form = p->z.v->form;
  OX_TRY(ox_ctx_plan(c, (int64_t)ox_strassen_tiles(&p->z), p->z.scratch));
  c->shared_bytes = sizeof(shared);
  c->n_stages = 2, c->n_tiles[1] = c->n_tiles[0], c->n_tiles[0] = 1;
  return NULL;
}

/* Decides whether this run reads B in place, as only the first run of any shape does, or packs it. */
static ox_status *begin(const ox_kernel_ctx *c, const ox_product *p) {
  shared *s = c->shared;
  int use = OX_B_NEW;
  ox_carried_begin(&s->made);
  s->panels = p->packed->panels ? *p->packed->panels : NULL;
  if (s->panels || atomic_compare_exchange_strong_explicit(p->packed->use, &use, OX_B_READ, memory_order_relaxed,
                                                           memory_order_relaxed))
    return NULL;
  if (use >= OX_B_COMPRESSED) return NULL; /* since a run of few rows: plain panels would be a second copy */
  atomic_store_explicit(p->packed->use, OX_B_PACKED, memory_order_relaxed);
  return c->host->pack_now(c, p->later, &s->panels);
}

ox_status *ox_product_run_strassen(const ox_kernel_ctx *c, const ox_product *p, uint32_t stage, ox_range tiles,
                                   void *scratch) {
  if (stage == 0) return begin(c, p);
  shared *s = c->shared;
  ox_gemm_epi epi = p->epi;
  ox_product_terms(c, p, 0, &epi);
  const ox_gemm_src whole = ox_product_whole(p, 0);
  ox_gemm_io io = {.a = (const float *)c->in[p->in_a]->data + ox_product_offset(p, 0, p->a_batch),
                   .a_rs = p->a_rs,
                   .a_ks = 1,
                   .b = s->panels ? s->panels : p->in_place,
                   .b_rs = s->panels ? 0 : (ptrdiff_t)p->n,
                   .c = c->out[0]->data,
                   .c_rs = p->n,
                   .whole = &whole,
                   .epi = &epi,
                   .stop = ox_ctx_stop(c)};
  for (int64_t i = tiles.begin; i < tiles.end; i++) ox_strassen_run(&p->z, &io, (size_t)i, &s->made, scratch);
  return NULL;
}

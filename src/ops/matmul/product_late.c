/* SPDX-License-Identifier: Apache-2.0
 * ops/matmul/product_late.c - constant B that the first run reads in place, in the model's file, and a later one packs.
 * Products by Strassen's algorithm do that, and those of large models by more rows than a decoder's step has: a prompt
 * comes before the first step, and weights that are compressed for steps (product_compress.c) are then in memory once.
 */
#include "ops/matmul/product.h"

bool ox_product_is_late(const ox_kernel_ctx *c, const ox_product *p) {
  const ox_product_b *b = p->packed;
  if (!p->whole || p->type != OX_F32 || b->count != 1 || ox_product_splits(c, p)) return false;
  if (atomic_load_explicit(b->use, memory_order_relaxed) == OX_B_PACKED) return false;
  if (ox_product_is_strassen(c, p)) return true;
  return ox_ctx_constant_bytes(c) >= OX_PRODUCT_LEAST_COMPRESSED && !ox_gemm_is_few(b->v, p->m);
}

void ox_product_begins(ox_kernel_ctx *c) {
  c->shared_bytes = sizeof(ox_product_shared);
  c->n_stages = 2, c->n_tiles[1] = c->n_tiles[0], c->n_tiles[0] = 1;
}

ox_status *ox_product_begin(const ox_kernel_ctx *c, const ox_product *p) {
  ox_product_shared *s = c->shared;
  int use = OX_B_NEW;
  if (p->strassen) ox_carried_begin(&s->made);
  s->panels = p->packed->panels ? *p->packed->panels : NULL;
  if (s->panels || atomic_compare_exchange_strong_explicit(p->packed->use, &use, OX_B_READ, memory_order_relaxed,
                                                           memory_order_relaxed))
    return NULL;
  if (use >= OX_B_COMPRESSED) return NULL; /* since a run of few rows: plain panels would be a second copy */
  atomic_store_explicit(p->packed->use, OX_B_PACKED, memory_order_relaxed);
  return c->host->pack_now(c, p->later, &s->panels);
}

/* SPDX-License-Identifier: Apache-2.0
 * ops/matmul/product_split.c - float32 products on a matrix unit (kern/gemm/split_product.h). B is read as floats, in
 * the panels of plain products or in place, so that the algorithm can be chosen by the number of rows when shapes are
 * known. */
#include "ops/matmul/product.h"

enum { BATCH_TILE_MACS = 1 << 20 };
static const char *const forms[] = {"amx one product", "amx three products", "amx six products"};

bool ox_product_splits(const ox_kernel_ctx *c, const ox_product *p) {
  const ox_gemm_variant *v = p->packed ? p->packed->v : NULL;
  if (p->type != OX_F32 || !ox_split_select(c->isa)) return false;
  if (v && (v->panel != OX_F32 || v->nr % OX_SPLIT_SIDE)) return false;
  return ox_split_pays(p->m, p->n, p->k, ox_split_terms(c->isa), v || p->b_ns == 1, p->n_batch == 1);
}

ox_status *ox_product_plan_split(ox_kernel_ctx *c, ox_product *p) {
  bool alone = p->n_batch == 1;
  int terms = ox_split_terms(c->isa);
  p->split = true, c->form = forms[terms - 1];
  ox_split_plan_init(&p->s, ox_split_select(c->isa), terms, p->m, p->n, p->k, alone);
  int64_t tiles = (int64_t)ox_split_tiles(&p->s);
  p->batches_per_tile = tiles > 1 ? 1 : (int64_t)OX_MAX(BATCH_TILE_MACS / (p->m * p->n * p->k), (size_t)1);
  OX_TRY(ox_ctx_plan(c, OX_CEIL_DIV(p->n_batch, p->batches_per_tile) * tiles, p->s.scratch));
  if (!alone) return NULL;
  c->shared_bytes = sizeof(ox_carried);
  c->n_stages = 2, c->n_tiles[1] = c->n_tiles[0], c->n_tiles[0] = 1;
  return NULL;
}

static ox_split_io find_io(const ox_kernel_ctx *c, const ox_product *p, int64_t batch) {
  const ox_product_b *packed = p->packed;
  ox_split_io io = {.a_rs = p->a_rs, .a_ks = p->a_ks, .c_rs = p->n, .stop = ox_ctx_stop(c)};
  io.a = (const float *)c->in[p->in_a]->data + ox_product_offset(p, batch, p->a_batch);
  io.c = (float *)c->out[0]->data + (size_t)batch * p->m * p->n;
  if (p->compressed) { /* the unit takes its floats from B itself */
    ox_gemm_src whole = ox_product_whole(p, (size_t)ox_product_matrix(p, batch, p->b_batch));
    io.b = whole.p, io.panel = SIZE_MAX, io.b_ks = whole.ks, io.b_ns = whole.ns;
  } else if (packed) {
    size_t matrix = (size_t)ox_product_matrix(p, batch, p->b_batch);
    io.b = (const float *)*packed->panels + matrix * (packed->matrix_bytes / sizeof(float));
    io.panel = packed->v->nr, io.panel_floats = ox_gemm_panel_bytes(packed->v, p->k) / sizeof(float);
    io.b_ks = (ptrdiff_t)io.panel, io.b_ns = 1;
  } else {
    io.b = (const float *)c->in[p->in_b]->data + ox_product_offset(p, batch, p->b_batch);
    io.panel = SIZE_MAX, io.b_ks = p->b_ks, io.b_ns = p->b_ns;
  }
  return io;
}

void ox_product_run_split(const ox_kernel_ctx *c, const ox_product *p, uint32_t stage, ox_range tiles, void *scratch) {
  int64_t per_batch = (int64_t)ox_split_tiles(&p->s);
  ox_carried *made = p->n_batch == 1 ? c->shared : NULL;
  if (made && stage == 0) {
    ox_carried_begin(made);
    return;
  }
  for (int64_t i = tiles.begin, next; i < tiles.end; i = next) {
    int64_t batch = i / per_batch * p->batches_per_tile, end = OX_MIN(batch + p->batches_per_tile, p->n_batch);
    next = OX_MIN((i / per_batch + 1) * per_batch, tiles.end);
    for (; batch < end; batch++) {
      ox_gemm_epi epi = p->epi;
      ox_product_terms(c, p, batch, &epi);
      ox_split_io io = find_io(c, p, batch);
      io.epi = &epi;
      ox_split_run(&p->s, &io, (size_t)(i % per_batch), (size_t)(i % per_batch + next - i), made, scratch);
    }
  }
}

/* SPDX-License-Identifier: Apache-2.0
 * ops/matmul/product_pack.c - constant B of products: recorded at load, packed in prepare. */
#include "base/cksize.h"
#include "ops/matmul/product.h"

ox_status *ox_product_const(ox_load_ctx *c, const ox_tensor *b, bool trans, ox_product_b **out) {
  *out = NULL;
  if (!b || b->shape.rank < 2 || !(b->dtype == OX_F32 || b->dtype == OX_F16 || b->dtype == OX_BF16)) return NULL;
  int rank = b->shape.rank;
  size_t rows = (size_t)b->shape.dim[rank - 2], cols = (size_t)b->shape.dim[rank - 1];
  if (b->dtype == OX_F32 && (trans ? rows : cols) == 1) return NULL; /* dot products read a vector in place */
  size_t count = (size_t)ox_shape_span(&b->shape, 0, rank - 2);
  if (rows == 0 || cols == 0 || count == 0) return NULL;
  ox_product_b *pb = *out = OX_LOAD_NEW(c, ox_product_b);
  atomic_int *use = OX_LOAD_NEW(c, atomic_int);
  if (!pb || !use) return ox_oom();
  atomic_init(use, OX_B_NEW);
  *pb =
      (ox_product_b){.k = trans ? cols : rows, .n = trans ? rows : cols, .count = count, .type = b->dtype, .use = use};
  pb->trans = trans, pb->v = ox_gemm_select(b->dtype, c->isa);
  pb->matrix_bytes = ox_gemm_b_bytes(pb->v, pb->k, pb->n);
  return NULL;
}

typedef struct packing {
  const ox_product_b *b;
  int in;
  size_t units; /* of a matrix */
} packing;

/* A matrix at |p|. */
static ox_gemm_src source(const ox_product_b *b, const void *p) {
  return (ox_gemm_src){p, b->type, b->trans ? 1 : (ptrdiff_t)b->n, b->trans ? (ptrdiff_t)b->k : 1};
}

/* The elements that |unit| reads, counted from its matrix on; whether they are few enough to be computed for it. */
static bool span(const packing *k, int64_t unit, size_t *first, size_t *n) {
  const ox_product_b *b = k->b;
  ox_gemm_src src = source(b, NULL);
  return ox_gemm_pack_unit_span(b->v, &src, b->k, b->n, (size_t)unit % k->units, first, n);
}

static void unit_piece(const ox_pack *p, int64_t unit, int64_t *out_first, int64_t *out_n) {
  const packing *k = p->arg;
  size_t first, n;
  span(k, unit, &first, &n);
  *out_first = (int64_t)((size_t)unit / k->units * k->b->k * k->b->n + first), *out_n = (int64_t)n;
}

static void pack_units(const ox_pack *p, const ox_tensor *const *in, void *to, int64_t begin, int64_t end,
                       void *scratch) {
  const packing *k = p->arg;
  const ox_product_b *b = k->b;
  (void)scratch;
  for (int64_t u = begin; u < end; u++) {
    size_t matrix = (size_t)u / k->units, first = 0, n;
    ox_gemm_src src = source(b, in[k->in]->data);
    if (p->piece)
      span(k, u, &first, &n);
    else
      src.p = (const char *)src.p + matrix * b->k * b->n * (ox_dtype_bits(b->type) / 8);
    ox_gemm_pack_unit(b->v, &src, first, b->k, b->n, (size_t)u % k->units, (char *)to + matrix * b->matrix_bytes);
  }
}

static ox_status *describe(ox_kernel_ctx *c, const ox_product_b *b, int in, ox_pack *p) {
  ox_gemm_src nothing = source(b, NULL);
  packing *k = ox_ctx_alloc(c, sizeof *k);
  if (!k) return ox_oom();
  *k = (packing){b, in, ox_gemm_pack_units(b->v, &nothing, b->k, b->n)};
  *p = (ox_pack){.struct_size = sizeof *p,
                 .form = b->first_form + OX_B_PACKED,
                 .inputs = (uint64_t)1 << in,
                 .n_units = (int64_t)(k->units * b->count),
                 .fn = pack_units,
                 .arg = k};
  return ox_mul_ok(b->matrix_bytes, b->count, &p->bytes) ? NULL : ox_oom();
}

ox_status *ox_product_pack(ox_kernel_ctx *c, ox_product_b *b, int in) {
  ox_pack p;
  size_t first, n;
  OX_TRY(describe(c, b, in, &p));
  if (p.n_units && span(p.arg, 0, &first, &n)) p.piece = unit_piece;
  atomic_store_explicit(b->use, OX_B_PACKED, memory_order_relaxed);
  return ox_ctx_pack_for_runs(c, &p, &b->panels);
}

ox_status *ox_product_pack_later(ox_kernel_ctx *c, const ox_product_b *b, int in, void **out_later) {
  ox_pack p;
  OX_TRY(describe(c, b, in, &p));
  return c->host->pack_later(c, &p, out_later);
}

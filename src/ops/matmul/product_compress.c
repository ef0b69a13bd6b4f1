/* SPDX-License-Identifier: Apache-2.0
 * ops/matmul/product_compress.c - constant B in compressed panels (kern/gemm/compressed.h), for weights that come from
 * memory in every run: those of a large model that is run for few rows. Products of more rows then expand the same
 * panels tile by tile, so that weights are in memory once, and have the bits of plain panels. */
#include "base/cksize.h"
#include "base/cpu_kind.h"
#include "ops/matmul/product.h"

/* Below these sizes of a model's constants, weights may stay in cache from run to run, where plain panels are read
 * faster: in up to 32 MB of L3 on Zen, in hundreds on large Xeons. Sixteen bits halve what is read from L3, too. */
enum { LEAST = 48 << 20, LEAST_ON_INTEL = 128 << 20, LEAST_OF_MATRIX = 256 << 10 };

typedef struct compressing {
  const ox_product *p;
  size_t units; /* of a matrix */
} compressing;

ox_gemm_src ox_product_whole(const ox_product *p, size_t matrix) {
  const char *first = p->whole;
  size_t bytes = p->k * p->n * (ox_dtype_bits(p->b.type) / 8);
  return (ox_gemm_src){first ? first + matrix * bytes : NULL, p->b.type, p->b_ks, p->b_ns};
}

void ox_product_plan_gemm(const ox_product *p, ox_gemm_plan *out, const ox_gemm_variant *v, ox_gemm_b mode) {
  if (p->compressed)
    ox_gemm_plan_compressed(out, v, p->m, p->n, p->k, p->type, p->type, p->compressed);
  else
    ox_gemm_plan_init(out, v, p->m, p->n, p->k, p->type, p->type, mode);
}

static void compress_units(const ox_pack *pack, const ox_tensor *const *in, void *to, int64_t begin, int64_t end,
                           void *scratch) {
  const compressing *k = pack->arg;
  const ox_product *p = k->p;
  (void)in, (void)scratch;
  for (size_t u = (size_t)begin; u < (size_t)end; u++) {
    ox_gemm_src src = ox_product_whole(p, u / k->units);
    ox_compressed_pack(p->compressed, p->b.v, &src, p->k, p->n, u % k->units,
                       (char *)to + u / k->units * p->b.matrix_bytes);
  }
}

static size_t least_of_model(const ox_compressed_kernels *c) {
  if (c->bits == 16) return OX_PRODUCT_LEAST_COMPRESSED;
  return ox_cpu_kind() & OX_SLOW_L3 ? LEAST_ON_INTEL : LEAST;
}

/* The way by which B is compressed: it is not in other panels yet, is large, and compresses. -1: it is not. */
static int way_of(const ox_kernel_ctx *c, const ox_product *p) {
  const ox_product_b *b = &p->b;
  int use = atomic_load_explicit(b->use, memory_order_relaxed);
  if (use >= OX_B_COMPRESSED) return use - OX_B_COMPRESSED;
  if (use == OX_B_PACKED || !ox_gemm_is_few(b->v, p->m)) return -1;
  if (ox_ctx_constant_bytes(c) < OX_PRODUCT_LEAST_COMPRESSED || b->matrix_bytes < LEAST_OF_MATRIX) return -1;
  if (ox_split_select(c->isa) && p->b_ns != 1) return -1; /* a matrix unit will not read it in place */
  ox_gemm_src src = ox_product_whole(p, 0);
  int way = ox_compressed_choose(b->v, &src, p->k, p->n);
  if (way < 0 || ox_ctx_constant_bytes(c) < least_of_model(ox_compressed_kernels_of(b->v, way))) return -1;
  if (atomic_compare_exchange_strong_explicit(b->use, &use, OX_B_COMPRESSED + way, memory_order_relaxed,
                                              memory_order_relaxed))
    return way;
  return use >= OX_B_COMPRESSED ? use - OX_B_COMPRESSED : -1;
}

ox_status *ox_product_compress(ox_kernel_ctx *c, ox_product *p) {
  ox_product_b *b = &p->b;
  const int way = p->whole ? way_of(c, p) : -1;
  if (way < 0) return NULL;
  p->compressed = ox_compressed_kernels_of(b->v, way), p->late = false;
  compressing *k = ox_ctx_alloc(c, sizeof *k);
  if (!k) return ox_oom();
  ox_gemm_src src = ox_product_whole(p, 0);
  *k = (compressing){p, ox_compressed_units(b->v, &src, p->k, p->n)};
  b->matrix_bytes = ox_compressed_bytes(p->compressed, p->k, p->n);
  ox_pack pack = {.struct_size = sizeof pack,
                  .form = OX_B_COMPRESSED + (uint32_t)way,
                  .inputs = (uint64_t)1 << p->in_b,
                  .n_units = (int64_t)(k->units * b->count),
                  .fn = compress_units,
                  .arg = k};
  return ox_mul_ok(b->matrix_bytes, b->count, &pack.bytes) ? ox_ctx_pack_for_runs(c, &pack, &b->panels) : ox_oom();
}

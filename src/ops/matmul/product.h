/* SPDX-License-Identifier: Apache-2.0
 * ops/matmul/product.h - batched matrix products for operators: C = act(alpha A B + beta (terms)) over broadcast batch
 * dimensions, for any number type. The operator describes the product in prepare; this chooses the algorithm and runs
 * the tiles. */
#ifndef OX_OPS_MATMUL_PRODUCT_H
#define OX_OPS_MATMUL_PRODUCT_H

#include <stdatomic.h>

#include "graph/op_def.h"
#include "kern/gemm/compressed.h"
#include "kern/gemm/split_product.h"
#include "kern/gemm/strassen.h"

/* A constant B: |count| matrices of k x n. */
typedef struct ox_product_b {
  const ox_gemm_variant *v;
  size_t k, n, count, matrix_bytes;
  uint32_t type;
  bool trans;                /* its last two dimensions are swapped */
  const void *const *panels; /* place of the panels' address in a run; NULL: not known yet, or packed later */
  atomic_int *use;           /* OX_B_NEW etc., shared by all shapes and runs */
  uint64_t first_form;       /* added to forms, which differ in constants of one node */
} ox_product_b;

/* Not used yet; read in place by a run; packed in plain panels; in compressed ones, of way 0 and up. Those of panels
 * are forms (ox_pack.form), too. */
enum { OX_B_NEW, OX_B_READ, OX_B_PACKED, OX_B_COMPRESSED };

typedef struct ox_product {
  /* The operator fills these in, zeroed elsewhere. Strides in elements; batch strides 0 where broadcast. */
  uint32_t type;
  int rank; /* number of batch dimensions */
  int64_t batch[OX_MAX_RANK], a_batch[OX_MAX_RANK], b_batch[OX_MAX_RANK];
  size_t m, n, k;
  bool has_row, has_col; /* false: the result lacks that dimension, a 1-D operand's */
  ptrdiff_t a_rs, a_ks, b_ks, b_ns;
  int in_a, in_b; /* input indices */
  int in_term[2]; /* input indices; 0: none (input 0 is A, never a term) */
  int64_t term_batch[2][OX_MAX_RANK];
  ox_gemm_epi epi; /* alpha, beta, act, and strides of the terms */
  /* ox_product_plan fills in the rest */
  bool plain, swapped, split, strassen; /* split: on a matrix unit, by |s|; strassen: by |z|; else by |g| */
  ox_gemm_plan g;
  ox_split_plan s;
  ox_strassen_plan z;
  ox_product_b b;
  const ox_product_b *packed;              /* b, with its panels; NULL: B is not constant */
  const void *whole;                       /* B itself (unaligned), if it is constant and has an address */
  bool late;                               /* the first run reads it there, a later one packs it: stage 0 decides */
  void *later;                             /* token for packing it (ox_product_pack_later) */
  const ox_compressed_kernels *compressed; /* B's panels are compressed; NULL: they are not */
  bool pack_stage;                         /* stage 0 packs B into the shared memory */
  size_t b_count, b_bytes;                 /* matrices of B, bytes of the panels of one */
  size_t panels_per_tile, packs_per_matrix;
  int64_t n_batch, batches_per_tile, plain_rows;
} ox_product;

/* Infers the shape of A [.., m, k] times B [.., k, n] (1-D operands as in MatMul). trans: A, B (swaps the last two
 * dimensions), batch of A, batch of B (the first dimension is moved before the last one first). Unknown dimensions are
 * accepted. */
OX_NODISCARD ox_status *ox_product_infer(const char *op, const ox_shape *a, const ox_shape *b, const bool trans[4],
                                         ox_shape *out);
/* Sets sizes and strides of the same product; all dimensions must be known. */
OX_NODISCARD ox_status *ox_product_shape(ox_product *p, const ox_shape *a, const ox_shape *b, const bool trans[4]);
/* Strides of a term of |shape| that broadcasts to the product's result; INVALID_MODEL if it does not. */
OX_NODISCARD ox_status *ox_product_term(ox_product *p, int i, int input, const ox_shape *shape, const ox_shape *result);

/* product_place.c. The offset of the matrix of A or B for batch |index|, and its number in that operand's own order;
 * |strides|: a_batch or b_batch. */
int64_t ox_product_offset(const ox_product *p, int64_t index, const int64_t *strides);
int64_t ox_product_matrix(const ox_product *p, int64_t index, const int64_t *strides);
/* Sets the addresses of the terms for batch |index|. */
void ox_product_terms(const ox_kernel_ctx *c, const ox_product *p, int64_t index, ox_gemm_epi *epi);

/* The fastest way for a float32 B that is not packed, as measured before or now (product_tune.c); else |otherwise|. */
ox_gemm_b ox_product_measured(const ox_kernel_ctx *c, const ox_product *p, ox_gemm_b otherwise);
/* Books stages, tiles, scratch; packs |b| (NULL: B is not constant). |p| must be memory of the prepared shapes
 * (ox_ctx_alloc). */
OX_NODISCARD ox_status *ox_product_plan(ox_kernel_ctx *c, ox_product *p, const ox_product_b *b);
OX_NODISCARD ox_status *ox_product_run(const ox_kernel_ctx *c, const ox_product *p, uint32_t stage, ox_range tiles,
                                       void *scratch);

/* product_split.c: products on a matrix unit, where there is one and it is faster. */
bool ox_product_splits(const ox_kernel_ctx *c, const ox_product *p);
OX_NODISCARD ox_status *ox_product_plan_split(ox_kernel_ctx *c, ox_product *p);
void ox_product_run_split(const ox_kernel_ctx *c, const ox_product *p, uint32_t stage, ox_range tiles, void *scratch);

/* product_strassen.c: products by Strassen's algorithm, where that is faster. */
bool ox_product_is_strassen(const ox_kernel_ctx *c, const ox_product *p);
OX_NODISCARD ox_status *ox_product_plan_strassen(ox_kernel_ctx *c, ox_product *p);
OX_NODISCARD ox_status *ox_product_run_strassen(const ox_kernel_ctx *c, const ox_product *p, uint32_t stage,
                                                ox_range tiles, void *scratch);

/* product_late.c: constant B that the first run reads in place, which saves waiting for new pages, and leaves open
 * which panels it gets: those for many rows or for few. */
bool ox_product_is_late(const ox_kernel_ctx *c, const ox_product *p);
/* The shared memory of such a product, and of one by Strassen's algorithm. */
typedef struct ox_product_shared {
  const void *panels; /* NULL: this run reads B in place */
  ox_carried made;
} ox_product_shared;
/* In prepare, when the tiles are known: makes them stage 1 and ox_product_begin stage 0. */
void ox_product_begins(ox_kernel_ctx *c);
/* Decides whether this run reads B in place, as the first run of any shape does, or packs it. */
OX_NODISCARD ox_status *ox_product_begin(const ox_kernel_ctx *c, const ox_product *p);

/* product_compress.c: constant B in compressed panels. Sets p->compressed and arranges packing, where that is faster or
 * B is in such panels already. Needs p->whole. */
OX_NODISCARD ox_status *ox_product_compress(ox_kernel_ctx *c, ox_product *p);
/* Below so many bytes of constants weights are not compressed. */
enum { OX_PRODUCT_LEAST_COMPRESSED = 32 << 20 };
/* The plan of the product by plain kernels: by compressed panels if there are, else B is |mode|. */
void ox_product_plan_gemm(const ox_product *p, ox_gemm_plan *out, const ox_gemm_variant *v, ox_gemm_b mode);
/* B itself, for matrix |matrix|. */
ox_gemm_src ox_product_whole(const ox_product *p, size_t matrix);

/* Other types use plain loops, which read A and B unaligned. */
bool ox_product_is_fast(uint32_t type);

/* At load: registers a constant |b| of float32, float16 or bfloat16 (rank 2 and up; |trans|: last two dimensions
 * swapped) for packing by ox_product_plan; the node then consumes it. |*out| is NULL if |b| is NULL or of another type.
 */
OX_NODISCARD ox_status *ox_product_const(ox_load_ctx *c, const ox_tensor *b, bool trans, ox_product_b **out);
/* In prepare: arranges packing of b, which is input |in|, and sets b->panels; it lives as long as the prepared shapes.
 */
OX_NODISCARD ox_status *ox_product_pack(ox_kernel_ctx *c, ox_product_b *b, int in);
/* Only allocates the panels' memory: the host's pack_now fills it later. */
OX_NODISCARD ox_status *ox_product_pack_later(ox_kernel_ctx *c, const ox_product_b *b, int in, void **out_later);

#endif

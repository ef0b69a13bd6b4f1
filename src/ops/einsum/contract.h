/* SPDX-License-Identifier: Apache-2.0
 * ops/einsum/contract.h - one contraction of two labelled views as a batched matrix product, with copies into another
 * order only where strides do not allow the product to read or write in place. */
#ifndef OX_OPS_EINSUM_CONTRACT_H
#define OX_OPS_EINSUM_CONTRACT_H

#include "ops/einsum/equation.h"
#include "ops/matmul/product.h"
#include "ops/move/deferred.h"

/* A tensor by labels: each at most once; dim 1 and stride 0 where it is absent or broadcast. */
typedef struct ein_view {
  bool has[EIN_LABELS];
  int64_t stride[EIN_LABELS];
} ein_view;

/* Elements of a view, dimension by dimension, into dense memory. */
typedef struct ein_copy {
  ox_region r; /* dimensions and input strides, until it is planned */
  ox_move m;
  int64_t count, tiles;
} ein_copy;

typedef struct ein_contract {
  bool copy[2], copy_out;
  ein_copy in[2], out;
  size_t at_in[2], at_out, at_product; /* offsets in the shared memory: copies, product, the product's own */
  ox_product p;
  ox_kernel_ctx sub; /* the product's view of the node: its stages and tiles */
} ein_contract;

/* Plans a x b. |keep|: labels that the result needs; |order|: the labels of the result in order, or NULL: as it comes.
 * Sets |result| to the view of the (dense) result. |shared| grows by what it needs. */
OX_NODISCARD ox_status *ein_contract_plan(ox_kernel_ctx *c, ein_contract *e, const ein_view *a, const ein_view *b,
                                          const int64_t *size, const bool *keep, const ein_term *order,
                                          ein_view *result, size_t *shared);
enum { EIN_STAGES = 5 }; /* stages: copy a, copy b, two of the product, copy the result */
int64_t ein_contract_tiles(const ein_contract *e, uint32_t stage);
OX_NODISCARD ox_status *ein_contract_run(const ox_kernel_ctx *c, const ein_contract *e, const void *a, const void *b,
                                         void *out, uint32_t stage, ox_range tiles, void *scratch);
/* A dimension, outermost first; after the last one the copy is planned. |elem|: bytes of an element. */
void ein_copy_add(ein_copy *c, int64_t dim, int64_t stride);
void ein_copy_plan(ein_copy *c, size_t elem);
void ein_copy_run(const ein_copy *c, ox_isa isa, const void *from, void *to, ox_range tiles);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_shares.h - how primitives on the library's GEMM divide their work where that shows in the bits.
 *
 * Without AVX-512 that GEMM adds the products of a tile in an order that depends on the tile's size, and it cuts tiles
 * by the number of threads: the bits would depend on how many threads happen to be free. There the division is fixed
 * when a primitive is made, by shapes alone. Inside of regions that the library opens, GEMM is on one thread; a product
 * of matrices opens none, so it is cut here into products that run at the same time. */
#ifndef OD_SHARES_H
#define OD_SHARES_H

#include "od_build.h"

/* Do the threads of this primitive wait for each other, if it is not fixed? */
bool od_waits(const_dnnl_primitive_desc_t pd);
/* Is |pd| a primitive whose division is fixed? */
bool od_is_fixed(const_dnnl_primitive_desc_t pd);
/* The library's functions of these names for all kinds of primitives that may be on GEMM. */
dnnl_status_t od_primitive_desc_create(dnnl_primitive_desc_t *out_pd, const_dnnl_op_desc_t desc,
                                       const_dnnl_primitive_attr_t attr, dnnl_engine_t engine);
dnnl_status_t od_primitive_create(dnnl_primitive_t *out_prim, const_dnnl_primitive_desc_t pd);

/* Descriptors of the pieces that a product is cut into, and where they are. */
enum { OD_MOST_PIECES = 16 };
typedef struct od_pieces {
  int axis; /* of the result */
  int64_t size;
  uint32_t n;
  bool bias; /* the first post, an addition to each row, becomes a bias: pieces of rows have no such posts */
  dnnl_primitive_desc_t most, last; /* the last one may be smaller */
} od_pieces;

/* Cuts |pd|, whose arguments are |args|; |out->n| is 0 if it stays whole. */
ox_status *od_pieces_make(od_builder *b, const_dnnl_primitive_desc_t pd, const od_args *args, od_pieces *out);
void od_pieces_release(od_pieces *p);
/* The arguments of piece |i|, but for its scratchpad. */
ox_status *od_pieces_args(od_builder *b, const od_pieces *p, uint32_t i, const od_args *args, od_args *out);

const char *od_impl_of(const_dnnl_primitive_desc_t pd); /* the name of the library's implementation */

#endif

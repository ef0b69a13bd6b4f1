/* SPDX-License-Identifier: Apache-2.0
 * kern/move/gather_scatter.h - Gather, GatherElements, ScatterElements and its reductions: copies by index. */
#ifndef OX_KERN_MOVE_GATHER_SCATTER_H
#define OX_KERN_MOVE_GATHER_SCATTER_H

#include <stdbool.h>

#include "base/stop.h"
#include "base/status.h"
#include "kern/binary/binary.h"
#include "kern/move/move.h"

/* An index tensor: int32 or int64 elements. */
typedef struct ox_index {
  const void *data;
  bool wide; /* int64 */
} ox_index;

static inline int64_t ox_index_at(const ox_index *x, int64_t i) {
  return x->wide ? ((const ox_i64u *)x->data)[i] : ((const ox_i32u *)x->data)[i];
}
/* The index at |i|, counted from the front; -1 if it is outside [-dim, dim). */
static inline int64_t ox_index_in(const ox_index *x, int64_t i, int64_t dim) {
  int64_t v = ox_index_at(x, i);
  if (v < 0) v += dim;
  return v >= 0 && v < dim ? v : -1;
}
OX_NODISCARD ox_status *ox_index_error(const char *op, const ox_index *x, int64_t i, int64_t dim);

/* Gather: data is outer x dim x inner bytes, out is outer x n x inner bytes. */
typedef struct ox_gather {
  int64_t units; /* rows of the output, or pieces of rows when they are long */
  int64_t outer, dim, inner, n, pieces;
} ox_gather;
void ox_gather_init(ox_gather *g, int64_t outer, int64_t dim, int64_t inner_bytes, int64_t n);
OX_NODISCARD ox_status *ox_gather_run(const ox_gather *g, const void *data, const ox_index *x, void *out, int64_t begin,
                                      int64_t end);

/* out[at[i]] = op(out[at[i]], src[i]) for |n| elements, one after the other; |at| NULL: out[i]. |ctx| is for operations
 * that need more than their operands. */
typedef void (*ox_combine_fn)(void *out, const int64_t *at, const void *src, int64_t n, void *ctx);
typedef struct ox_combine {
  ox_combine_fn each;  /* NULL: out = src */
  ox_binary_fn *pairs; /* the same for long runs; may be NULL */
} ox_combine;

enum { OX_COMBINE_RUN = 16 }; /* elements from which |pairs| is faster */
static inline void ox_combine_run(const ox_combine *f, void *out, const void *src, int64_t n, void *ctx) {
  if (f->pairs && n >= OX_COMBINE_RUN)
    f->pairs(out, src, out, (size_t)n, 0);
  else
    f->each(out, NULL, src, n, ctx);
}

/* GatherElements and ScatterElements. Index dimensions fall into a (before the axis), k (the axis), b (after it). */
typedef struct ox_elements {
  int64_t units; /* pieces of a x k x b; of a x b alone when scattering, so that a target has one writer */
  int64_t a, k, b, elem;
  int64_t k_pieces, b_pieces;
  int64_t axis_dim, axis_stride; /* of the data */
  int n_a, n_b;                  /* dimensions in a and b, with the index's extents and the data's strides */
  bool b_dense;
  int64_t dim_a[16], stride_a[16], dim_b[16], stride_b[16];
  ox_stop stop; /* ends it without an error */
} ox_elements;
/* |index|, |data|: shapes of |rank| up to 16; index dimensions beside |axis| must not exceed the data's. */
void ox_elements_init(ox_elements *e, int rank, const int64_t *index, const int64_t *data, int axis, int64_t elem,
                      bool scatter);
OX_NODISCARD ox_status *ox_elements_gather(const ox_elements *e, const void *data, const ox_index *x, void *out,
                                           int64_t begin, int64_t end);
OX_NODISCARD ox_status *ox_elements_scatter(const ox_elements *e, void *data, const ox_index *x, const void *updates,
                                            const ox_combine *combine, void *ctx, int64_t begin, int64_t end);

#endif

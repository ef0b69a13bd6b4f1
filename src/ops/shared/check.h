/* SPDX-License-Identifier: Apache-2.0
 * ops/shared/check.h - checks on ranges of inputs, for the inference of several families of operators. */
#ifndef OX_OPS_SHARED_CHECK_H
#define OX_OPS_SHARED_CHECK_H

#include "base/macros.h"
#include "graph/op_def.h"

/* The first known element type among inputs |first| to |last|; the row's |vars| ensure that the others agree. */
static inline uint32_t ox_infer_dtype_of(const ox_infer_ctx *c, uint32_t first, uint32_t last) {
  for (uint32_t i = first; i <= last && i < c->n_in; i++)
    if (c->in[i] && c->in[i]->dtype != OX_UNDEFINED) return c->in[i]->dtype;
  return OX_UNDEFINED;
}

/* Does |s| have the |rank| dimensions |dims|, as far as both are known (-1: not known)? */
static inline bool ox_shape_is(const ox_shape *s, int rank, const int64_t *dims) {
  bool same = s->rank < 0 || s->rank == rank;
  for (int d = 0; same && d < s->rank; d++) same = s->dim[d] < 0 || dims[d] < 0 || s->dim[d] == dims[d];
  return same;
}

/* Checks the same for input |i|, if present. */
OX_NODISCARD static inline ox_status *ox_infer_shape_is(const ox_infer_ctx *c, uint32_t i, int rank,
                                                        const int64_t *dims) {
  if (!ox_infer_has(c, i) || ox_shape_is(&c->in[i]->shape, rank, dims)) return NULL;
  char got[OX_SHAPE_TEXT], wanted[OX_SHAPE_TEXT];
  ox_shape want = ox_shape_of(rank, dims);
  return ox_fail(OX_SHAPE_MISMATCH, "%s: input %u has shape %s, wanted %s", c->op, i,
                 ox_shape_text(&c->in[i]->shape, got), ox_shape_text(&want, wanted));
}

/* Dimension |d| of input |i|; -1: not known, or no such dimension. */
static inline int64_t ox_infer_dim(const ox_infer_ctx *c, uint32_t i, int d) {
  return ox_infer_has(c, i) && d < c->in[i]->shape.rank ? c->in[i]->shape.dim[d] : -1;
}

/* The broadcast of the shapes of inputs |first| to |last|. */
OX_NODISCARD static inline ox_status *ox_infer_broadcast_of(const ox_infer_ctx *c, uint32_t first, uint32_t last,
                                                            ox_shape *out) {
  *out = ox_shape_scalar();
  for (uint32_t i = first; i <= last && i < c->n_in; i++)
    if (c->in[i]) OX_TRY(ox_shape_broadcast(out, &c->in[i]->shape, out));
  return NULL;
}

#endif

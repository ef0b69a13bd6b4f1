/* SPDX-License-Identifier: Apache-2.0
 * ort/value/ort_sparse.h - what a sparse tensor was filled with. The engine knows coordinates only (|coo|), so the
 * other formats are kept here, for the client who asks, beside the coordinates that they stand for. */
#ifndef OX_ORT_SPARSE_H
#define OX_ORT_SPARSE_H

#include "ort/value/ort_value.h"

typedef struct ort_sparse {
  OrtSparseFormat format; /* UNDEFINED: without indices yet */
  ox_shape shape;         /* of the whole */
  ox_tensor values;       /* as the client shaped them */
  ox_tensor indices;      /* COO, inner ones of CSR, of BLOCK_SPARSE */
  ox_tensor outer;        /* CSR */
  ox_tensor coo[2];       /* what the value's tensor leads to: values in one dimension, and where they are */
  int64_t *places;        /* those of CSR and BLOCK_SPARSE as coordinates; owned */
  OrtAllocator *allocator;
  void *memory; /* of |allocator|: values and indices; NULL: they are the caller's */
  ort_strings strings;
} ort_sparse;

/* Checks |s->indices| and |s->outer| as |format| and makes |s->coo| of them. On failure |s| is as it was but for these.
 */
OX_NODISCARD OrtStatus *ort_sparse_set_format(const char *function, ort_sparse *s, OrtSparseFormat format);

#endif
